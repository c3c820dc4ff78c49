//! Labels.

/// On everything that the operator makes.
pub const OWNED_BY: &str = "stunner.l7mp.io/owned-by";
pub const OWNED_BY_VALUE: &str = "stunner";
/// Name of the Gateway that an object or a pod is made for.
pub const RELATED_GATEWAY_NAME: &str = "stunner.l7mp.io/related-gateway-name";
/// Namespace of the Gateway that an object or a pod is made for.
pub const RELATED_GATEWAY_NAMESPACE: &str = "stunner.l7mp.io/related-gateway-namespace";
/// On dataplane pods.
pub const APP: &str = "app";
pub const APP_VALUE: &str = "stunner";
/// On the pods of the authentication service, by which tools find it.
pub const AUTH_APP_VALUE: &str = "stunner-auth";

/// On the Secrets with last good inputs.
pub const LAST_GOOD: &str = "stunner.l7mp.io/last-good";
pub const LAST_GOOD_VALUE: &str = "true";

/// On the operator's pods, by which tools find config discovery.
pub const CONFIG_DISCOVERY: &str = "stunner.l7mp.io/config-discovery-service";
pub const CONFIG_DISCOVERY_POD_VALUE: &str = "enabled";
pub const CONFIG_DISCOVERY_SERVICE_VALUE: &str = "true";
/// On the operator's pods, selected by its Services.
pub const CONTROL_PLANE: &str = "control-plane";
pub const CONTROL_PLANE_VALUE: &str = "stunner-gateway-operator-controller-manager";

/// Kubernetes' own: the Service that an EndpointSlice belongs to.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
