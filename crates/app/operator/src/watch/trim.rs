//! Dropping what nobody looks at before an object is kept: a cluster's Services, slices and nodes are many.

use serde_json::{Map, Value};
use stunner_api::names::label;
use stunner_translate::ObjectKind;

pub(super) fn trim(kind: ObjectKind, value: &mut Value) {
    // Whose fields are whose matters for what we write by server-side apply.
    let is_workload = matches!(
        kind,
        ObjectKind::Deployment
            | ObjectKind::DaemonSet
            | ObjectKind::ConfigMap
            | ObjectKind::Service
    );
    if !(is_workload && is_labelled(value)) {
        remove(value, "metadata", &["managedFields"]);
    }
    match kind {
        ObjectKind::EndpointSlice => {
            let endpoints = value.get_mut("endpoints").and_then(Value::as_array_mut);
            for endpoint in endpoints.into_iter().flatten() {
                if let Some(endpoint) = endpoint.as_object_mut() {
                    endpoint.retain(|field, _| {
                        matches!(&**field, "addresses" | "conditions" | "hostname")
                    });
                }
            }
        }
        ObjectKind::Endpoints => {
            let subsets = value.get_mut("subsets").and_then(Value::as_array_mut);
            for subset in subsets.into_iter().flatten() {
                for list in ["addresses", "notReadyAddresses"] {
                    let addresses = subset.get_mut(list).and_then(Value::as_array_mut);
                    for address in addresses.into_iter().flatten() {
                        remove_from(address.as_object_mut(), &["targetRef", "nodeName"]);
                    }
                }
            }
        }
        // A kubelet reports every few seconds; only the addresses matter.
        ObjectKind::Node => {
            let addresses = value
                .get_mut("status")
                .and_then(|status| status.get_mut("addresses"));
            let addresses = addresses.map(Value::take).unwrap_or_default();
            remove_from(value.as_object_mut(), &["spec"]);
            remove(value, "metadata", &["annotations"]);
            if let Some(node) = value.as_object_mut() {
                node.insert(
                    "status".to_owned(),
                    serde_json::json!({"addresses": addresses}),
                );
            }
        }
        ObjectKind::Namespace => remove_from(value.as_object_mut(), &["spec"]),
        _ => {}
    }
}

fn is_labelled(value: &Value) -> bool {
    let labels = value
        .get("metadata")
        .and_then(|metadata| metadata.get("labels"));
    labels
        .and_then(|labels| labels.get(label::OWNED_BY)?.as_str())
        .is_some_and(|value| value == label::OWNED_BY_VALUE)
}

fn remove(value: &mut Value, part: &str, fields: &[&str]) {
    remove_from(value.get_mut(part).and_then(Value::as_object_mut), fields);
}

fn remove_from(object: Option<&mut Map<String, Value>>, fields: &[&str]) {
    if let Some(object) = object {
        object.retain(|field, _| !fields.contains(&field.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn trimmed(kind: ObjectKind, mut value: Value) -> Value {
        trim(kind, &mut value);
        value
    }

    #[test]
    fn field_owners_stay_on_workloads_of_ours_only() {
        let ours = json!({"metadata": {"labels": {"stunner.l7mp.io/owned-by": "stunner"}, "managedFields": []}});
        let other = json!({"metadata": {"labels": {}, "managedFields": []}});
        assert_eq!(trimmed(ObjectKind::Service, ours.clone()), ours);
        assert_eq!(
            trimmed(ObjectKind::Service, other),
            json!({"metadata": {"labels": {}}})
        );
        assert!(
            trimmed(ObjectKind::Gateway, ours)["metadata"]
                .get("managedFields")
                .is_none()
        );
    }

    #[test]
    fn of_a_node_only_name_labels_and_addresses_stay() {
        let node = json!({
            "metadata": {"name": "n", "labels": {"a": "b"}, "annotations": {"c": "d"}},
            "spec": {"podCIDR": "10.0.0.0/24"},
            "status": {"addresses": [{"type": "ExternalIP", "address": "1.2.3.4"}], "conditions": [{"type": "Ready"}]},
        });
        assert_eq!(
            trimmed(ObjectKind::Node, node),
            json!({
                "metadata": {"name": "n", "labels": {"a": "b"}},
                "status": {"addresses": [{"type": "ExternalIP", "address": "1.2.3.4"}]},
            })
        );
        let bare = trimmed(ObjectKind::Node, json!({"metadata": {"name": "n"}}));
        assert_eq!(bare["status"], json!({"addresses": null}));
    }

    #[test]
    fn of_endpoints_the_addresses_stay() {
        let slice = json!({"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}, "nodeName": "n", "targetRef": {}}]});
        assert_eq!(
            trimmed(ObjectKind::EndpointSlice, slice),
            json!({"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}]})
        );
        let endpoints = json!({"subsets": [{"addresses": [{"ip": "10.0.0.1", "nodeName": "n", "targetRef": {}}]}]});
        assert_eq!(
            trimmed(ObjectKind::Endpoints, endpoints),
            json!({"subsets": [{"addresses": [{"ip": "10.0.0.1"}]}]})
        );
    }
}
