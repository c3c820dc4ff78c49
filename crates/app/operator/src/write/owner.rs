//! Whether an object is ours.
//!
//! The label alone is not enough, anybody can set it; nor is the name, anybody can take it.

use serde_json::Value;
use stunner_api::names::{self, FIELD_MANAGER, label};

use super::managed_fields::applied;

/// Whom an object is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner<'a> {
    /// The Gateway of this name in the object's namespace.
    Gateway(&'a str),
    /// A GatewayClass in legacy mode. Its ConfigMap outlives everything, so nothing owns it.
    Class,
}

/// Carries our label and, if it is made for a Gateway, refers to a Gateway of that name as an owner. One that we applied
/// and that refers to its Gateway is ours without the label too: somebody took that off, and gets it put back. One that
/// refers to none was cut loose (`kubectl delete --cascade=orphan` does so) and is to stay as it is.
///
/// The reference may have the UID of an earlier Gateway of that name, which is gone: there is only one at a time. Such
/// an object awaits garbage collection, which spares it when the reference is brought up to date, public address and all.
pub(super) fn is_ours(live: &Value, owner: Owner<'_>) -> bool {
    let label = live
        .pointer("/metadata/labels")
        .and_then(|labels| labels.get(label::OWNED_BY));
    let is_labelled = label.is_some_and(|value| value == label::OWNED_BY_VALUE);
    match owner {
        Owner::Class => is_labelled,
        Owner::Gateway(name) => {
            let is_applied = label.is_none() && applied(live, FIELD_MANAGER).is_some();
            (is_labelled || is_applied) && refers_to_gateway(live, name)
        }
    }
}

/// The owner references without those that let an object vanish together with a GatewayConfig, if there are any.
/// The Go system sets one on the ConfigMap of legacy mode.
pub(super) fn without_gateway_config(live: &Value) -> Option<Vec<Value>> {
    let is_config = |reference: &Value| {
        reference["kind"] == names::GATEWAY_CONFIG_KIND && group(reference) == names::GROUP
    };
    let all = references(live);
    let rest: Vec<Value> = all
        .iter()
        .filter(|reference| !is_config(reference))
        .cloned()
        .collect();
    (rest.len() < all.len()).then_some(rest)
}

fn refers_to_gateway(live: &Value, name: &str) -> bool {
    references(live).iter().any(|reference| {
        reference["kind"] == names::GATEWAY_KIND
            && group(reference) == names::GATEWAY_GROUP
            && reference["name"] == name
    })
}

fn references(live: &Value) -> &[Value] {
    let references = live.pointer("/metadata/ownerReferences");
    references
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn group(reference: &Value) -> &str {
    let version = reference.get("apiVersion").and_then(Value::as_str);
    version
        .and_then(|version| version.split_once('/'))
        .map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(labels: Value, owners: Value) -> Value {
        json!({"metadata": {"name": "gw", "labels": labels, "ownerReferences": owners}})
    }

    fn gateway(name: &str, uid: &str) -> Value {
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "name": name, "uid": uid})
    }

    #[test]
    fn label_and_owner_make_an_object_ours() {
        let label = json!({"stunner.l7mp.io/owned-by": "stunner"});
        let owner = Owner::Gateway("gw");
        assert!(is_ours(
            &object(label.clone(), json!([gateway("gw", "1")])),
            owner
        ));
        assert!(!is_ours(
            &object(json!({}), json!([gateway("gw", "1")])),
            owner
        ));
        assert!(!is_ours(&object(label.clone(), json!([])), owner));
        assert!(!is_ours(&object(label.clone(), json!(null)), owner));
        assert!(!is_ours(
            &object(label.clone(), json!([gateway("other", "1")])),
            owner
        ));
        let foreign =
            json!([{"apiVersion": "example.test/v1", "kind": "Gateway", "name": "gw", "uid": "1"}]);
        assert!(!is_ours(&object(label.clone(), foreign), owner));
        assert!(!is_ours(
            &object(
                json!({"stunner.l7mp.io/owned-by": "me"}),
                json!([gateway("gw", "1")])
            ),
            owner
        ));
    }

    #[test]
    fn an_object_that_lost_its_label_is_known_by_who_applied_it() {
        let owner = Owner::Gateway("gw");
        let applied = |labels: Value, owners: Value| {
            let mut live = object(labels, owners);
            live["metadata"]["managedFields"] = json!([{"manager": "stunner-gateway-operator", "operation": "Apply", "fieldsV1": {"f:spec": {}}}]);
            live
        };
        let gateway = json!([gateway("gw", "1")]);
        assert!(is_ours(&applied(json!(null), gateway.clone()), owner));
        assert!(!is_ours(&object(json!(null), gateway.clone()), owner));
        assert!(!is_ours(&applied(json!(null), json!([])), owner));
        let other = json!({"stunner.l7mp.io/owned-by": "me"});
        assert!(!is_ours(&applied(other, gateway), owner));
    }

    #[test]
    fn a_second_owner_does_no_harm() {
        let label = json!({"stunner.l7mp.io/owned-by": "stunner"});
        let app =
            json!({"apiVersion": "app.k8s.io/v1", "kind": "Application", "name": "gw", "uid": "9"});
        let live = object(label, json!([app, gateway("gw", "1")]));
        assert!(is_ours(&live, Owner::Gateway("gw")));
    }

    #[test]
    fn the_config_map_of_legacy_mode_needs_the_label_only() {
        let live = object(json!({"stunner.l7mp.io/owned-by": "stunner"}), json!(null));
        assert!(is_ours(&live, Owner::Class));
        assert!(!is_ours(&object(json!({}), json!(null)), Owner::Class));
    }

    #[test]
    fn only_references_to_a_gateway_config_are_cut() {
        let config = json!({"apiVersion": "stunner.l7mp.io/v1", "kind": "GatewayConfig", "name": "c", "uid": "1"});
        let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "2"});
        let live = object(json!({}), json!([config, other]));
        assert_eq!(without_gateway_config(&live), Some(vec![other.clone()]));
        assert_eq!(
            without_gateway_config(&object(json!({}), json!([other]))),
            None
        );
    }
}
