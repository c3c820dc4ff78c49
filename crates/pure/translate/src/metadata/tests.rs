use super::*;
use crate::fixture::{World, from};
use serde_json::json;

fn world() -> World {
    World::with_listeners(&["udp UDP 3478"])
}

fn map(pairs: &[(&str, &str)]) -> Option<BTreeMap<String, String>> {
    Some(
        pairs
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
    )
}

const OURS: [(&str, &str); 3] = [
    ("stunner.l7mp.io/owned-by", "stunner"),
    ("stunner.l7mp.io/related-gateway-name", "gw"),
    ("stunner.l7mp.io/related-gateway-namespace", "stunner"),
];

#[test]
fn u137_a_service_has_three_labels_one_annotation_and_an_owner() {
    let metadata = world().translated(service_metadata);
    assert_eq!(metadata.labels, map(&OURS));
    assert_eq!(
        metadata.annotations,
        map(&[("stunner.l7mp.io/related-gateway-name", "stunner/gw")])
    );
    assert_eq!(
        metadata.owner_references,
        from(json!([{
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway", "name": "gw", "uid": "gw-uid",
        }]))
    );
}

#[test]
fn u146_u152_annotations_of_the_gateway_win_over_those_of_the_config() {
    let metadata = world()
        .annotate_config("a", "config")
        .annotate_config("b", "config")
        .annotate_config("not a key", "config")
        .annotate("b", "gateway")
        .annotate("stunner.l7mp.io/related-gateway-name", "forged")
        .annotate("kubectl.kubernetes.io/last-applied-configuration", "{}")
        .annotate("argocd.argoproj.io/instance", "app")
        .annotate("stunner.l7mp.io/dataplane-replicas", "5")
        .translated(service_metadata);
    assert_eq!(
        metadata.annotations,
        map(&[
            ("a", "config"),
            ("b", "gateway"),
            ("stunner.l7mp.io/related-gateway-name", "stunner/gw"),
        ])
    );
}

#[test]
fn u54_a_workload_has_the_labels_of_the_gateway_but_for_filtered_ones() {
    let mut world = world().annotate_config("a", "config").annotate("b", "gw");
    world.gateway.metadata.labels = map(&[
        ("team", "media"),
        ("app.kubernetes.io/managed-by", "argo"),
        ("stunner.l7mp.io/owned-by", "forged"),
    ]);
    let metadata = world.translated(workload_metadata);
    let mut labels = map(&OURS).unwrap_or_default();
    labels.insert("team".to_owned(), "media".to_owned());
    assert_eq!(metadata.labels, Some(labels));
    assert_eq!(
        metadata.annotations,
        map(&[
            ("a", "config"),
            ("b", "gw"),
            ("stunner.l7mp.io/related-gateway-name", "stunner/gw"),
        ])
    );
    assert_eq!(world.translated(service_metadata).labels, map(&OURS));
}

#[test]
fn infrastructure_reaches_both_and_wins_over_the_gateway() {
    let mut world = world().annotate("b", "gateway");
    world.gateway.metadata.labels = map(&[("team", "gateway")]);
    world.gateway.spec.infrastructure = Some(from(json!({
        "labels": {"team": "infrastructure", "stunner.l7mp.io/owned-by": "forged"},
        "annotations": {"b": "infrastructure"},
    })));
    for metadata in [
        world.translated(service_metadata),
        world.translated(workload_metadata),
    ] {
        let labels = metadata.labels.unwrap_or_default();
        assert_eq!(labels["team"], "infrastructure");
        assert_eq!(labels["stunner.l7mp.io/owned-by"], "stunner");
        assert_eq!(
            metadata.annotations.unwrap_or_default()["b"],
            "infrastructure"
        );
    }
}

#[test]
fn names_that_are_too_long_for_a_label_end_in_a_hash() {
    assert_eq!(gateway_label_value("gw"), "gw");
    let long = "g".repeat(100);
    let value = gateway_label_value(&long);
    assert_eq!(value.len(), 63);
    assert!(value.starts_with("ggg"));
    assert_ne!(value, gateway_label_value(&"g".repeat(101)));
    assert_eq!(derived_name("gw", "-x"), "gw-x");
    assert_eq!(derived_name(&"g".repeat(253), "-x").len(), 253);
}

#[test]
fn names_of_listeners_become_names_of_ports() {
    assert_eq!(port_name("udp-listener", "r"), "udp-listener");
    for listener in ["a.b", "A", "r", "-", &"x".repeat(64)] {
        let name = port_name(listener, "r");
        assert!(name.len() <= 63 && name != listener, "{name}");
        assert!(name.chars().all(is_label_char), "{name}");
        assert!(!name.starts_with('-') && !name.ends_with('-'), "{name}");
    }
    assert_ne!(port_name("a.b", "r"), port_name("a-b", "r"));
}

#[test]
fn keys_of_annotations_are_qualified_names() {
    for key in ["a", "A_b.c-d", "example.test/a", "a.b.c/x1"] {
        assert!(is_annotation_key(key), "{key}");
    }
    for key in ["", "a b", "-a", "/a", "a/", "a/b/c", "a_b/c", ".a"] {
        assert!(!is_annotation_key(key), "{key}");
    }
}

#[test]
fn a_gateway_without_uid_owns_nothing() {
    let mut world = world();
    world.gateway.metadata.uid = None;
    assert_eq!(world.translated(service_metadata).owner_references, None);
}
