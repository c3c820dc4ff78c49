//! Target `translate`: manifests, as an API server or a file would give them.

use serde_json::Value;
use stunner_translate::{Mode, Object, ObjectKind, Settings, Snapshot, farewell, translate};

use crate::config::reads_back;

/// Reads `data` as manifests and translates what can be read of them, in both modes and with names for backends.
/// Whatever configuration comes out can be read by a dataplane, and a plan for nothing is left when all is gone.
pub fn translate_manifests(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(manifests) = serde_saphyr::from_multiple::<Value>(text) else {
        return;
    };
    let objects: Vec<Object> = manifests
        .into_iter()
        .filter_map(|manifest| {
            let kind = ObjectKind::of_manifest(&manifest)?;
            Object::read(kind, manifest).ok()
        })
        .collect();
    let mut snapshot = Snapshot::default();
    for object in &objects {
        snapshot.apply(object.clone());
    }
    for (mode, endpoint_discovery) in [
        (Mode::Managed, true),
        (Mode::Managed, false),
        (Mode::Legacy, true),
    ] {
        let settings = Settings {
            mode,
            endpoint_discovery,
            ..Settings::default()
        };
        let plan = translate(&snapshot, &settings);
        for (_, config) in plan.configs() {
            reads_back(config);
        }
        let _ = format!("{snapshot:?} {plan:?}");
        let _ = farewell(&snapshot, &settings);
    }
    for object in &objects {
        snapshot.remove(&object.key());
    }
    assert!(snapshot.units().is_empty());
}
