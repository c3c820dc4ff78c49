//! ReferenceGrant.

use serde::{Deserialize, Serialize};

use crate::lenient::null_as_default;
use crate::object::discovered_object;

discovered_object!(
    /// Lets objects of other namespaces refer to objects of its own (GEP-709). `v1beta1` or `v1`.
    ReferenceGrant, spec: ReferenceGrantSpec
);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReferenceGrantSpec {
    #[serde(deserialize_with = "null_as_default")]
    pub from: Vec<ReferenceGrantFrom>,
    #[serde(deserialize_with = "null_as_default")]
    pub to: Vec<ReferenceGrantTo>,
}

/// Who may refer: every object of this kind in this namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReferenceGrantFrom {
    pub group: String,
    pub kind: String,
    pub namespace: String,
}

/// What may be referred to: every object of this kind, or the one that is named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReferenceGrantTo {
    pub group: String,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
