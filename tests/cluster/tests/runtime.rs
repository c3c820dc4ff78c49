//! How the operator bears what it cannot read.

use cluster_tests::{
    Cluster, GatewayApi, Operator, OperatorOptions, User, eventually, kinds, need,
};
use serde_json::json;

const CLASS: &str = "
apiVersion: v1
kind: Namespace
metadata: { name: odd }
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: odd }
spec:
  controllerName: stunner.l7mp.io/odd
  parametersRef: { group: stunner.l7mp.io, kind: GatewayConfig, name: odd, namespace: odd }
---
apiVersion: stunner.l7mp.io/v1
kind: GatewayConfig
metadata: { name: odd, namespace: odd }
spec: { authType: static, userName: user-1, password: pass-1 }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: gw, namespace: odd }
spec:
  gatewayClassName: odd
  listeners: [{ name: udp, protocol: TURN-UDP, port: 3478 }]
---
apiVersion: stunner.l7mp.io/v1
kind: UDPRoute
metadata: { name: route, namespace: odd }
spec:
  parentRefs: [{ name: gw }]
  rules:
  - backendRefs:
    - { group: stunner.l7mp.io, kind: StaticService, name: good }
    - { group: stunner.l7mp.io, kind: StaticService, name: bad }
---
apiVersion: stunner.l7mp.io/v1
kind: StaticService
metadata: { name: good, namespace: odd }
spec: { prefixes: [10.1.1.0/24] }
---
apiVersion: stunner.l7mp.io/v1
kind: StaticService
metadata: { name: bad, namespace: odd }
spec: { prefixes: [10.2.2.0/24] }
";

#[tokio::test]
async fn without_rights_the_operator_says_what_it_may_not_read_and_is_not_ready() {
    let test = "without_rights_the_operator_says_what_it_may_not_read_and_is_not_ready";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let options = OperatorOptions::new("stunner.l7mp.io/forbidden").user(User::Installed);
    let mut operator = Operator::launch(&cluster, options);
    eventually("the operator says what it misses", async || {
        let (status, body) = operator
            .health("/readyz")
            .map_err(|error| error.to_string())?;
        let names_it = body.contains("GatewayClass") && body.contains("forbidden");
        match (status, names_it) {
            (503, true) => Ok(()),
            _ => Err(format!("{status}: {body}")),
        }
    })
    .await;
    let (status, _) = operator.health("/healthz").expect("an answer");
    assert_eq!(status, 200, "it is alive and tries again");
    assert!(operator.stop().success());
}

#[tokio::test]
async fn an_object_that_makes_no_sense_hurts_no_other_and_stays_what_it_was() {
    let test = "an_object_that_makes_no_sense_hurts_no_other_and_stays_what_it_was";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let objects = cluster.objects().await;
    objects.apply(CLASS).await;
    let operator = Operator::start(&cluster, OperatorOptions::new("stunner.l7mp.io/odd")).await;
    let endpoints = async |wanted: &[&str]| {
        eventually("the endpoints", async || {
            let config = operator.cds().config("odd", "gw")?;
            let mut found: Vec<_> = config["clusters"][0]["endpoints"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|endpoint| endpoint.as_str())
                .collect();
            found.sort_unstable();
            match found == wanted {
                true => Ok(()),
                false => Err(format!("{found:?}")),
            }
        })
        .await;
    };
    endpoints(&["10.1.1.0/24", "10.2.2.0/24"]).await;

    // Somebody replaces our definition by one that accepts anything.
    let name = "staticservices.stunner.l7mp.io";
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let versions = objects
        .find(kinds::CRD, "", name)
        .await
        .and_then(|crd| crd["spec"]["versions"].as_array().cloned())
        .unwrap_or_default();
    let versions: Vec<_> = versions
        .into_iter()
        .map(|mut version| {
            version["schema"] = json!({ "openAPIV3Schema": anything });
            version
        })
        .collect();
    let patch = json!({ "spec": { "versions": versions } });
    objects.merge(kinds::CRD, "", name, patch).await;
    let nonsense = json!({ "spec": { "prefixes": { "no": "list" } } });
    eventually("nonsense is stored", async || {
        let stored = objects
            .try_apply_object(&json!({
                "apiVersion": "stunner.l7mp.io/v1", "kind": "StaticService",
                "metadata": { "name": "bad", "namespace": "odd" }, "spec": nonsense["spec"],
            }))
            .await;
        stored.map_err(|refused| format!("{refused:?}"))
    })
    .await;
    eventually("the operator names the object", async || {
        let log = operator.log();
        let named = |line: &String| line.contains("StaticService odd/bad cannot be understood");
        match log.iter().any(named) {
            true => Ok(()),
            false => Err(log.join("\n")),
        }
    })
    .await;
    let spec = json!({ "spec": { "prefixes": ["10.1.9.0/24"] } });
    objects
        .merge(kinds::STATIC_SERVICE, "odd", "good", spec)
        .await;
    endpoints(&["10.1.9.0/24", "10.2.2.0/24"]).await;
}
