//! First contact with an object that was written without server-side apply.
//!
//! The Go system writes with plain requests, so its fields belong to a field manager with the operation `Update`. Were
//! they left there, nothing could be removed any more: a field goes only when its last owner lets go. So its entry
//! becomes ours, as if we had applied it (this is what `kubectl` does when users move to server-side apply).

use serde_json::{Map, Value, json};
use stunner_api::names::{FIELD_MANAGER, label};

use super::managed_fields::{Fields, applied, entries, is_entry};

/// Fields of `spec` that stay with their old owner: we do not apply them, so taking them over would remove them. A
/// scaler's number of replicas would fall back to 1, and a Service cannot do without the others.
const NOT_OURS: &[&str] = &[
    "replicas",
    "clusterIP",
    "clusterIPs",
    "ipFamilies",
    "ipFamilyPolicy",
    "loadBalancerClass",
    "allocateLoadBalancerNodePorts",
    "healthCheckNodePort",
];

/// The `managedFields` with which the object is ours, if it was written in the old way.
pub(super) fn taken_over(live: &Value, desired: &Value) -> Option<Vec<Value>> {
    if applied(live, FIELD_MANAGER).is_some() {
        return None;
    }
    let mut ours: Option<Value> = None;
    let mut rest = Vec::new();
    for entry in entries(live) {
        let fields = entry.get("fieldsV1").and_then(Value::as_object);
        match fields {
            Some(fields) if is_entry(entry, "Update") && owns_label(fields) => {
                let (taken, left) = split(fields, desired);
                match &mut ours {
                    None => ours = Some(apply_entry(entry, taken)),
                    Some(ours) => unite(&mut ours["fieldsV1"], &Value::Object(taken)),
                }
                if !left.is_empty() {
                    let mut entry = entry.clone();
                    entry["fieldsV1"] = Value::Object(left);
                    rest.push(entry);
                }
            }
            _ => rest.push(entry.clone()),
        }
    }
    rest.push(ours?);
    Some(rest)
}

/// The entry that holds our label is that of the operator which made the object.
fn owns_label(fields: &Fields) -> bool {
    let labels = fields
        .get("f:metadata")
        .and_then(|metadata| metadata.get("f:labels"));
    labels.is_some_and(|labels| labels.get(format!("f:{}", label::OWNED_BY)).is_some())
}

fn apply_entry(old: &Value, fields: Fields) -> Value {
    let mut entry = json!({
        "manager": FIELD_MANAGER,
        "operation": "Apply",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    for key in ["apiVersion", "time"] {
        if let Some(value) = old.get(key) {
            entry[key] = value.clone();
        }
    }
    entry
}

/// What we take, and what stays.
fn split(fields: &Fields, desired: &Value) -> (Fields, Fields) {
    let mut taken = fields.clone();
    let mut left = Map::new();
    if let Some(spec) = taken.get_mut("f:spec").and_then(Value::as_object_mut) {
        for name in NOT_OURS {
            if desired.pointer(&format!("/spec/{name}")).is_some() {
                continue;
            }
            let step = format!("f:{name}");
            if let Some(field) = spec.shift_remove(&step) {
                left.insert(step, field);
            }
        }
    }
    if !left.is_empty() {
        left = Map::from_iter([("f:spec".to_owned(), Value::Object(left))]);
    }
    (taken, left)
}

fn unite(one: &mut Value, other: &Value) {
    if let (Some(one), Some(other)) = (one.as_object_mut(), other.as_object()) {
        for (step, below) in other {
            unite(one.entry(step.clone()).or_insert_with(|| json!({})), below);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(entries: Value) -> Value {
        json!({"metadata": {"managedFields": entries}})
    }

    fn go_entry() -> Value {
        json!({
            "manager": "manager", "operation": "Update", "apiVersion": "apps/v1",
            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:stunner.l7mp.io/owned-by": {}}, "f:annotations": {"f:old": {}}},
                "f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:hostNetwork": {}}}}
            }
        })
    }

    #[test]
    fn the_old_operators_fields_become_ours_except_the_replicas() {
        let kubelet = json!({"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {"f:x": {}}}}});
        let status = json!({"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}});
        let fields = taken_over(&live(json!([kubelet, go_entry(), status])), &json!({})).unwrap();
        assert_eq!(fields.len(), 4);
        assert_eq!(fields[0], kubelet);
        assert_eq!(fields[1]["manager"], "manager");
        assert_eq!(fields[1]["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
        assert_eq!(fields[2], status);
        assert_eq!(fields[3]["manager"], FIELD_MANAGER);
        assert_eq!(fields[3]["operation"], "Apply");
        assert_eq!(fields[3]["apiVersion"], "apps/v1");
        assert_eq!(
            fields[3]["fieldsV1"],
            json!({
                "f:metadata": {"f:labels": {".": {}, "f:stunner.l7mp.io/owned-by": {}}, "f:annotations": {"f:old": {}}},
                "f:spec": {"f:template": {"f:spec": {"f:hostNetwork": {}}}}
            })
        );
    }

    #[test]
    fn what_a_service_cannot_do_without_is_left_to_its_owner_unless_we_ask_for_it() {
        let mut entry = go_entry();
        entry["fieldsV1"]["f:spec"] =
            json!({"f:loadBalancerClass": {}, "f:clusterIP": {}, "f:type": {}});
        let desired = json!({"spec": {"loadBalancerClass": "example.test/lb"}});
        let fields = taken_over(&live(json!([entry])), &desired).unwrap();
        assert_eq!(
            fields[0]["fieldsV1"],
            json!({"f:spec": {"f:clusterIP": {}}})
        );
        assert_eq!(
            fields[1]["fieldsV1"]["f:spec"],
            json!({"f:loadBalancerClass": {}, "f:type": {}})
        );
    }

    #[test]
    fn an_object_that_we_applied_is_left_alone() {
        let ours =
            json!({"manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": {"f:spec": {}}});
        assert_eq!(
            taken_over(&live(json!([go_entry(), ours])), &json!({})),
            None
        );
    }

    #[test]
    fn an_object_of_which_nobody_owns_our_label_is_left_alone() {
        let other = json!({"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:type": {}}}});
        assert_eq!(taken_over(&live(json!([other])), &json!({})), None);
        assert_eq!(taken_over(&json!({"metadata": {}}), &json!({})), None);
    }

    #[test]
    fn fields_of_several_old_entries_are_united() {
        let mut second = go_entry();
        second["manager"] = json!("older");
        second["fieldsV1"]["f:metadata"]["f:annotations"] = json!({"f:older": {}});
        second["fieldsV1"]["f:spec"] = json!({});
        let fields = taken_over(&live(json!([go_entry(), second])), &json!({})).unwrap();
        let ours = fields.last().unwrap();
        assert_eq!(
            ours["fieldsV1"]["f:metadata"]["f:annotations"],
            json!({"f:old": {}, "f:older": {}})
        );
    }
}
