use serde_json::{Value, json};

use super::*;

fn pod(change: impl FnOnce(&mut Value)) -> Option<PodPlace> {
    let mut pod = json!({
        "metadata": { "namespace": "stunner", "name": "udp-gateway-5f-x", "labels": {
            "app": "stunner", "pod-template-hash": "5f",
            "stunner.l7mp.io/related-gateway-namespace": "stunner",
            "stunner.l7mp.io/related-gateway-name": "udp-gateway",
        }, "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "udp-gateway-5f", "uid": "1", "controller": true,
        }] },
        "spec": { "containers": [], "nodeName": "node-a" },
        "status": { "phase": "Running", "podIPs": [{ "ip": "10.0.0.1" }, { "ip": "fd00::1" }],
                    "conditions": [{ "type": "Ready", "status": "True" }] },
    });
    change(&mut pod);
    PodPlace::of(&serde_json::from_value(pod).expect("a pod"))
}

#[test]
fn a_pod_says_whose_it_is_and_how_it_is() {
    let found = pod(|_| {}).expect("a pod");
    let gateway = found.gateway.as_ref().expect("a gateway");
    assert_eq!(gateway.to_string(), "stunner/udp-gateway");
    assert_eq!(
        found.owner.as_deref(),
        Some("Deployment stunner/udp-gateway")
    );
    assert!(found.ready && found.running && !found.terminating && !found.host_network);
    assert_eq!(found.addresses, ["10.0.0.1", "fd00::1"]);
    assert_eq!(found.node.as_deref(), Some("node-a"));
    let leaving = pod(|pod| pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    assert!(leaving.expect("a pod").terminating);
    let pending = pod(|pod| pod["status"] = json!({ "phase": "Pending" })).expect("a pod");
    assert!(!pending.running && !pending.ready);
}

#[test]
fn pods_at_their_end_are_passed_over_and_labels_elsewhere_not_believed() {
    for phase in ["Succeeded", "Failed"] {
        assert_eq!(pod(|pod| pod["status"]["phase"] = json!(phase)), None);
    }
    let elsewhere = pod(|pod| pod["metadata"]["namespace"] = json!("elsewhere"));
    assert_eq!(elsewhere.expect("a pod").gateway, None);
    let plain = pod(|pod| pod["metadata"]["labels"] = json!({ "app": "stunner" }));
    let plain = plain.expect("a pod");
    assert_eq!(plain.gateway, None);
    assert_eq!(
        plain.owner.as_deref(),
        Some("ReplicaSet stunner/udp-gateway-5f")
    );
}

fn operator(name: &str, hash: &str, owner: &str, ready: bool) -> PodPlace {
    let found = pod(|pod| {
        pod["metadata"]["name"] = json!(name);
        pod["metadata"]["labels"] = json!({ "pod-template-hash": hash });
        pod["metadata"]["ownerReferences"][0]["name"] = json!(format!("{owner}-{hash}"));
        let status = if ready { "True" } else { "False" };
        pod["status"]["conditions"][0]["status"] = json!(status);
    });
    found.expect("a pod")
}

fn chosen(pods: Vec<PodPlace>) -> Result<String, ClusterError> {
    let wanted = Wanted {
        one: "config discovery service",
        several: "config discovery services",
        selector: "a=b",
        namespace: None,
        namespace_flag: "--cds-server-namespace",
        address_flag: "--cds-server-address",
    };
    choose(pods, &wanted).map(|pod| pod.name.name)
}

#[test]
fn the_pods_of_one_owner_are_one_even_during_a_rollout() {
    let pods = vec![
        operator("op-1", "aa", "op", false),
        operator("op-2", "bb", "op", true),
        operator("op-3", "bb", "op", true),
    ];
    assert_eq!(chosen(pods).expect("one of them"), "op-2");
}

#[test]
fn several_owners_are_refused_by_name() {
    let pods = vec![
        operator("op-1", "aa", "op", true),
        operator("other-1", "bb", "other", true),
    ];
    let refused = chosen(pods).expect_err("two");
    assert_eq!(
        refused.to_string(),
        "several config discovery services found: Deployment stunner/op, Deployment stunner/other"
    );
    let hint = refused.hint().expect("a hint");
    assert!(hint.contains("--cds-server-namespace"), "{hint}");
    // Pods without an owner are on their own.
    let mut alone = [operator("a", "x", "x", true), operator("b", "x", "x", true)];
    for pod in &mut alone {
        pod.owner = None;
    }
    let refused = chosen(alone.to_vec()).expect_err("two");
    assert!(
        refused
            .to_string()
            .ends_with("Pod stunner/a, Pod stunner/b"),
        "{refused}"
    );
}

#[test]
fn none_and_none_ready_are_told_apart() {
    let refused = chosen(Vec::new()).expect_err("none");
    assert_eq!(
        refused.to_string(),
        "pod of the config discovery service in the cluster not found"
    );
    assert!(refused.hint().expect("a hint").contains("`a=b`"));
    let refused = chosen(vec![operator("op-1", "aa", "op", false)]).expect_err("not ready");
    assert_eq!(
        refused.to_string(),
        "the config discovery service is not ready: pod stunner/op-1"
    );
    assert!(refused.hint().is_some());
}
