//! Faults that only packets show, and a Gateway without any.

use std::net::UdpSocket;

use base64::Engine as _;
use cluster_tests::{Cluster, GatewayApi, certificate, need};
use interop_tests::pki::{Identity, TestCa};
use serde_json::{Value, json};

use crate::world::{PASSWORD, USER, World, expect, lines};

const API: GatewayApi = GatewayApi::V1_6Standard;

#[tokio::test]
async fn a_healthy_gateway_has_no_dead_hop() {
    let cluster = need!("a_healthy_gateway_has_no_dead_hop", Cluster::shared(API));
    let name = "doctor-well";
    let world = World::new(cluster, name, |_| {}).await;
    world.balanced_here().await;
    let _dataplane = world.dataplane();
    let walk = world.is_well(&[]).await;
    assert_eq!(walk["gateway"], "doctor-well/edge");
    assert_eq!(walk["verdict"], "ok", "{walk:#}");
    for hop in [
        "class",
        "config",
        "gateway",
        "listener",
        "route",
        "backend",
        "endpoints",
        "pods",
        "service",
        "address",
        "stun",
        "allocate",
        "peer",
    ] {
        let found = lines(&walk, hop);
        assert!(!found.is_empty(), "no line about {hop}: {walk:#}");
        assert!(
            found.iter().all(|line| line["verdict"] == "ok"),
            "{hop}: {walk:#}"
        );
    }
    let peer = lines(&walk, "peer")[0]["what"].to_string();
    assert!(peer.contains("10.0.0.7"), "{peer}");

    // As people read it, by the namespace; and no secret in any form.
    let all = world.doctor_of_all(&["-n", name]);
    assert_eq!(all.code, Some(0), "{all:?}");
    assert!(
        all.stdout
            .starts_with("Gateway doctor-well/edge\n  ok    class        "),
        "{all:?}"
    );
    assert!(all.stdout.ends_with("No hop is dead.\n"), "{all:?}");
    assert!(!format!("{all:?}").contains(PASSWORD), "{all:?}");

    // Nothing is sent where that is not wanted.
    let still = world.doctor(&["--no-network", "-o", "json"]).json();
    assert_eq!(lines(&still, "allocate").len(), 0, "{still:#}");
    assert_eq!(lines(&still, "stun")[0]["verdict"], "skipped", "{still:#}");
}

#[tokio::test]
async fn dns_name_that_does_not_resolve() {
    let cluster = need!("dns_name_that_does_not_resolve", Cluster::shared(API));
    let world = World::new(cluster, "doctor-dns", |_| {}).await;
    // RFC 6761 §6.4: never resolves.
    world
        .balanced(json!([{ "hostname": "turn.invalid" }]))
        .await;
    let walk = world.dies_at("dns", &[]).await;
    expect(&walk, "turn.invalid does not resolve");
}

#[tokio::test]
async fn port_closed() {
    let cluster = need!("port_closed", Cluster::shared(API));
    let world = World::new(cluster, "doctor-closed", |_| {}).await;
    world.balanced_here().await;
    let walk = world.dies_at("stun", &[]).await;
    expect(
        &walk,
        &format!("UDP port {} of 127.0.0.1 is closed", world.turn),
    );
}

#[tokio::test]
async fn udp_blocked() {
    let cluster = need!("udp_blocked", Cluster::shared(API));
    let world = World::new(cluster, "doctor-blocked", |_| {}).await;
    // Packets vanish: somebody has the port and says nothing.
    let _hole = UdpSocket::bind(("127.0.0.1", world.turn)).expect("the port");
    world.balanced_here().await;
    let walk = world.dies_at("stun", &[]).await;
    expect(&walk, "no answer from `udp`");
    expect(&walk, "UDP");
}

#[tokio::test]
async fn wrong_credentials() {
    let cluster = need!("wrong_credentials", Cluster::shared(API));
    let world = World::new(cluster, "doctor-credentials", |_| {}).await;
    world.balanced_here().await;
    let _dataplane = world.dataplane();
    world.is_well(&[]).await;
    let wrong = ["--username", USER, "--password", "not-the-password"];
    let walk = world.dies_at("allocate", &wrong).await;
    expect(&walk, "401");
    let walk = world
        .dies_at("allocate", &["--secret", "nobody-shares-it"])
        .await;
    expect(&walk, "401");
}

#[tokio::test]
async fn ephemeral_credentials_are_minted() {
    let cluster = need!("ephemeral_credentials_are_minted", Cluster::shared(API));
    let shared = |object: &mut Value| {
        if object["kind"] == "GatewayConfig" {
            let dataplane = object["spec"]["dataplane"].clone();
            object["spec"] = json!({ "authType": "ephemeral", "sharedSecret": PASSWORD, "dataplane": dataplane });
        }
    };
    let world = World::new(cluster, "doctor-ephemeral", shared).await;
    world.balanced_here().await;
    let _dataplane = world.dataplane();
    let walk = world.is_well(&[]).await;
    assert_eq!(lines(&walk, "allocate")[0]["verdict"], "ok", "{walk:#}");
    assert!(!walk.to_string().contains(PASSWORD));
}

/// A listener of that protocol with that certificate instead of the plain one.
async fn secure(
    cluster: &Cluster,
    name: &str,
    protocol: &'static str,
    identity: Identity,
) -> World {
    let world = World::new(cluster, name, |object| {
        if object["kind"] == "Gateway" {
            let listener = &mut object["spec"]["listeners"][0];
            listener["protocol"] = json!(protocol);
            listener["tls"] =
                json!({ "mode": "Terminate", "certificateRefs": [{ "name": "certificate" }] });
        }
    })
    .await;
    let encoded = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    world
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": { "name": "certificate", "namespace": name },
            "data": { "tls.crt": encoded(&identity.chain_pem), "tls.key": encoded(&identity.key_pem) },
        }))
        .await;
    world.balanced_here().await;
    world
}

#[tokio::test]
async fn expired_certificate() {
    let cluster = need!("expired_certificate", Cluster::shared(API));
    for (name, protocol) in [
        ("doctor-expired", "TURN-TLS"),
        ("doctor-expired-dtls", "TURN-DTLS"),
    ] {
        let identity = TestCa::new().expired("turn");
        let world = secure(cluster, name, protocol, identity).await;
        let _dataplane = world.dataplane();
        let walk = world.dies_at("certificate", &[]).await;
        expect(&walk, "expired a day ago");
        // What is behind the certificate works, and is said to.
        assert_eq!(lines(&walk, "allocate")[0]["verdict"], "ok", "{walk:#}");
    }
}

#[tokio::test]
async fn a_certificate_of_an_unknown_issuer_is_a_warning() {
    let cluster = need!(
        "a_certificate_of_an_unknown_issuer_is_a_warning",
        Cluster::shared(API)
    );
    let world = secure(cluster, "doctor-issuer", "TURN-TLS", certificate("turn")).await;
    let _dataplane = world.dataplane();
    let walk = world.is_well(&[]).await;
    assert_eq!(walk["verdict"], "warn", "{walk:#}");
    let said = lines(&walk, "certificate")[0];
    assert_eq!(said["verdict"], "warn", "{walk:#}");
    assert!(
        said["what"].to_string().contains("does not trust"),
        "{said}"
    );
}
