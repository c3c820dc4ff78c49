//! The engine's view of the objects that are written here.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::names::label;
use stunner_translate::{Object, ObjectKey, ObjectKind, WorkloadKind};

use super::kind::object_kind;

/// The objects that the writer may have to change, as the engine's watches saw them last.
///
/// The engine feeds it with everything it feeds the snapshot with. Workloads must come whole, with their
/// `managedFields`: those say what is ours to take back.
#[derive(Debug, Default)]
pub struct Live {
    objects: RwLock<HashMap<ObjectKey, Object>>,
}

impl Live {
    pub fn new() -> Self {
        Live::default()
    }

    pub fn apply(&self, object: &Object) {
        let key = object.key();
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        if is_wanted(object) {
            objects.insert(key, object.clone());
        } else {
            objects.remove(&key);
        }
    }

    pub fn remove(&self, key: &ObjectKey) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.remove(key);
    }

    pub(super) fn object(&self, key: &ObjectKey) -> Option<Object> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.get(key).cloned()
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

fn is_labelled(metadata: &ObjectMeta) -> bool {
    let labels = metadata.labels.as_ref();
    labels
        .and_then(|labels| labels.get(label::OWNED_BY))
        .is_some_and(|value| value == label::OWNED_BY_VALUE)
}
