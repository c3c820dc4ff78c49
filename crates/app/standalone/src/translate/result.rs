//! The result as the documents that people and programs read.

use serde::Serialize;
use serde_json::{Map, Value, json};
use stunner_api::{NamespacedName, names};
use stunner_translate::{Plan, Workload};

/// What manifests give, sorted by namespace and name. It holds credentials, as dataplanes get them.
///
/// Conditions have no `lastTransitionTime`: the same manifests give the same bytes, whenever they are translated.
#[derive(Clone, PartialEq, Serialize)]
pub struct Translation {
    /// Dataplane configurations, version v1.
    pub configs: Vec<Value>,
    /// Kubernetes objects.
    pub workloads: Vec<Value>,
    /// Objects with `apiVersion`, `kind`, `metadata` and `status`.
    pub statuses: Vec<Value>,
}

/// Only its size: configurations hold credentials.
impl std::fmt::Debug for Translation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Translation")
            .field("configs", &self.configs.len())
            .field("workloads", &self.workloads.len())
            .field("statuses", &self.statuses.len())
            .finish()
    }
}

impl Translation {
    pub fn of(plan: &Plan) -> Translation {
        Translation {
            configs: plan.configs().map(|(_, config)| config.to_json()).collect(),
            workloads: workloads(plan),
            statuses: statuses(plan),
        }
    }

    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    pub fn to_yaml(&self) -> String {
        serde_saphyr::to_string(self).unwrap_or_default()
    }
}

fn workloads(plan: &Plan) -> Vec<Value> {
    let of_gateways = plan.gateways.values().flat_map(|plan| &plan.workloads);
    let of_classes = plan.classes.values().flat_map(|plan| &plan.workloads);
    let objects = of_gateways
        .chain(of_classes)
        .map(|workload| match workload {
            Workload::Service(object) => value(object),
            Workload::ConfigMap(object) => value(object),
            Workload::Deployment(object) => value(object),
            Workload::DaemonSet(object) => value(object),
        });
    sorted(objects.collect())
}

fn statuses(plan: &Plan) -> Vec<Value> {
    let v1 = format!("{}/v1", names::GATEWAY_GROUP);
    let mut objects = Vec::new();
    for (name, class) in &plan.classes {
        let name = NamespacedName::new("", name);
        objects.push(status(&v1, "GatewayClass", &name, &class.status));
    }
    for (name, gateway) in &plan.gateways {
        if let Some(said) = &gateway.status {
            objects.push(status(&v1, "Gateway", name, said));
        }
    }
    for ((kind, name), route) in &plan.routes {
        // A route of which no parent is ours has nothing of ours in its status.
        if !route.status.parents.is_empty() {
            let version = format!("{}/v1", kind.group());
            objects.push(status(&version, kind.as_str(), name, &route.status));
        }
    }
    sorted(objects)
}

fn status(api_version: &str, kind: &str, name: &NamespacedName, said: &impl Serialize) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(name.name));
    if !name.namespace.is_empty() {
        metadata.insert("namespace".to_owned(), json!(name.namespace));
    }
    let mut said = value(said);
    forget_times(&mut said);
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "status": said})
}

/// By namespace, name and kind; of one kind there may be two groups.
fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    objects.sort_by_cached_key(|object| {
        let metadata = &object["metadata"];
        (
            text(&metadata["namespace"]),
            text(&metadata["name"]),
            text(&object["kind"]),
            text(&object["apiVersion"]),
        )
    });
    objects
}

fn value(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.shift_remove("lastTransitionTime");
            map.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}
