//! The cluster that the other tests stand on: it starts, serves what the operator needs, and refuses what it should.

use cluster_tests::{Cluster, GatewayApi, kinds, need};

/// The served versions of a CRD.
async fn served(cluster: &Cluster, crd: &str) -> Vec<String> {
    let crd = cluster.objects().await.find(kinds::CRD, "", crd).await;
    let crd = crd.unwrap_or_else(|| panic!("no CRD"));
    let versions = crd["spec"]["versions"].as_array().cloned();
    let mut names = versions
        .unwrap_or_default()
        .iter()
        .filter(|version| version["served"] == true)
        .filter_map(|version| version["name"].as_str().map(str::to_owned))
        .collect::<Vec<_>>();
    names.sort();
    names
}

const OFFICIAL: &str = "udproutes.gateway.networking.k8s.io";

#[tokio::test]
async fn gateway_api_1_6_standard_serves_the_official_udproute_as_v1_only() {
    let test = "gateway_api_1_6_standard_serves_the_official_udproute_as_v1_only";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    assert_eq!(served(cluster, OFFICIAL).await, ["v1"]);
}

#[tokio::test]
async fn gateway_api_1_6_experimental_serves_the_official_udproute_as_v1_and_v1alpha2() {
    let test = "gateway_api_1_6_experimental_serves_the_official_udproute_as_v1_and_v1alpha2";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Experimental).await);
    assert_eq!(served(&cluster, OFFICIAL).await, ["v1", "v1alpha2"]);
}

#[tokio::test]
async fn gateway_api_1_0_serves_the_official_udproute_as_v1alpha2_only() {
    let test = "gateway_api_1_0_serves_the_official_udproute_as_v1alpha2_only";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_0).await);
    assert_eq!(served(&cluster, OFFICIAL).await, ["v1alpha2"]);
}

#[tokio::test]
async fn a_gateway_with_turn_protocols_is_accepted_by_the_schema() {
    let test = "a_gateway_with_turn_protocols_is_accepted_by_the_schema";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let objects = cluster.objects().await;
    let applied = objects
        .apply(
            "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: harness-turn, namespace: default }
spec:
  gatewayClassName: harness
  listeners:
  - { name: udp, protocol: TURN-UDP, port: 3478 }
  - { name: dtls, protocol: TURN-DTLS, port: 3479 }
",
        )
        .await;
    assert_eq!(applied[0]["spec"]["listeners"][0]["protocol"], "TURN-UDP");
}

#[tokio::test]
async fn a_udproute_whose_end_port_is_below_its_port_is_refused() {
    let test = "a_udproute_whose_end_port_is_below_its_port_is_refused";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let route = |end_port: u16| {
        format!(
            "
apiVersion: stunner.l7mp.io/v1
kind: UDPRoute
metadata: {{ name: harness-ports, namespace: default }}
spec:
  parentRefs: [{{ name: harness-turn }}]
  rules:
  - backendRefs: [{{ name: backend, port: 100, endPort: {end_port} }}]
"
        )
    };
    let objects = cluster.objects().await;
    objects.apply(&route(100)).await;
    let refused = objects.try_apply(&route(99)).await;
    let refused = refused.expect_err("endPort 99 is below port 100");
    assert_eq!(refused.code, 422, "{refused:?}");
}

#[tokio::test]
async fn the_audit_log_tells_who_wrote_what() {
    let test = "the_audit_log_tells_who_wrote_what";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let objects = cluster.objects().await;
    let mark = cluster.mark();
    objects
        .apply(
            "{ apiVersion: v1, kind: ConfigMap, metadata: { name: audited, namespace: default } }",
        )
        .await;
    let found = cluster_tests::eventually("the write is in the log", async || {
        let writes = cluster.writes_since(mark);
        let found = writes.iter().find(|write| write.name == "audited");
        found.cloned().ok_or_else(|| format!("{writes:?}"))
    })
    .await;
    assert_eq!(
        found.to_string(),
        "admin: patch configmaps default/audited -> 201"
    );
    assert!(cluster.operator_writes_since(mark).is_empty());
}

/// Kubernetes removes what a deleted Gateway owned; the operator relies on it.
#[tokio::test]
async fn the_controller_manager_collects_what_a_deleted_gateway_owned() {
    let test = "the_controller_manager_collects_what_a_deleted_gateway_owned";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let cluster = cluster.with_controller_manager().await;
    let objects = cluster.objects().await;
    let gateway = objects
        .apply(
            "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: owner, namespace: default }
spec:
  gatewayClassName: harness
  listeners: [{ name: udp, protocol: TURN-UDP, port: 3478 }]
",
        )
        .await;
    let uid = &gateway[0]["metadata"]["uid"];
    objects
        .apply(&format!(
            "
apiVersion: v1
kind: Service
metadata:
  name: owned
  namespace: default
  ownerReferences: [{{ apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, name: owner, uid: {uid} }}]
spec: {{ ports: [{{ port: 3478, protocol: UDP }}] }}
"
        ))
        .await;
    objects.delete(kinds::GATEWAY, "default", "owner").await;
    cluster_tests::eventually("the Service is collected", async || {
        match objects.find(kinds::SERVICE, "default", "owned").await {
            None => Ok(()),
            Some(live) => Err(live["metadata"].to_string()),
        }
    })
    .await;
}
