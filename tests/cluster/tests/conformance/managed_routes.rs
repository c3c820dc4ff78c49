//! Managed mode: StaticServices, and the official UDPRoute beside ours.

use cluster_tests::kinds::{self, Kind};
use serde_json::{Value, json};

use crate::expect::*;
use crate::fixtures::{self as given, NS, POD_IPS, ROUTE};
use crate::managed_endpoints::{TCP, UDP, all_backends};
use crate::managed_service::gateway_with;
use crate::world::World;

pub async fn run(w: &mut World, official: Kind) {
    static_services(w).await;
    official_routes(w, official).await;
}

async fn static_services(w: &mut World) {
    w.step(
        "M40",
        "routes to a StaticService and a Service",
        async |w| {
            w.apply(&given::dataplane("default")).await;
            w.apply(&mixed()).await;
            w.apply(&given::static_service()).await;
            let mut route = given::udp_route();
            route["spec"]["parentRefs"] = json!([{ "name": "gateway-1" }]);
            let backends = json!([given::static_backend(), { "name": "testservice-ok" }]);
            route["spec"]["rules"] = json!([{ "backendRefs": backends }]);
            w.apply(&route).await;
            w.config("gateway-1", |config| {
                routes(config, UDP, &[ROUTE])?;
                routes(config, TCP, &[ROUTE])
            })
            .await;
        },
    )
    .await;
    w.step("M41", "renders the backends of both", async |w| {
        backends(w, &["10.11.12.13", "10.11.12.14", "10.11.12.15"]).await;
    })
    .await;
    w.step("M42", "sets all statuses", async |w| {
        w.class("gatewayclass-ok", "True/Accepted").await;
        w.gateway("gateway-1", |live| {
            conditions(
                &live["status"],
                &[
                    ("Accepted", "True/Accepted"),
                    ("Programmed", "True/Programmed"),
                ],
            )?;
            listener_ok(live, "gateway-1-listener-udp")?;
            listener_ok(live, "gateway-1-listener-tcp")
        })
        .await;
        w.route("udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
    })
    .await;
    let more = ["10.11.12.13", "10.11.12.14", "10.11.12.15", "10.11.12.16"];
    w.step("M43", "survives a change of the StaticService", async |w| {
        let mut service = given::static_service();
        service["spec"]["prefixes"] = json!(more);
        w.apply(&service).await;
    })
    .await;
    w.step("M44", "renders its new prefix", async |w| {
        backends(w, &more).await
    })
    .await;
}

/// `gateway-1` as a NodePort Service that exposes both of its listeners.
pub fn mixed() -> Value {
    gateway_with(json!({
        given::SERVICE_TYPE: "NodePort",
        "stunner.l7mp.io/enable-mixed-protocol-lb": "true",
    }))
}

async fn backends(w: &World, prefixes: &[&str]) {
    let cluster_ip = w.cluster_ip("testservice-ok").await;
    let mut wanted = POD_IPS.to_vec();
    wanted.extend(prefixes);
    wanted.push(&cluster_ip);
    w.config("gateway-1", |config| {
        cluster(config, ROUTE, "STATIC", &wanted)
    })
    .await;
}

fn official_route(kind: Kind) -> Value {
    let mut route = given::udp_route();
    route["apiVersion"] = json!(kind.api_version());
    route["spec"]["rules"][0]["backendRefs"][0]["port"] = json!(1);
    route
}

async fn official_routes(w: &mut World, official: Kind) {
    w.step("M45", "renders an official UDPRoute", async |w| {
        w.objects.delete(kinds::UDP_ROUTE, NS, "udproute-ok").await;
        w.apply(&official_route(official)).await;
        // Its port is ignored: all ports of the backends are open.
        all_backends(w).await;
        w.object(official, "udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
    })
    .await;
    w.step("M46", "our route masks the official one", async |w| {
        w.apply(&given::udp_route()).await;
        w.object(official, "udproute-ok", |route| {
            parents(route, &[("gateway-1", "False/Pending")])
        })
        .await;
        w.route("udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
        all_backends(w).await;
        w.objects.delete(official, NS, "udproute-ok").await;
    })
    .await;
    w.step("M47", "comes to rest", async |w| w.calm().await)
        .await;
}
