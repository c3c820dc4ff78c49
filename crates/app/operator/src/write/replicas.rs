//! The number of replicas of a Deployment.
//!
//! It is set when the Deployment is made and when the Dataplane's number changes. In between it belongs to whoever
//! scales: a person, or an autoscaler. The number that was set last is kept in an annotation.

use serde_json::{Value, json};
use stunner_api::names::annotation;

use super::managed_fields::entries;

/// A merge patch that brings the number to what is asked for, or just records it; `None` when neither is needed.
pub(super) fn patch(live: &Value, replicas: i32) -> Option<Value> {
    let recorded = live
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(annotation::DATAPLANE_REPLICAS)?.as_str());
    let is_recorded = recorded.is_some_and(|recorded| recorded == replicas.to_string());
    if is_recorded {
        return None;
    }
    // Without a record the number is not ours to change, unless nobody ever set it: then the operator was stopped
    // between making the object and setting the number.
    let mut patch = record(live, replicas);
    if recorded.is_some() || !is_owned(live) {
        patch["spec"] = json!({"replicas": replicas});
    }
    Some(patch)
}

/// Whether somebody set the number. An object without managed fields does not tell.
fn is_owned(live: &Value) -> bool {
    let owns = |entry: &Value| entry.pointer("/fieldsV1/f:spec/f:replicas").is_some();
    entries(live).count() == 0 || entries(live).any(owns)
}

/// A merge patch that records the number and fails if the object has changed since.
pub(super) fn record(live: &Value, replicas: i32) -> Value {
    json!({"metadata": {
        "resourceVersion": live.pointer("/metadata/resourceVersion"),
        "annotations": {annotation::DATAPLANE_REPLICAS: replicas.to_string()},
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(owner: Option<&str>, recorded: Option<&str>, replicas: i32) -> Value {
        let mut entries =
            vec![json!({"manager": "us", "fieldsV1": {"f:spec": {"f:selector": {}}}})];
        entries
            .extend(owner.map(
                |owner| json!({"manager": owner, "fieldsV1": {"f:spec": {"f:replicas": {}}}}),
            ));
        let mut live = json!({
            "metadata": {"resourceVersion": "5", "managedFields": entries},
            "spec": {"replicas": replicas}
        });
        if let Some(recorded) = recorded {
            live["metadata"]["annotations"] =
                json!({"stunner.l7mp.io/dataplane-replicas": recorded});
        }
        live
    }

    #[test]
    fn a_scaled_deployment_keeps_its_number() {
        assert_eq!(patch(&live(Some("scaler"), Some("2"), 9), 2), None);
    }

    #[test]
    fn a_changed_number_is_set_and_recorded() {
        let patch = patch(&live(Some("scaler"), Some("2"), 9), 3).unwrap();
        assert_eq!(patch["spec"], json!({"replicas": 3}));
        assert_eq!(patch["metadata"]["resourceVersion"], "5");
        assert_eq!(
            patch["metadata"]["annotations"],
            json!({"stunner.l7mp.io/dataplane-replicas": "3"})
        );
    }

    #[test]
    fn an_adopted_deployment_only_gets_its_number_recorded() {
        let patch = patch(&live(Some("manager"), None, 9), 2).unwrap();
        assert_eq!(patch.get("spec"), None);
        let mut silent = live(None, None, 9);
        silent["metadata"]["managedFields"] = json!(null);
        let patch = super::patch(&silent, 2).unwrap();
        assert_eq!(patch.get("spec"), None);
    }

    #[test]
    fn a_deployment_that_was_just_made_gets_its_number() {
        let patch = patch(&live(None, None, 1), 2).unwrap();
        assert_eq!(patch["spec"], json!({"replicas": 2}));
    }
}
