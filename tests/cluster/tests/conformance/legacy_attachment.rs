//! Legacy mode: which listener takes which route.

use cluster_tests::kinds;
use serde_json::{Value, json};

use crate::expect::*;
use crate::fixtures::{self as given, NS, ROUTE};
use crate::legacy::{DTLS, UDP, node_port_gateway};
use crate::world::World;

const OTHER: &str = "dummy-namespace";
const FOREIGN: &str = "dummy-namespace/dummy-namespace-route";
const OWN_DNS: &str = "testservice-ok.testnamespace.svc.cluster.local";

pub async fn run(w: &mut World) {
    reload(w).await;
    parent_on_dtls(w).await;
    policy_all(w).await;
    policy_selector(w).await;
}

fn listeners() -> [Value; 2] {
    [given::udp(), given::dtls(2)]
}

async fn programmed(w: &World) {
    w.gateway("gateway-1", |live| {
        conditions(
            &live["status"],
            &[
                ("Accepted", "True/Accepted"),
                ("Programmed", "True/Programmed"),
            ],
        )?;
        listener_ok(live, "gateway-1-listener-udp")?;
        listener_ok(live, "gateway-1-listener-dtls")
    })
    .await;
}

async fn reload(w: &mut World) {
    w.step("L34", "renders a gateway that comes back", async |w| {
        w.apply(&node_port_gateway(json!(listeners()))).await;
        w.apply(&given::udp_route()).await;
        w.legacy_config(|config| {
            count(&config["listeners"], 2)?;
            count(&config["clusters"], 1)?;
            routes(config, UDP, &[ROUTE])
        })
        .await;
    })
    .await;
    w.step("L35", "with the right values", async |w| {
        w.legacy_config(|config| {
            routes(config, DTLS, &[])?;
            cluster(config, ROUTE, "STRICT_DNS", &[OWN_DNS])
        })
        .await;
    })
    .await;
    w.step("L36", "and statuses", async |w| {
        programmed(w).await;
        w.route("udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
    })
    .await;
}

async fn parent_on_dtls(w: &mut World) {
    w.step("L37", "moves a route to another listener", async |w| {
        w.apply(&route_to(&["gateway-1-listener-dtls"])).await;
        w.legacy_config(|config| routes(config, DTLS, &[ROUTE]))
            .await;
    })
    .await;
    w.step("L38", "and takes it off the first", async |w| {
        w.legacy_config(|config| {
            routes(config, UDP, &[])?;
            routes(config, DTLS, &[ROUTE])
        })
        .await;
    })
    .await;
    w.step("L39", "and says so on status", async |w| {
        programmed(w).await;
        w.route("udproute-ok", |route| {
            let parent = &route["status"]["parents"][0]["parentRef"];
            same(&parent["sectionName"], "gateway-1-listener-dtls")?;
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
    })
    .await;
}

async fn policy_all(w: &mut World) {
    w.step("L40", "survives a route in another namespace", async |w| {
        let mut route = given::udp_route();
        route["spec"]["parentRefs"] = json!([{ "name": "gateway-1" }]);
        w.apply(&route).await;
        w.apply(&json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": OTHER, "labels": { "testlabel": "dummy-value" } },
        }))
        .await;
        let mut route = given::udp_route();
        route["metadata"] = json!({ "name": "dummy-namespace-route", "namespace": OTHER });
        route["spec"]["parentRefs"] = json!([{ "name": "gateway-1", "namespace": NS }]);
        w.apply(&route).await;
    })
    .await;
    w.step("L41", "does not take it in by default", async |w| {
        foreign_route_is(w, "False/NotAllowedByListeners").await;
        w.legacy_config(|config| count(&config["clusters"], 1))
            .await;
    })
    .await;
    w.step("L42", "listeners have the own route only", async |w| {
        w.legacy_config(|config| {
            routes(config, UDP, &[ROUTE])?;
            routes(config, DTLS, &[ROUTE])
        })
        .await;
    })
    .await;
    w.step("L43", "the Gateway stays programmed", async |w| {
        programmed(w).await
    })
    .await;
    w.step(
        "L44",
        "the foreign route is told that it is not allowed",
        async |w| {
            w.route("udproute-ok", |route| {
                parents(route, &[("gateway-1", "True/Accepted")])
            })
            .await;
            foreign_route_is(w, "False/NotAllowedByListeners").await;
        },
    )
    .await;
    w.step(
        "L45",
        "survives opening a listener to all namespaces",
        async |w| {
            let [udp, mut dtls] = listeners();
            dtls["allowedRoutes"] = json!({ "namespaces": { "from": "All" } });
            w.apply(&node_port_gateway(json!([udp, dtls]))).await;
        },
    )
    .await;
    w.step("L46", "renders both clusters", async |w| {
        w.legacy_config(|config| {
            count(&config["clusters"], 2)?;
            routes(config, DTLS, &[ROUTE, FOREIGN])
        })
        .await;
    })
    .await;
    w.step(
        "L47",
        "a backend's namespace defaults to the route's",
        async |w| {
            w.legacy_config(|config| {
                routes(config, UDP, &[ROUTE])?;
                cluster(config, ROUTE, "STRICT_DNS", &[OWN_DNS])?;
                let name = "testservice-ok.dummy-namespace.svc.cluster.local";
                cluster(config, FOREIGN, "STRICT_DNS", &[name])
            })
            .await;
        },
    )
    .await;
    w.step("L48", "the foreign route is accepted", async |w| {
        programmed(w).await;
        foreign_route_is(w, "True/Accepted").await;
    })
    .await;
}

async fn policy_selector(w: &mut World) {
    w.step("L49", "survives changing to selectors", async |w| {
        let [mut udp, mut dtls] = listeners();
        udp["allowedRoutes"] = selector(json!({ "matchLabels": { "no-such-label": "anything" } }));
        let values = ["testvalue", "dummy-value"];
        dtls["allowedRoutes"] = selector(json!({ "matchExpressions": [
            { "key": "testlabel", "operator": "In", "values": values },
        ]}));
        w.apply(&node_port_gateway(json!([udp, dtls]))).await;
        w.apply(&route_to(&[
            "gateway-1-listener-udp",
            "gateway-1-listener-dtls",
        ]))
        .await;
    })
    .await;
    w.step("L50", "renders what the selectors take", async |w| {
        w.legacy_config(|config| {
            count(&config["clusters"], 2)?;
            routes(config, UDP, &[])?;
            routes(config, DTLS, &[ROUTE, FOREIGN])
        })
        .await;
    })
    .await;
    w.step("L51", "keeps the clusters", async |w| {
        w.legacy_config(|config| cluster(config, ROUTE, "STRICT_DNS", &[OWN_DNS]))
            .await;
    })
    .await;
    w.step("L52", "each parent has its own status", async |w| {
        w.route("udproute-ok", |route| {
            parents(
                route,
                &[
                    ("gateway-1", "False/NotAllowedByListeners"),
                    ("gateway-1", "True/Accepted"),
                ],
            )
        })
        .await;
        foreign_route_is(w, "True/Accepted").await;
    })
    .await;
    w.step(
        "L53",
        "survives the end of the other namespace",
        async |w| {
            w.objects
                .delete(kinds::UDP_ROUTE, OTHER, "dummy-namespace-route")
                .await;
            w.objects.delete(kinds::NAMESPACE, "", OTHER).await;
            w.legacy_config(|config| count(&config["clusters"], 1))
                .await;
        },
    )
    .await;
}

fn selector(selector: Value) -> Value {
    json!({ "namespaces": { "from": "Selector", "selector": selector } })
}

pub fn route_to(sections: &[&str]) -> Value {
    let mut route = given::udp_route();
    let parents = sections
        .iter()
        .map(|section| json!({ "name": "gateway-1", "sectionName": section }))
        .collect::<Vec<_>>();
    route["spec"]["parentRefs"] = json!(parents);
    route
}

async fn foreign_route_is(w: &World, accepted: &str) {
    w.object_in(OTHER, kinds::UDP_ROUTE, "dummy-namespace-route", |route| {
        parents(route, &[("gateway-1", accepted)])
    })
    .await;
}
