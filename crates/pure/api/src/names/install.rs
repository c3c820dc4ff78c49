//! Objects of an installation; the names are those of the Go system's chart.

/// Where the operator is installed, and taken to be when nothing says otherwise.
pub const NAMESPACE: &str = "stunner-system";
/// ServiceAccount and Deployment of the operator.
pub const OPERATOR: &str = "stunner-gateway-operator-controller-manager";
/// Service and Deployment of the authentication service.
pub const AUTH: &str = "stunner-auth";
pub const MANAGER_ROLE: &str = "stunner-gateway-operator-manager-role";
pub const MANAGER_ROLE_BINDING: &str = "stunner-gateway-operator-manager-rolebinding";
pub const LEADER_ELECTION_ROLE: &str = "stunner-gateway-operator-leader-election-role";
pub const LEADER_ELECTION_ROLE_BINDING: &str =
    "stunner-gateway-operator-leader-election-rolebinding";
/// Rights on Secrets of the operator's own namespace.
pub const SECRETS_ROLE: &str = "stunner-gateway-operator-secrets-role";
pub const SECRETS_ROLE_BINDING: &str = "stunner-gateway-operator-secrets-rolebinding";
/// Read-only rights on cluster-scoped objects for an operator that serves some namespaces only.
pub const CLUSTER_READER_ROLE: &str = "stunner-gateway-operator-cluster-reader-role";
pub const CLUSTER_READER_ROLE_BINDING: &str = "stunner-gateway-operator-cluster-reader-rolebinding";
/// Rights on cluster-scoped objects that such an operator can do without.
pub const OPTIONAL_ROLE: &str = "stunner-gateway-operator-optional-role";
pub const OPTIONAL_ROLE_BINDING: &str = "stunner-gateway-operator-optional-rolebinding";
