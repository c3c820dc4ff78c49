//! The engine's view of the objects that are written here.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::names::label;
use stunner_translate::{Object, ObjectKey, ObjectKind, Unit, WorkloadKind};

use super::kind::object_kind;

/// The objects that the writer may have to change, as the engine's watches saw them last.
///
/// The engine feeds it with everything it feeds the snapshot with. Workloads must come whole, with their
/// `managedFields`: those say what is ours to take back.
#[derive(Debug, Default)]
pub struct Live {
    tables: RwLock<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    objects: HashMap<ObjectKey, Object>,
    /// The versions that our own writes of statuses made.
    written: HashMap<ObjectKey, String>,
}

impl Live {
    pub fn new() -> Self {
        Live::default()
    }

    /// Gives the unit to translate again if somebody else changed its status: what it said of ours may be gone.
    pub fn apply(&self, object: &Object) -> Option<Unit> {
        let key = object.key();
        let mut tables = self.write();
        if !is_wanted(object) {
            tables.objects.remove(&key);
            return None;
        }
        let old = tables.objects.insert(key.clone(), object.clone());
        if same_status(&old?, object) {
            return None;
        }
        let is_our_write = match (
            tables.written.get(&key),
            &object.metadata().resource_version,
        ) {
            (Some(written), Some(version)) => written == version,
            _ => false,
        };
        if is_our_write {
            return None;
        }
        match key.kind {
            ObjectKind::GatewayClass => Some(Unit::Class(key.name.name)),
            ObjectKind::Gateway => Some(Unit::Gateway(key.name)),
            ObjectKind::Route(kind) => Some(Unit::Route(kind, key.name)),
            _ => None,
        }
    }

    pub fn remove(&self, key: &ObjectKey) {
        let mut tables = self.write();
        tables.objects.remove(key);
        tables.written.remove(key);
    }

    /// Our own write of a status made this version.
    pub(super) fn wrote_status(&self, key: &ObjectKey, version: String) {
        let mut tables = self.write();
        if tables.objects.contains_key(key) {
            tables.written.insert(key.clone(), version);
        }
    }

    pub(super) fn object(&self, key: &ObjectKey) -> Option<Object> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.objects.get(key).cloned()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A workload that carries our label.
    pub(super) fn workload(&self, kind: WorkloadKind, name: &NamespacedName) -> Option<Value> {
        let key = ObjectKey {
            kind: object_kind(kind),
            name: name.clone(),
        };
        let value = match self.object(&key)? {
            Object::Service(object) => serde_json::to_value(&*object),
            Object::ConfigMap(object) => serde_json::to_value(&*object),
            Object::Deployment(object) => serde_json::to_value(&*object),
            Object::DaemonSet(object) => serde_json::to_value(&*object),
            _ => return None,
        };
        value.ok()
    }

    /// The UID of a Gateway.
    pub(super) fn gateway_uid(&self, name: &NamespacedName) -> Option<String> {
        let key = ObjectKey {
            kind: ObjectKind::Gateway,
            name: name.clone(),
        };
        self.object(&key)?.metadata().uid.clone()
    }
}

/// Of workloads only those that carry our label, so that the Services of all users take no room here.
fn is_wanted(object: &Object) -> bool {
    match object.kind() {
        ObjectKind::GatewayClass | ObjectKind::Gateway | ObjectKind::Route(_) => true,
        ObjectKind::Service
        | ObjectKind::ConfigMap
        | ObjectKind::Deployment
        | ObjectKind::DaemonSet => is_labelled(object.metadata()),
        _ => false,
    }
}

/// Of kinds without a status of ours it is always the same.
fn same_status(old: &Object, new: &Object) -> bool {
    match (old, new) {
        (Object::GatewayClass(old), Object::GatewayClass(new)) => old.status == new.status,
        (Object::Gateway(old), Object::Gateway(new)) => old.status == new.status,
        (Object::UdpRoute(old), Object::UdpRoute(new)) => old.status == new.status,
        (Object::OfficialUdpRoute(old), Object::OfficialUdpRoute(new))
        | (Object::OfficialTcpRoute(old), Object::OfficialTcpRoute(new)) => {
            old.status == new.status
        }
        _ => true,
    }
}

fn is_labelled(metadata: &ObjectMeta) -> bool {
    let labels = metadata.labels.as_ref();
    labels
        .and_then(|labels| labels.get(label::OWNED_BY))
        .is_some_and(|value| value == label::OWNED_BY_VALUE)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn gateway(version: &str, address: &str) -> Object {
        let gateway = json!({
            "metadata": {"name": "gw", "namespace": "ns", "uid": "u", "resourceVersion": version},
            "status": {"addresses": [{"value": address}]},
        });
        Object::Gateway(Arc::new(serde_json::from_value(gateway).unwrap()))
    }

    fn service(labels: Value) -> Object {
        let service = json!({"metadata": {"name": "gw", "namespace": "ns", "labels": labels}});
        Object::Service(Arc::new(serde_json::from_value(service).unwrap()))
    }

    #[test]
    fn a_status_that_somebody_else_changed_is_looked_at_again() {
        let live = Live::new();
        let unit = Unit::Gateway(NamespacedName::new("ns", "gw"));
        assert_eq!(live.apply(&gateway("1", "a")), None);
        assert_eq!(live.apply(&gateway("2", "a")), None);
        live.wrote_status(&gateway("2", "a").key(), "3".to_owned());
        assert_eq!(live.apply(&gateway("3", "b")), None);
        assert_eq!(live.apply(&gateway("4", "")), Some(unit));
    }

    #[test]
    fn only_workloads_with_our_label_are_kept() {
        let live = Live::new();
        let name = NamespacedName::new("ns", "gw");
        live.apply(&service(json!({"stunner.l7mp.io/owned-by": "stunner"})));
        assert!(live.workload(WorkloadKind::Service, &name).is_some());
        live.apply(&service(json!({})));
        assert!(live.workload(WorkloadKind::Service, &name).is_none());
    }
}
