//! People who may read only some of it.

use cluster_tests::{Cluster, GatewayApi, eventually_within, need};
use serde_json::{Value, json};
use std::time::Duration;

use crate::world::{World, lines};

/// Rights of the user `reader` of a namespace, there and in the cluster.
async fn grant(world: &World, here: Value, everywhere: Value) {
    let name = &world.name;
    let group = "rbac.authorization.k8s.io";
    let user = format!("reader-{name}");
    for (kind, rules) in [("Role", here), ("ClusterRole", everywhere)] {
        let metadata = match kind {
            "Role" => json!({ "name": user, "namespace": name }),
            _ => json!({ "name": user }),
        };
        world
            .apply(&json!({
                "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": metadata, "rules": rules,
            }))
            .await;
        world
            .apply(&json!({
                "apiVersion": format!("{group}/v1"), "kind": format!("{kind}Binding"), "metadata": metadata,
                "roleRef": { "apiGroup": group, "kind": kind, "name": user },
                "subjects": [{ "kind": "User", "name": user, "apiGroup": group }],
            }))
            .await;
    }
}

#[tokio::test]
async fn what_may_not_be_read_is_skipped_with_the_rule_to_add() {
    let test = "what_may_not_be_read_is_skipped_with_the_rule_to_add";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let name = "doctor-rights";
    let world = World::new(cluster, name, |_| {}).await;
    world.balanced_here().await;
    let user = format!("reader-{name}");
    let reader = ["--as", user.as_str()];

    // Not even the Gateway.
    let said = world.doctor(&reader);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.stderr
            .contains("error: you are not allowed to read Gateway"),
        "{said:?}"
    );
    assert!(
        said.stderr
            .contains("hint: ask for the verb `get` on `gateways.gateway.networking.k8s.io`"),
        "{said:?}"
    );

    grant(
        &world,
        json!([{ "apiGroups": ["gateway.networking.k8s.io"], "resources": ["gateways"], "verbs": ["get"] },
               { "apiGroups": ["stunner.l7mp.io"], "resources": ["udproutes"], "verbs": ["list"] }]),
        json!([{ "apiGroups": ["gateway.networking.k8s.io"], "resources": ["gatewayclasses"], "verbs": ["get"] }]),
    )
    .await;
    let args = ["--as", user.as_str(), "--no-network", "-o", "json"];
    let walk = eventually_within(
        Duration::from_secs(30),
        "a walk with few rights",
        async || {
            let said = world.doctor(&args);
            match serde_json::from_str::<Value>(&said.stdout) {
                Ok(walk) if walk["deadHop"].is_null() => Ok(walk),
                _ => Err(format!("{said:?}")),
            }
        },
    )
    .await;
    assert_eq!(lines(&walk, "class")[0]["verdict"], "ok", "{walk:#}");
    assert_eq!(lines(&walk, "route")[0]["verdict"], "ok", "{walk:#}");
    for (hop, rule) in [
        (
            "config",
            "the verb `get` on `gatewayconfigs.stunner.l7mp.io` in namespace doctor-rights",
        ),
        (
            "backend",
            "the verb `get` on `services` in namespace doctor-rights",
        ),
        (
            "pods",
            "the verb `list` on `pods` in namespace doctor-rights",
        ),
        (
            "service",
            "the verb `get` on `services` in namespace doctor-rights",
        ),
    ] {
        let line = lines(&walk, hop)[0];
        assert_eq!(line["verdict"], "skipped", "{hop}: {walk:#}");
        assert!(line["hint"].to_string().contains(rule), "{hop}: {line}");
    }
}

#[tokio::test]
async fn a_cluster_that_does_not_answer() {
    let test = "a_cluster_that_does_not_answer";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let world = World::new(cluster, "doctor-away", |_| {}).await;
    let port = interop_tests::ports::free_port();
    let said = world.doctor(&["--server", &format!("https://127.0.0.1:{port}")]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.stderr
            .contains("error: cannot read Gateway doctor-away/edge"),
        "{said:?}"
    );
    assert!(said.stderr.contains("hint: "), "{said:?}");
    assert_eq!(said.stdout, "");
}
