//! Environment variables: those of the operator, and those it sets on dataplane pods.

/// Sets the default of `--controller-name`.
pub const CONTROLLER_NAME: &str = "STUNNER_GATEWAY_OPERATOR_CONTROLLER_NAME";
/// Replaces `managed` of `--dataplane-mode`.
pub const DATAPLANE_MODE: &str = "STUNNER_GATEWAY_OPERATOR_DATAPLANE_MODE";
/// Host that dataplanes are told for config discovery.
pub const OPERATOR_ADDRESS: &str = "STUNNER_GATEWAY_OPERATOR_ADDRESS";
/// Replaces `0` of `--pprof-bind-address`.
pub const PPROF_BIND_ADDRESS: &str = "STUNNER_GATEWAY_OPERATOR_PPROF_BIND_ADDRESS";
/// Comma list of labels that are not copied from a Gateway; empty copies all.
pub const LABEL_FILTER: &str = "STUNNER_GATEWAY_OPERATOR_LABEL_FILTER";
/// Licence key of the Go system; read by nobody, accepted.
pub const CUSTOMER_KEY: &str = "CUSTOMER_KEY";
/// Namespace of the operator's pod.
pub const POD_NAMESPACE: &str = "POD_NAMESPACE";
/// Name of the operator's pod, its identity in leader election.
pub const POD_NAME: &str = "POD_NAME";

pub const STUNNER_ADDR: &str = "STUNNER_ADDR";
pub const STUNNER_ADDRS: &str = "STUNNER_ADDRS";
pub const STUNNER_NAME: &str = "STUNNER_NAME";
pub const STUNNER_NAMESPACE: &str = "STUNNER_NAMESPACE";
pub const STUNNER_NODENAME: &str = "STUNNER_NODENAME";
pub const STUNNER_CONFIG_ORIGIN: &str = "STUNNER_CONFIG_ORIGIN";
pub const STUNNER_CONFIG_CACHE: &str = "STUNNER_CONFIG_CACHE";
pub const STUNNER_CDS_TOKEN_FILE: &str = "STUNNER_CDS_TOKEN_FILE";
pub const STUNNER_CDS_CA_FILE: &str = "STUNNER_CDS_CA_FILE";
pub const STUNNER_READY_WHILE_DRAINING: &str = "STUNNER_READY_WHILE_DRAINING";
pub const STUNNER_ADMIN_ADDRESS: &str = "STUNNER_ADMIN_ADDRESS";
pub const STUNNER_DRAIN_TIMEOUT: &str = "STUNNER_DRAIN_TIMEOUT";
