//! Managed mode with the Endpoints controller.

use cluster_tests::{Cluster, GatewayApi, kinds, need};
use serde_json::Value;

use crate::expect::*;
use crate::fixtures::{self as given, NS, POD_IPS, ROUTE};
use crate::world::{World, options};

pub const UDP: &str = "gateway-1/gateway-1-listener-udp";
pub const TCP: &str = "gateway-1/gateway-1-listener-tcp";

#[tokio::test]
async fn me_managed_mode_with_endpoints() {
    let test = "me_managed_mode_with_endpoints";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Experimental).await);
    let mut w = World::new(cluster).await;
    w.step(
        "S5",
        "starts in managed mode with EndpointSlices off",
        async |w| {
            let options = options("managed").arg("--disable-endpointslice-controller=true");
            w.start_operator(options).await;
        },
    )
    .await;
    w.step("ME1", "survives loading a minimal config", async |w| {
        given::load_base(&w.objects).await;
        for object in [
            given::dataplane("default"),
            given::endpoints(),
            given::gateway_1(),
        ] {
            w.apply(&object).await;
        }
    })
    .await;
    w.step("ME2", "the GatewayConfig can be read", async |w| {
        w.object(kinds::GATEWAY_CONFIG, "gatewayconfig-ok", |live| {
            same(&live["spec"]["userName"], "testuser")
        })
        .await;
    })
    .await;
    w.step("ME3", "a watch gets exactly 2 listeners", async |w| {
        let watch = w.operator().cds().watch_gateway(NS, "gateway-1").await;
        cluster_tests::eventually("a frame with 2 listeners", async || {
            let frame = watch.last().ok_or("no frame")?;
            count(&frame["listeners"], 2)
        })
        .await;
    })
    .await;
    w.step("ME4", "with the right parameters", async |w| {
        two_listeners(w).await
    })
    .await;
    w.step("ME5", "sets the GatewayClass status", async |w| {
        w.class("gatewayclass-ok", "True/Accepted").await;
    })
    .await;
    w.step("ME6", "sets the Gateway status", async |w| {
        not_programmed(w).await
    })
    .await;
    w.step("ME7", "survives adding a route", async |w| {
        w.apply(&given::udp_route()).await;
        w.config("gateway-1", |config| {
            count(&config["clusters"], 1)?;
            count(&config["clusters"][0]["endpoints"], 5)
        })
        .await;
    })
    .await;
    w.step(
        "ME8",
        "renders all addresses and the ClusterIP",
        async |w| {
            all_backends(w).await;
        },
    )
    .await;
    w.step("ME9", "sets the route's status", async |w| {
        w.route("udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
    })
    .await;
    w.step("ME10", "cleans up", async |w| {
        w.objects.delete(kinds::UDP_ROUTE, NS, "udproute-ok").await;
        w.objects.delete(kinds::GATEWAY, NS, "gateway-1").await;
        config_is_gone(w, "gateway-1").await;
    })
    .await;
    w.step("S6", "comes to rest and ends", async |w| {
        w.calm().await;
        w.stop_operator();
    })
    .await;
    w.finish();
}

pub async fn two_listeners(w: &World) {
    w.config("gateway-1", |config| {
        count(&config["listeners"], 2)?;
        same(&config["admin"]["name"], "testnamespace/gateway-1")?;
        let [udp, tcp] = [&config["listeners"][0], &config["listeners"][1]];
        same(&udp["name"], format!("{NS}/{UDP}"))?;
        same(&udp["protocol"], "TURN-UDP")?;
        same(&udp["port"], 1)?;
        same(&udp["address"], "$STUNNER_ADDR")?;
        same(&tcp["name"], format!("{NS}/{TCP}"))?;
        same(&tcp["protocol"], "TURN-TCP")?;
        same(&tcp["port"], 2)
    })
    .await;
}

/// There is no load balancer and no node, so no public address yet.
pub async fn not_programmed(w: &World) {
    w.gateway("gateway-1", |live| {
        conditions(
            &live["status"],
            &[
                ("Accepted", "True/Accepted"),
                ("Programmed", "False/AddressNotAssigned"),
            ],
        )?;
        listener_ok(live, "gateway-1-listener-udp")?;
        listener_ok(live, "gateway-1-listener-tcp")
    })
    .await;
}

/// The route is on the UDP listener and has all pods and the ClusterIP as backends.
pub async fn all_backends(w: &World) -> Value {
    let cluster_ip = w.cluster_ip("testservice-ok").await;
    let mut wanted = POD_IPS.to_vec();
    wanted.push(&cluster_ip);
    w.config("gateway-1", |config| {
        routes(config, UDP, &[ROUTE])?;
        routes(config, TCP, &[])?;
        count(&config["clusters"], 1)?;
        cluster(config, ROUTE, "STATIC", &wanted)
    })
    .await
}

pub async fn config_is_gone(w: &World, gateway: &str) {
    let cds = w.operator().cds();
    let what = format!("config of {NS}/{gateway} is gone");
    cluster_tests::eventually(&what, async || {
        match cds.get(&format!("/api/v1/configs/{NS}/{gateway}")) {
            Ok((404, _)) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}
