//! Managed mode: one gateway, from the first objects to its public address.

use cluster_tests::{Cluster, GatewayApi, kinds, need};
use serde_json::{Value, json};

use crate::expect::*;
use crate::fixtures::{self as given, NS};
use crate::legacy::node;
use crate::managed_endpoints::{all_backends, not_programmed, two_listeners};
use crate::world::{World, options};

#[tokio::test]
async fn m_managed_mode_gateway_api_1_6() {
    let test = "m_managed_mode_gateway_api_1_6";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    run(cluster, kinds::OFFICIAL_UDP_ROUTE).await;
}

#[tokio::test]
async fn m_managed_mode_gateway_api_1_0() {
    let test = "m_managed_mode_gateway_api_1_0";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_0).await);
    run(cluster, kinds::OFFICIAL_UDP_ROUTE_ALPHA).await;
}

async fn run(cluster: Cluster, official: kinds::Kind) {
    let mut w = World::new(cluster).await;
    w.step(
        "S7",
        "starts in managed mode with EndpointSlices",
        async |w| {
            w.start_operator(options("managed")).await;
        },
    )
    .await;
    minimal(&mut w).await;
    public_addresses(&mut w).await;
    crate::managed_service::run(&mut w).await;
    crate::managed_deployment::run(&mut w).await;
    crate::managed_routes::run(&mut w, official).await;
    crate::managed_many::run(&mut w).await;
    w.step("S8", "comes to rest and ends", async |w| {
        w.calm().await;
        w.stop_operator();
    })
    .await;
    w.finish();
}

async fn minimal(w: &mut World) {
    w.step("M1", "survives loading a minimal config", async |w| {
        given::load_base(&w.objects).await;
        w.apply(&unowned_daemon_set()).await;
        for object in [
            given::dataplane("default"),
            given::endpoint_slice(),
            given::gateway_1(),
        ] {
            w.apply(&object).await;
        }
    })
    .await;
    w.step("M2", "the GatewayConfig can be read", async |w| {
        w.object(kinds::GATEWAY_CONFIG, "gatewayconfig-ok", |live| {
            same(&live["spec"]["password"], "testpass")
        })
        .await;
    })
    .await;
    w.step("M3", "answers for the licence", async |w| {
        let (status, body) = w
            .operator()
            .cds()
            .get("/api/v1/license")
            .expect("an answer");
        assert_eq!(status, 200, "{body}");
        let license = serde_json::from_str::<Value>(&body).expect("JSON");
        // There are no tiers here: the features that work are listed, where the Go operator lists none.
        assert!(license["enabledFeatures"].is_array(), "{license}");
        assert!(license["subscriptionType"].is_string(), "{license}");
    })
    .await;
    w.step("M4", "has exactly 2 listeners", async |w| {
        w.config("gateway-1", |config| count(&config["listeners"], 2))
            .await;
    })
    .await;
    w.step("M5", "has the listeners' parameters", async |w| {
        two_listeners(w).await
    })
    .await;
    w.step("M6", "sets the GatewayClass status", async |w| {
        w.class("gatewayclass-ok", "True/Accepted").await;
    })
    .await;
    w.step("M7", "sets the Gateway status", async |w| {
        not_programmed(w).await
    })
    .await;
    w.step("M8", "survives adding a route", async |w| {
        w.apply(&given::udp_route()).await;
        w.config("gateway-1", |config| {
            count(&config["clusters"][0]["endpoints"], 5)
        })
        .await;
    })
    .await;
    w.step("M9", "renders pods and ClusterIP", async |w| {
        all_backends(w).await;
    })
    .await;
    w.step("M10", "sets the route's status", async |w| {
        w.route("udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
    })
    .await;
}

async fn public_addresses(w: &mut World) {
    w.step("M11", "finds the node port's public address", async |w| {
        w.objects.set_node("testnode-ok", &node("1.2.3.4")).await;
        at_node(w, "1.2.3.4").await;
    })
    .await;
    w.step(
        "M12",
        "prefers a load balancer's address, also IPv6",
        async |w| {
            let ingress = json!([{ "ip": "2001:db8::1" }]);
            w.objects.set_ingress(NS, "gateway-1", ingress).await;
            w.config("gateway-1", |config| address(config, 0, "2001:db8::1", 1))
                .await;
            w.objects.set_ingress(NS, "gateway-1", Value::Null).await;
            at_node(w, "1.2.3.4").await;
        },
    )
    .await;
    w.step("M13", "takes an IPv6 address of a node", async |w| {
        w.objects
            .set_node("testnode-ok", &node("2001:db8::2"))
            .await;
        at_node(w, "2001:db8::2").await;
        w.objects.set_node("testnode-ok", &node("1.2.3.4")).await;
        at_node(w, "1.2.3.4").await;
    })
    .await;
    w.step(
        "M14",
        "takes the public address from the Gateway",
        async |w| {
            let mut gateway = given::gateway_1();
            gateway["spec"]["addresses"] = json!([{ "type": "IPAddress", "value": "1.2.3.5" }]);
            w.apply(&gateway).await;
            w.config("gateway-1", |config| address(config, 0, "1.2.3.5", 1))
                .await;
        },
    )
    .await;
    w.step("M15", "goes back to the node", async |w| {
        w.apply(&given::gateway_1()).await;
        at_node(w, "1.2.3.4").await;
    })
    .await;
    w.step("M16", "follows the node's external address", async |w| {
        w.objects.set_node("testnode-ok", &node("4.3.2.1")).await;
        at_node(w, "4.3.2.1").await;
    })
    .await;
    w.step(
        "M17",
        "drops an external address that goes away",
        async |w| {
            let internal = [("InternalIP", "255.255.255.255")];
            w.objects.set_node("testnode-ok", &internal).await;
            w.config("gateway-1", |config| no_address(config, 0)).await;
        },
    )
    .await;
    w.step("M18", "finds a new node", async |w| {
        w.objects.set_node("testnode-ok-2", &node("1.2.3.4")).await;
        at_node(w, "1.2.3.4").await;
    })
    .await;
}

pub async fn at_node(w: &World, node: &str) {
    let port = w.node_port("gateway-1", 0).await;
    w.config("gateway-1", |config| address(config, 0, node, port))
        .await;
}

/// Somebody's DaemonSet that happens to be named like the gateway.
fn unowned_daemon_set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": { "name": "gateway-1", "namespace": NS },
        "spec": {
            "selector": { "matchLabels": { "app": "stunner" } },
            "template": {
                "metadata": { "labels": { "app": "stunner" } },
                "spec": { "containers": [{ "name": "foreign", "image": "foreign" }] },
            },
        },
    })
}
