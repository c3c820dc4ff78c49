//! Gateway.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::listener::Listener;
use super::status::GatewayStatus;
use crate::lenient::null_as_default;
use crate::object::fixed_object;

fixed_object!(
    /// One dataplane with its listeners and its public address.
    Gateway, "Gateway", "gateways", "gateway.networking.k8s.io", "v1", NamespaceResourceScope,
    spec: GatewaySpec, status: GatewayStatus
);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GatewaySpec {
    pub gateway_class_name: String,
    #[serde(deserialize_with = "null_as_default")]
    pub listeners: Vec<Listener>,
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub addresses: Vec<GatewayAddress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure: Option<Infrastructure>,
}

/// An address that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GatewayAddress {
    /// `IPAddress` when unset.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// Since Gateway API 1.2 an address may have no value: any address of that type will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What goes onto the objects that are created for a Gateway (GEP-1867).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Infrastructure {
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub labels: BTreeMap<String, String>,
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters_ref: Option<LocalParametersRef>,
}

/// Names an object of the Gateway's own namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LocalParametersRef {
    pub group: String,
    pub kind: String,
    pub name: String,
}
