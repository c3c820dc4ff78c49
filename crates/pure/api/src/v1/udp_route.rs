//! UDPRoute.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gateway::{BackendRef, ParentRef, RouteStatus};
use crate::lenient::null_as_default;
use crate::object::fixed_object;

fixed_object!(
    /// Admits clients of a Gateway to backends.
    UdpRoute, "UDPRoute", "udproutes", "stunner.l7mp.io", "v1", NamespaceResourceScope,
    spec: UdpRouteSpec, status: RouteStatus
);

/// Which Gateways the route attaches to, and what their clients may reach.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UdpRouteSpec {
    /// The Gateways, or single listeners of them, to attach to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub parent_refs: Option<Vec<ParentRef>>,
    /// Accepted from old objects and not used: a route attaches to the Gateways that it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["All", "None"]))]
    pub use_default_gateways: Option<String>,
    /// Clients may reach the backends of all rules.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub rules: Vec<UdpRouteRule>,
}

/// A set of backends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UdpRouteRule {
    /// The Services and StaticServices that clients may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub backend_refs: Option<Vec<BackendRef>>,
}
