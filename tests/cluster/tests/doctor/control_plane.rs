//! Faults that objects show.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, eventually, eventually_within, kinds, need};
use serde_json::{Value, json};

use crate::world::{World, expect, lines, status_page};

const API: GatewayApi = GatewayApi::V1_6Standard;

/// Changes the object of that kind.
fn of(kind: &'static str, change: impl Fn(&mut Value)) -> impl Fn(&mut Value) {
    move |object| {
        if object["kind"] == kind {
            change(object);
        }
    }
}

#[tokio::test]
async fn no_class() {
    let cluster = need!("no_class", Cluster::shared(API));
    let world = World::new(
        cluster,
        "doctor-no-class",
        of("GatewayClass", |it| *it = Value::Null),
    )
    .await;
    let walk = world.dies_at("class", &[]).await;
    expect(&walk, "GatewayClass doctor-no-class does not exist");
}

#[tokio::test]
async fn wrong_controller() {
    let cluster = need!("wrong_controller", Cluster::shared(API));
    let name = "doctor-controller";
    let world = World::new(
        cluster,
        name,
        of("GatewayClass", |it| {
            it["spec"]["controllerName"] = json!("example.test/other")
        }),
    )
    .await;
    let walk = world.dies_at("class", &[]).await;
    expect(&walk, "example.test/other");
    // Where all are looked at, those of others are left out.
    let all = world.doctor_of_all(&["-n", name]);
    assert_eq!(all.code, Some(1), "{all:?}");
    assert!(
        all.stderr.contains("belongs to `example.test/other`"),
        "{all:?}"
    );
}

#[tokio::test]
async fn missing_gateway_config() {
    let cluster = need!("missing_gateway_config", Cluster::shared(API));
    let world = World::new(
        cluster,
        "doctor-config",
        of("GatewayConfig", |it| *it = Value::Null),
    )
    .await;
    let walk = world.dies_at("config", &[]).await;
    expect(&walk, "GatewayConfig doctor-config/config does not exist");
}

#[tokio::test]
async fn bad_secret() {
    let cluster = need!("bad_secret", Cluster::shared(API));
    let name = "doctor-secret";
    let reference = of("GatewayConfig", |it| {
        it["spec"]["authRef"] = json!({ "name": "credentials" })
    });
    let world = World::new(cluster, name, reference).await;
    let walk = world.dies_at("config", &[]).await;
    expect(
        &walk,
        "Secret doctor-secret/credentials of GatewayConfig doctor-secret/config does not exist",
    );
    world
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "credentials", "namespace": name },
            "stringData": { "username": "somebody" },
        }))
        .await;
    let walk = world.dies_at("config", &[]).await;
    expect(&walk, "lacks the key `password`");
}

#[tokio::test]
async fn no_listener() {
    let cluster = need!("no_listener", Cluster::shared(API));
    let name = "doctor-listener";
    let http = of("Gateway", |it| {
        it["spec"]["listeners"][0]["protocol"] = json!("HTTP")
    });
    let world = World::new(cluster, name, http).await;
    let walk = world.dies_at("listener", &[]).await;
    expect(&walk, "which is not TURN");
    let walk = world.dies_at("listener", &["--listener", "tls"]).await;
    expect(&walk, "no listener `tls`");
}

#[tokio::test]
async fn route_not_attached() {
    let cluster = need!("route_not_attached", Cluster::shared(API));
    let section = of("UDPRoute", |it| {
        it["spec"]["parentRefs"][0]["sectionName"] = json!("tcp")
    });
    let world = World::new(cluster, "doctor-route", section).await;
    let walk = world.dies_at("route", &[]).await;
    expect(&walk, "UDPRoute doctor-route/media is not attached");
}

#[tokio::test]
async fn route_to_another_gateway() {
    let cluster = need!("route_to_another_gateway", Cluster::shared(API));
    let elsewhere = of("UDPRoute", |it| {
        it["spec"]["parentRefs"][0]["name"] = json!("egde")
    });
    let world = World::new(cluster, "doctor-typo", elsewhere).await;
    let walk = world.dies_at("route", &[]).await;
    expect(
        &walk,
        "UDPRoute doctor-typo/media names Gateway doctor-typo/egde instead",
    );
}

#[tokio::test]
async fn backend_missing() {
    let cluster = need!("backend_missing", Cluster::shared(API));
    let world = World::new(
        cluster,
        "doctor-backend",
        of("Service", |it| *it = Value::Null),
    )
    .await;
    let walk = world.dies_at("backend", &[]).await;
    expect(&walk, "Service doctor-backend/media does not exist");
}

#[tokio::test]
async fn no_endpoints() {
    let cluster = need!("no_endpoints", Cluster::shared(API));
    let world = World::new(
        cluster,
        "doctor-endpoints",
        of("EndpointSlice", |it| *it = Value::Null),
    )
    .await;
    let walk = world.dies_at("endpoints", &[]).await;
    expect(&walk, "Service doctor-endpoints/media has no endpoints");
}

#[tokio::test]
async fn pods_not_ready() {
    let cluster = need!("pods_not_ready", Cluster::shared(API));
    let name = "doctor-pods";
    let world = World::new(cluster, name, |_| {}).await;
    world.pod(false).await;
    let walk = world.dies_at("pods", &[]).await;
    expect(&walk, "containers with unready status");
    // Nobody makes pods here, so that the Deployment has none without this one.
    let others = json!({ "metadata": { "labels": { "app": null } } });
    world
        .objects
        .merge(kinds::POD, name, "edge-1", others)
        .await;
    let walk = world.dies_at("pods", &[]).await;
    expect(&walk, "has no pods");
    expect(&walk, "Deployment doctor-pods/edge");
}

#[tokio::test]
async fn pods_that_all_drain() {
    let cluster = need!("pods_that_all_drain", Cluster::shared(API));
    let name = "doctor-drain";
    let world = World::new(cluster, name, |_| {}).await;
    // Without a kubelet that would end it, a deleted pod stays as one that is being drained.
    world.objects.delete(kinds::POD, name, "edge-1").await;
    let walk = world.dies_at("pods", &[]).await;
    expect(&walk, "being drained");
}

#[tokio::test]
async fn service_without_address() {
    let cluster = need!("service_without_address", Cluster::shared(API));
    let name = "doctor-address";
    let world = World::new(cluster, name, |_| {}).await;
    let walk = world.dies_at("address", &[]).await;
    expect(
        &walk,
        "load balancer of Service doctor-address/edge has given no address",
    );
    world
        .apply(&json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": "edge.1", "namespace": name },
            "involvedObject": { "kind": "Service", "name": "edge", "namespace": name },
            "type": "Warning", "reason": "SyncLoadBalancerFailed", "message": "quota of addresses exceeded",
            "lastTimestamp": "2026-01-01T00:00:00Z",
        }))
        .await;
    let walk = world.dies_at("address", &[]).await;
    expect(&walk, "SyncLoadBalancerFailed: quota of addresses exceeded");
}

#[tokio::test]
async fn a_gateway_that_does_not_exist() {
    let cluster = need!("a_gateway_that_does_not_exist", Cluster::shared(API));
    let world = World::new(
        cluster,
        "doctor-gateway",
        of("Gateway", |it| it["metadata"]["name"] = json!("edgy")),
    )
    .await;
    let walk = world.dies_at("gateway", &[]).await;
    expect(&walk, "has edgy");
}

/// What pods run comes from their status page; here that of a dataplane which has stopped listening to its operator.
#[tokio::test]
async fn a_pod_that_runs_an_older_configuration() {
    let cluster = need!(
        "a_pod_that_runs_an_older_configuration",
        Cluster::shared(API)
    );
    let name = "doctor-sync";
    let world = World::new(cluster, name, of("Dataplane", |it| it["spec"] = json!({}))).await;
    world.balanced_here().await;
    let cds = world.operator.cds();
    let mut document = eventually("a configuration with an address", async || {
        let config = cds.config(name, "edge")?;
        match config["listeners"][0]["public_address"] == "127.0.0.1" {
            true => Ok(config),
            false => Err(config.to_string()),
        }
    })
    .await;
    document["clusters"][0]["endpoints"] = json!(["10.9.9.9"]);
    let page = status_page(&document);
    let _kubelet = world.kubelet(cluster, 8086, page).await;
    let walk = eventually_within(
        Duration::from_secs(30),
        "a warning about the pod",
        async || {
            let walk = world.doctor(&["--no-network", "-o", "json"]).json();
            match lines(&walk, "sync").as_slice() {
                [line] if line["verdict"] == "warn" => Ok(walk),
                _ => Err(walk.to_string()),
            }
        },
    )
    .await;
    let said = lines(&walk, "sync")[0].to_string();
    assert!(
        said.contains("edge-1 runs an older configuration"),
        "{said}"
    );
    assert_eq!(walk["deadHop"], Value::Null, "{walk:#}");
}
