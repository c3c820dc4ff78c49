//! Routes: what the official ones and our UDPRoute share, and the official ones.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crd::pattern;
use crate::lenient::{null_as_default, optional_i32};
use crate::object::discovered_object;

discovered_object!(
    /// An official UDPRoute or TCPRoute, `v1` or `v1alpha2`: they have the same fields.
    L4Route, spec: L4RouteSpec, status: RouteStatus
);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct L4RouteSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_refs: Option<Vec<ParentRef>>,
    #[serde(deserialize_with = "null_as_default")]
    pub rules: Vec<L4RouteRule>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct L4RouteRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_refs: Option<Vec<BackendRef>>,
}

/// A Gateway, or one listener of it, that a route asks to be attached to.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(default, rename_all = "camelCase")]
pub struct ParentRef {
    /// API group of the parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 253),
        regex(pattern = pattern::GROUP),
        extend("x-default" = "gateway.networking.k8s.io")
    )]
    pub group: Option<String>,
    /// Kind of the parent. Routes attach to Gateways.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = pattern::KIND),
        extend("x-default" = "Gateway")
    )]
    pub kind: Option<String>,
    /// Namespace of the Gateway; the route's own when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = pattern::LABEL)
    )]
    pub namespace: Option<String>,
    /// Name of the Gateway.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Name of the only listener to attach to; every listener that allows it when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = pattern::SUBDOMAIN)
    )]
    pub section_name: Option<String>,
    /// Attach only to listeners on this port. Together with `sectionName` both must match.
    #[serde(
        deserialize_with = "optional_i32",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
}

/// A Service or a StaticService that clients may reach.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "!has(self.endPort) || has(self.port)", "message": "endPort needs port: set port to the first port of the range"},
    {"rule": "!has(self.endPort) || !has(self.port) || self.endPort >= self.port", "message": "endPort must not be below port"},
]))]
pub struct BackendRef {
    /// API group of the backend: empty for a Service, `stunner.l7mp.io` for a StaticService.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 253),
        regex(pattern = pattern::GROUP),
        extend("x-default" = "")
    )]
    pub group: Option<String>,
    /// Kind of the backend: `Service` or `StaticService`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = pattern::KIND),
        extend("x-default" = "Service")
    )]
    pub kind: Option<String>,
    /// Name of the backend.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the backend; the route's own when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = pattern::LABEL)
    )]
    pub namespace: Option<String>,
    /// The only port that clients may reach on the backend, or the first one of a range that ends
    /// with `endPort`; every port when unset.
    #[serde(
        deserialize_with = "optional_i32",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
    /// The last port of the range that starts with `port`.
    #[serde(
        deserialize_with = "optional_i32",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 1, max = 65535))]
    pub end_port: Option<i32>,
}

/// What each controller says about the parents that are its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RouteStatus {
    /// One entry for each parent and controller. Controllers change only their own entries.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(max = 32))]
    pub parents: Vec<RouteParentStatus>,
}

/// What one controller says about one parent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RouteParentStatus {
    /// The entry of `spec.parentRefs` that this is about.
    pub parent_ref: ParentRef,
    /// The controller that wrote this entry.
    #[schemars(length(min = 1, max = 253))]
    pub controller_name: String,
    /// `Accepted`: the parent takes the route. `ResolvedRefs`: all backends were found.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(max = 8), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]), transform = crate::crd::schema::brief)]
    pub conditions: Vec<Condition>,
}
