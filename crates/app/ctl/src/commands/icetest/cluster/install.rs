//! Whether what the test needs is installed.

use serde_json::Value;
use stunner_api::names::{DEFAULT_DATAPLANE, GATEWAY_GROUP, GROUP};

use super::store::{Name, Store, kind};
use crate::failure::Failure;

/// The kinds that the test makes.
const NEEDED: &[(&str, &[&str])] = &[
    (GATEWAY_GROUP, &["gatewayclasses", "gateways"]),
    (GROUP, &["dataplanes", "gatewayconfigs", "udproutes"]),
];

/// Asks the API server for the kinds it serves, which everybody may.
pub(super) async fn check(store: &Store) -> Result<(), Failure> {
    for (group, kinds) in NEEDED {
        let version = format!("{group}/v1");
        let served = store.objects().served(&version).await?;
        let missing: Vec<&str> = kinds
            .iter()
            .copied()
            .filter(|kind| !served.iter().any(|name| name == kind))
            .collect();
        if !missing.is_empty() {
            let hint = match *group {
                GATEWAY_GROUP => {
                    "install the Gateway API: kubectl apply -f its standard-install.yaml"
                }
                _ => {
                    "install the operator with its CRDs: kubectl apply -f deploy/crds -f deploy/manifests"
                }
            };
            return Err(Failure::new(
                format!(
                    "the cluster does not serve {} of {version}",
                    missing.join(", ")
                ),
                hint,
            ));
        }
    }
    Ok(())
}

/// The spec of the default Dataplane, to be cloned.
pub(super) async fn dataplane(store: &Store) -> Result<Option<Value>, Failure> {
    let name = Name {
        kind: kind(&format!("{GROUP}/v1"), "Dataplane"),
        namespace: None,
        name: DEFAULT_DATAPLANE.to_owned(),
    };
    let found = store.find(&name).await?;
    Ok(found.map(|object| object["spec"].clone()))
}
