//! What a Gateway ran on when everything it needs was in order.
//!
//! A missing or broken GatewayConfig, Dataplane or Secret must not take down a gateway that serves. What translation
//! can no longer derive is taken from here, until the source is back. Routes, endpoints and listeners are never taken
//! from here: they follow the live objects.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use stunner_api::v1::{DataplaneSpec, GatewayConfigSpec};

/// The inputs of the last translation that had them all. Holds secrets: it is stored in a Secret and masked in `Debug`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastGood {
    /// A Gateway that is deleted and made anew does not inherit.
    pub gateway_uid: String,
    /// The class the Gateway had; a Gateway whose class is deleted is still ours.
    pub class: String,
    pub config: EffectiveConfig,
    /// The Dataplane's name and spec; `None` in legacy mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataplane: Option<(String, DataplaneSpec)>,
    /// By listener name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub certificates: BTreeMap<String, Certificate>,
}

/// A GatewayConfig with its authentication resolved: inline credentials only, whatever they came from.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveConfig {
    pub namespace: String,
    pub name: String,
    /// `auth_ref` is resolved into `auth_type`, `user_name`, `password` and `shared_secret`.
    pub spec: GatewayConfigSpec,
}

/// A certificate chain and its key, PEM.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    pub cert: String,
    pub key: String,
}

impl fmt::Debug for LastGood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LastGood")
            .field("gateway_uid", &self.gateway_uid)
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for EffectiveConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EffectiveConfig({}/{})", self.namespace, self.name)
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificate(<SECRET>)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> LastGood {
        let json = r#"{
            "gatewayUid": "u", "class": "stunner",
            "config": {"namespace": "system", "name": "config", "spec": {"password": "hunter2"}},
            "dataplane": ["default", {"image": "i"}],
            "certificates": {"tls": {"cert": "c", "key": "hunter2"}}
        }"#;
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn it_survives_being_stored() {
        let stored = serde_json::to_string(&sample()).unwrap();
        assert_eq!(serde_json::from_str::<LastGood>(&stored).unwrap(), sample());
    }

    #[test]
    fn its_secrets_stay_out_of_debug_output() {
        let good = sample();
        let text = format!("{good:?} {:?} {:?}", good.config, good.certificates);
        assert!(!text.contains("hunter2"), "{text}");
    }
}
