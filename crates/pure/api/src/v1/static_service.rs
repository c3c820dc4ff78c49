//! StaticService.

use k8s_openapi::api::core::v1::ServicePort;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::null_as_default;
use crate::object::fixed_object;

fixed_object!(
    /// Addresses outside the cluster as a backend of routes.
    StaticService, "StaticService", "staticservices", "stunner.l7mp.io", "v1", NamespaceResourceScope,
    spec: StaticServiceSpec
);

/// The addresses that clients may reach through a route with this backend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StaticServiceSpec {
    /// IP addresses and prefixes in CIDR notation, IPv4 or IPv6: `192.0.2.1`, `198.51.100.0/24`,
    /// `2001:db8::/32`. `0.0.0.0/0` admits every IPv4 address that no other rule protects.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(
        inner(length(min = 1, max = 64)),
        length(max = 16384),
        transform = crate::crd::schema::addresses_and_prefixes
    )]
    pub prefixes: Vec<String>,
    /// Accepted from old objects and not used: ports are limited by `port` and `endPort` of the
    /// route's backend reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = crate::crd::schema::brief)]
    pub ports: Option<Vec<ServicePort>>,
}
