//! A real dataplane, asked through port-forwards.

use std::process::Command;

use cluster_tests::{Cluster, GatewayApi, eventually, need};
use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::stunnerd;
use serde_json::json;
use stunner_cluster::{Admin, Cluster as Reached, ClusterError, Explain, Filter, Http, Scope};

use crate::world::{ADDRESS, World, admin, id};

const NS: &str = "access-dataplane";

#[tokio::test]
async fn the_admin_api_of_a_pod_answers_on_its_loopback() {
    let test = "the_admin_api_of_a_pod_answers_on_its_loopback";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let port = free_port();
    let world = World::new(cluster, NS, &[(8087, port)]).await;
    let gateway = format!("{NS}/edge");
    world.publish(&gateway, free_port());
    let metadata = json!({ "name": "edge-1", "namespace": NS, "labels": {
        "app": "stunner",
        "stunner.l7mp.io/related-gateway-namespace": NS,
        "stunner.l7mp.io/related-gateway-name": "edge",
    } });
    world.kubelet.pod(&metadata, ADDRESS).await;
    let mut command = Command::new(stunnerd::binary());
    command
        .args(["--watch", "--config", &world.service_url()])
        .args(["--admin-address", &format!("127.0.0.1:{port}")])
        .env("STUNNER_NAMESPACE", NS)
        .env("STUNNER_NAME", "edge");
    let _dataplane = Process::start("stunnerd", command).expect("start the dataplane");

    let reached = Reached::connect(&admin(cluster)).await.expect("a cluster");
    let pods = reached.dataplane_pods(&Scope::One(id(&gateway))).await;
    let pods = pods.expect("pods");
    assert_eq!(pods.len(), 1);
    let unknown = Scope::One(id("access-dataplane/none"));
    let none = reached.dataplane_pods(&unknown).await.expect("pods");
    assert!(none.is_empty());
    let pod = &pods[0];
    assert!(pod.ready && pod.running);
    assert_eq!(
        pod.gateway.as_ref().map(ToString::to_string),
        Some(gateway.clone())
    );

    let admin = Admin::of_pod(&reached, &pod.name);
    let listener = format!("{gateway}/udp");
    let question = Explain {
        listener: listener.clone(),
        peer: "10.0.0.1:5000".to_owned(),
        client: None,
        transport: None,
    };
    let explained = eventually("an explanation", async || {
        let explained = admin.explain(&question).await;
        explained.map_err(|error| error.to_string())
    })
    .await;
    assert!(explained.admitted);
    assert_eq!(explained.cluster.as_deref(), Some("stunner/media"));
    let sessions = admin.sessions(&Filter::default()).await.expect("sessions");
    assert_eq!(sessions.total, 0);
    assert!(admin.denials(&Filter::default()).await.is_ok());
    let statistics = admin.statistics().await.expect("statistics");
    assert_eq!(statistics.gateways[0].gateway, gateway);
    let refused = admin.kill("0-nothing").await.expect_err("no session");
    assert!(refused.is_not_found(), "{refused}");
    assert!(refused.hint().is_some());

    // Where nothing listens, the node says so.
    let deaf = Http::new(pod.port(&reached, 8086)).get("/status").await;
    let deaf = deaf.expect_err("nothing listens");
    assert!(matches!(deaf, ClusterError::Unreachable { .. }), "{deaf}");
    assert!(
        deaf.to_string().contains("nothing listens at port 8086"),
        "{deaf}"
    );
}
