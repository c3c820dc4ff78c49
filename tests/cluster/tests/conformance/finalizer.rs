//! What is left when the operator ends.

use cluster_tests::{Cluster, GatewayApi, OperatorOptions, kinds, need};
use serde_json::Value;

use crate::expect::*;
use crate::fixtures::{self as given, NS};
use crate::managed_deployment::belongs_to;
use crate::managed_endpoints::{all_backends, config_is_gone, not_programmed, two_listeners};
use crate::world::{World, options};

fn finalizer() -> OperatorOptions {
    options("managed").arg("--enable-finalizer=true")
}

#[tokio::test]
async fn f_finalizer() {
    let cluster = need!(
        "f_finalizer",
        Cluster::start(GatewayApi::V1_6Standard).await
    );
    let mut w = World::new(cluster).await;
    w.step("S9", "starts with the finalizer on", async |w| {
        // Without the second flag workloads stay; the test below shows that.
        w.start_operator(finalizer().arg("--finalizer-delete=true"))
            .await;
    })
    .await;
    w.step("F1", "survives loading a minimal config", async |w| {
        load(w).await
    })
    .await;
    w.step("F2", "sets the GatewayClass status", async |w| {
        w.class("gatewayclass-ok", "True/Accepted").await;
    })
    .await;
    w.step("F3", "sets the Gateway status", async |w| {
        not_programmed(w).await
    })
    .await;
    w.step("F4", "survives adding a route", async |w| {
        w.apply(&given::udp_route()).await
    })
    .await;
    w.step("F5", "renders the config", async |w| {
        two_listeners(w).await;
        all_backends(w).await;
    })
    .await;
    w.step("F6", "sets the route's status", async |w| {
        w.route("udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
    })
    .await;
    w.step("F7", "there is a Deployment", async |w| {
        w.deployment("gateway-1", |live| belongs_to(live, "gateway-1"))
            .await;
    })
    .await;
    w.step("F8", "there is a Service", async |w| {
        w.service("gateway-1", |live| {
            let owner = &live["metadata"]["ownerReferences"][0];
            same(&owner["kind"], "Gateway")?;
            same(&owner["name"], "gateway-1")
        })
        .await;
    })
    .await;
    w.step("F9", "ends when asked to", async |w| {
        w.calm().await;
        w.stop_operator();
    })
    .await;
    w.step("F10", "the class is no longer accepted", async |w| {
        w.class("gatewayclass-ok", "False").await;
    })
    .await;
    w.step("F11", "the Gateway is no longer accepted", async |w| {
        withdrawn(w).await
    })
    .await;
    w.step("F12", "the route keeps its status", async |w| {
        w.route("udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
    })
    .await;
    w.step("F13", "the Deployment is gone", async |w| {
        w.gone(kinds::DEPLOYMENT, "gateway-1").await;
    })
    .await;
    w.step("F14", "the Service is gone", async |w| {
        w.gone(kinds::SERVICE, "gateway-1").await
    })
    .await;
    w.step("F15", "cleans up", async |w| {
        w.start_operator(finalizer()).await;
        w.class("gatewayclass-ok", "True/Accepted").await;
        w.deployment("gateway-1", |live| belongs_to(live, "gateway-1"))
            .await;
        w.objects.delete(kinds::UDP_ROUTE, NS, "udproute-ok").await;
        w.objects.delete(kinds::GATEWAY, NS, "gateway-1").await;
        config_is_gone(w, "gateway-1").await;
    })
    .await;
    w.step("S10", "comes to rest and ends", async |w| {
        w.calm().await;
        w.stop_operator();
    })
    .await;
    w.finish();
}

#[tokio::test]
async fn without_finalizer_delete_the_workloads_stay_when_the_operator_ends() {
    let test = "without_finalizer_delete_the_workloads_stay_when_the_operator_ends";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_0).await);
    let mut w = World::new(cluster).await;
    w.start_operator(finalizer()).await;
    load(&w).await;
    let uid = |live: Value| live["metadata"]["uid"].clone();
    let deployment = uid(w.deployment("gateway-1", |_| Ok(())).await);
    let service = uid(w.service("gateway-1", |_| Ok(())).await);
    w.class("gatewayclass-ok", "True/Accepted").await;
    w.stop_operator();
    w.class("gatewayclass-ok", "False").await;
    withdrawn(&w).await;
    w.deployment("gateway-1", |live| {
        same(&live["metadata"]["uid"], deployment.clone())
    })
    .await;
    w.service("gateway-1", |live| {
        same(&live["metadata"]["uid"], service.clone())
    })
    .await;
}

async fn load(w: &World) {
    given::load_base(&w.objects).await;
    for object in [
        given::dataplane("default"),
        given::endpoint_slice(),
        given::gateway_1(),
    ] {
        w.apply(&object).await;
    }
}

async fn withdrawn(w: &World) {
    w.gateway("gateway-1", |live| {
        conditions(
            &live["status"],
            &[("Accepted", "False"), ("Programmed", "False")],
        )?;
        for name in ["gateway-1-listener-udp", "gateway-1-listener-tcp"] {
            conditions(
                named(&live["status"]["listeners"], name),
                &[
                    ("Accepted", "Unknown"),
                    ("ResolvedRefs", "True"),
                    ("Conflicted", "False"),
                ],
            )?;
        }
        Ok(())
    })
    .await;
}
