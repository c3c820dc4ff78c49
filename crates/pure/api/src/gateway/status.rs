//! Status of a Gateway.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use super::listener::RouteGroupKind;
use crate::lenient::{i32_or_zero, null_as_default, optional_i32};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GatewayStatus {
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub addresses: Vec<GatewayStatusAddress>,
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub listeners: Vec<ListenerStatus>,
    /// Not ours to count; kept, so that writing the status does not drop it.
    #[serde(
        deserialize_with = "optional_i32",
        skip_serializing_if = "Option::is_none"
    )]
    pub attached_listener_sets: Option<i32>,
}

/// An address under which the Gateway is reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GatewayStatusAddress {
    /// `IPAddress` or `Hostname`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ListenerStatus {
    pub name: String,
    #[serde(deserialize_with = "null_as_default")]
    pub supported_kinds: Vec<RouteGroupKind>,
    #[serde(deserialize_with = "i32_or_zero")]
    pub attached_routes: i32,
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
}
