//! GatewayClass.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Deserializer, Serialize};

use crate::lenient::null_as_default;
use crate::object::fixed_object;

fixed_object!(
    /// Says which controller handles the Gateways of this class, and where its parameters are.
    GatewayClass, "GatewayClass", "gatewayclasses", "gateway.networking.k8s.io", "v1", ClusterResourceScope,
    spec: GatewayClassSpec, status: GatewayClassStatus
);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GatewayClassSpec {
    pub controller_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters_ref: Option<ParametersRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Names a GatewayConfig. The API server insists on group and kind, files may leave them out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParametersRef {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GatewayClassStatus {
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub supported_features: Vec<SupportedFeature>,
}

/// A Gateway API feature by name.
///
/// Written as `{name: ...}`, as the standard channel has it. Early experimental channels, that of 1.0
/// among them, have bare strings, which are read too; an API server with those refuses objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SupportedFeature {
    pub name: String,
}

impl<'de> Deserialize<'de> for SupportedFeature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Bare(String),
            Object {
                #[serde(default)]
                name: String,
            },
        }

        Ok(match Form::deserialize(deserializer)? {
            Form::Bare(name) | Form::Object { name } => Self { name },
        })
    }
}
