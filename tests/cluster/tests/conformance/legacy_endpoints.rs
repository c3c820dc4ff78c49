//! Legacy mode with the Endpoints controller: the whole class in one ConfigMap, backends from Endpoints objects.

use cluster_tests::{Cluster, GatewayApi, kinds, need};

use crate::expect::{cluster, count, parents, routes, same};
use crate::fixtures::{self as given, NS, POD_IPS, ROUTE};
use crate::world::{World, options};

#[tokio::test]
async fn le_legacy_mode_with_endpoints() {
    let test = "le_legacy_mode_with_endpoints";
    let cluster_1_0 = need!(test, Cluster::start(GatewayApi::V1_0).await);
    let mut w = World::new(cluster_1_0).await;

    w.step(
        "S1",
        "starts in legacy mode with EndpointSlices off",
        async |w| {
            let options = options("legacy").arg("--disable-endpontslice-controller=true");
            w.start_operator(options).await;
        },
    )
    .await;

    w.step("LE1", "survives loading a minimal config", async |w| {
        given::load_base(&w.objects).await;
        for object in [given::endpoints(), given::gateway_1(), given::udp_route()] {
            w.apply(&object).await;
        }
        w.legacy_config(|config| {
            count(&config["listeners"], 2)?;
            routes(config, "gateway-1/gateway-1-listener-udp", &[ROUTE])?;
            count(&config["clusters"], 1)?;
            count(&config["clusters"][0]["endpoints"], 5)
        })
        .await;
    })
    .await;

    w.step(
        "LE2",
        "renders all addresses and the ClusterIP",
        async |w| {
            let cluster_ip = w.cluster_ip("testservice-ok").await;
            let mut wanted = POD_IPS.to_vec();
            wanted.push(&cluster_ip);
            w.legacy_config(|config| {
                routes(config, "gateway-1/gateway-1-listener-udp", &[ROUTE])?;
                routes(config, "gateway-1/gateway-1-listener-tcp", &[])?;
                cluster(config, ROUTE, "STATIC", &wanted)
            })
            .await;
        },
    )
    .await;

    w.step("LE3", "sets the route's status", async |w| {
        w.route("udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])?;
            let parent = &route["status"]["parents"][0]["parentRef"];
            same(&parent["namespace"], serde_json::Value::Null)
        })
        .await;
    })
    .await;

    w.step("LE4", "cleans up", async |w| {
        w.objects.delete(kinds::UDP_ROUTE, NS, "udproute-ok").await;
        w.objects.delete(kinds::GATEWAY, NS, "gateway-1").await;
        w.legacy_config(|config| {
            count(&config["listeners"], 0)?;
            count(&config["clusters"], 0)
        })
        .await;
    })
    .await;

    w.step("S2", "comes to rest and ends", async |w| {
        w.calm().await;
        w.stop_operator();
    })
    .await;
    w.finish();
}
