//! Legacy mode: changes of routes, credentials and gateways, and backends by endpoint discovery.

use cluster_tests::kinds;
use serde_json::{Value, json};

use crate::expect::*;
use crate::fixtures::{self as given, NS, POD_IPS, ROUTE};
use crate::legacy::{DTLS, UDP, node_port_gateway};
use crate::legacy_attachment::route_to;
use crate::world::{World, options};

pub async fn run(w: &mut World) {
    auth(w).await;
    routes_and_gateways(w).await;
    endpoint_discovery(w).await;
    relay_to_cluster_ip(w).await;
}

fn ephemeral() -> Value {
    let mut config = given::gateway_config();
    config["spec"] = json!({
        "realm": "testrealm", "authType": "timewindowed", "sharedSecret": "dummy",
        "logLevel": "testloglevel",
    });
    config
}

fn external() -> Value {
    let mut config = ephemeral();
    config["spec"]["authRef"] = json!({ "name": "testauthsecret-ok" });
    config
}

fn credentials(config: &Value, kind: &str, wanted: Value) -> Found {
    same(&config["auth"]["type"], kind)?;
    for (key, value) in wanted.as_object().into_iter().flatten() {
        same(&config["auth"]["credentials"][key], value.clone())?;
    }
    Ok(())
}

async fn auth(w: &mut World) {
    w.step(
        "L54",
        "follows a parentRef to an unknown section",
        async |w| {
            w.apply(&node_port_gateway(json!([given::udp(), given::dtls(2)])))
                .await;
            w.apply(&route_to(&["no-such-listener"])).await;
            w.legacy_config(|config| {
                count(&config["clusters"], 0)?;
                routes(config, UDP, &[])?;
                routes(config, DTLS, &[])
            })
            .await;
            w.route("udproute-ok", |route| {
                parents(route, &[("gateway-1", "False")])
            })
            .await;
        },
    )
    .await;
    w.step("L55", "follows the auth type", async |w| {
        w.apply(&ephemeral()).await;
        let wanted = json!({ "secret": "dummy" });
        w.legacy_config(|config| credentials(config, "ephemeral", wanted.clone()))
            .await;
    })
    .await;
    w.step("L56", "takes credentials from a Secret", async |w| {
        w.apply(&given::auth_secret()).await;
        let mut config = external();
        config["spec"]
            .as_object_mut()
            .expect("spec")
            .remove("sharedSecret");
        w.apply(&config).await;
        // A Secret without a type is static, whatever the config's own type says.
        let wanted = json!({ "username": "ext-testuser", "password": "ext-testpass" });
        w.legacy_config(|config| credentials(config, "static", wanted.clone()))
            .await;
    })
    .await;
    w.step(
        "L57",
        "the Secret wins over inline credentials",
        async |w| {
            w.apply(&external()).await;
            w.calm().await;
            let wanted = json!({ "username": "ext-testuser", "password": "ext-testpass" });
            w.legacy_config(|config| credentials(config, "static", wanted.clone()))
                .await;
        },
    )
    .await;
    w.step("L58", "follows the Secret", async |w| {
        let mut secret = given::auth_secret();
        secret["stringData"]["username"] = json!("new-testuser");
        w.apply(&secret).await;
        let wanted = json!({ "username": "new-testuser", "password": "ext-testpass" });
        w.legacy_config(|config| credentials(config, "static", wanted.clone()))
            .await;
    })
    .await;
    w.step("L59", "follows the Secret's type", async |w| {
        let mut secret = given::auth_secret();
        secret["stringData"]["type"] = json!("ephemeral");
        w.apply(&secret).await;
        let wanted = json!({ "secret": "ext-secret" });
        w.legacy_config(|config| credentials(config, "ephemeral", wanted.clone()))
            .await;
    })
    .await;
    w.step("L60", "survives a missing Secret", async |w| {
        w.objects
            .delete(kinds::SECRET, NS, "testauthsecret-ok")
            .await;
        // The Go operator empties the ConfigMap, which ends every call at the next restart of a pod. The last good
        // content stays, and the Gateway's status tells.
        w.gateway("gateway-1", |live| {
            conditions(&live["status"], &[("Accepted", "False/InvalidParameters")])
        })
        .await;
        w.calm().await;
        let wanted = json!({ "secret": "ext-secret" });
        w.legacy_config(|config| credentials(config, "ephemeral", wanted.clone()))
            .await;
    })
    .await;
    w.step("L61", "falls back to inline credentials", async |w| {
        w.apply(&ephemeral()).await;
        let wanted = json!({ "secret": "dummy" });
        w.legacy_config(|config| credentials(config, "ephemeral", wanted.clone()))
            .await;
        w.gateway("gateway-1", |live| {
            conditions(&live["status"], &[("Accepted", "True/Accepted")])
        })
        .await;
    })
    .await;
}

async fn routes_and_gateways(w: &mut World) {
    let mut udp = given::udp();
    udp["port"] = json!(1234);
    w.step("L62", "follows a listener's port", async |w| {
        w.apply(&node_port_gateway(json!([udp, given::dtls(2)])))
            .await;
        w.legacy_config(|config| same(&config["listeners"][0]["port"], 1234))
            .await;
    })
    .await;
    w.step("L63", "follows a route's backend", async |w| {
        let mut route = given::udp_route();
        route["spec"]["rules"] = json!([{ "backendRefs": [{ "name": "dummy" }] }]);
        w.apply(&route).await;
        // Without endpoint discovery the dataplane resolves the name; whether there is such a Service is not checked.
        let name = "dummy.testnamespace.svc.cluster.local";
        w.legacy_config(|config| cluster(config, ROUTE, "STRICT_DNS", &[name]))
            .await;
    })
    .await;
    w.step("L64", "takes another route in", async |w| {
        let mut route = route_to(&[
            "gateway-1-listener-udp",
            "no-such-listener",
            "gateway-1-listener-dtls",
        ]);
        route["metadata"]["name"] = json!("route-2");
        route["spec"]["rules"] = json!([{ "backendRefs": [{ "name": "one" }, { "name": "two" }] }]);
        w.apply(&route).await;
        w.legacy_config(|config| {
            routes(config, UDP, &[ROUTE, "testnamespace/route-2"])?;
            routes(config, DTLS, &["testnamespace/route-2"])?;
            let names =
                ["one", "two"].map(|name| format!("{name}.testnamespace.svc.cluster.local"));
            let names = names.each_ref().map(String::as_str);
            cluster(config, "testnamespace/route-2", "STRICT_DNS", &names)
        })
        .await;
    })
    .await;
    w.step("L65", "takes another gateway in", async |w| {
        let listeners = json!([
            given::listener("gateway-2-listener-udp", "TURN-UDP", 3),
            given::tls_listener("gateway-2-listener-dtls", "TURN-DTLS", 4),
        ]);
        w.apply(&given::gateway("gateway-2", listeners)).await;
        let mut route = given::udp_route();
        route["spec"]["parentRefs"] = json!([
            { "name": "gateway-1", "sectionName": "gateway-1-listener-udp" },
            { "name": "gateway-2", "sectionName": "gateway-2-listener-dtls" },
            { "name": "gateway-2", "sectionName": "no-such-listener" },
        ]);
        w.apply(&route).await;
        w.legacy_config(|config| {
            count(&config["listeners"], 4)?;
            routes(config, UDP, &[ROUTE, "testnamespace/route-2"])?;
            routes(config, DTLS, &["testnamespace/route-2"])?;
            routes(config, "gateway-2/gateway-2-listener-udp", &[])?;
            routes(config, "gateway-2/gateway-2-listener-dtls", &[ROUTE])
        })
        .await;
    })
    .await;
    w.step("L66", "cleans up", async |w| {
        clean_up(w, &["udproute-ok", "route-2"], &["gateway-1", "gateway-2"]).await;
    })
    .await;
    w.step("L67", "renders neither listener nor cluster", async |w| {
        w.legacy_config(|config| {
            count(&config["listeners"], 0)?;
            count(&config["clusters"], 0)
        })
        .await;
    })
    .await;
}

async fn clean_up(w: &World, routes: &[&str], gateways: &[&str]) {
    for route in routes {
        w.objects.delete(kinds::UDP_ROUTE, NS, route).await;
    }
    for gateway in gateways {
        w.objects.delete(kinds::GATEWAY, NS, gateway).await;
        // Kubernetes' garbage collector would do this.
        w.objects.delete(kinds::SERVICE, NS, gateway).await;
    }
}

/// A new operator renders the addresses of the EndpointSlices.
async fn pod_ips_only(w: &World) {
    w.apply(&given::gateway_1()).await;
    w.apply(&given::udp_route()).await;
    w.legacy_config(|config| {
        count(&config["clusters"], 1)?;
        count(&config["clusters"][0]["endpoints"], 4)
    })
    .await;
}

async fn endpoint_discovery(w: &mut World) {
    let off = ["--relay-to-cluster-ip=false"];
    w.step("L68", "discovers endpoints", async |w| {
        w.apply(&given::gateway_config()).await;
        w.apply(&given::endpoint_slice()).await;
        w.start_operator(options("legacy").arg(off[0])).await;
        pod_ips_only(w).await;
    })
    .await;
    w.step("L69", "renders pod addresses, ready or not", async |w| {
        w.legacy_config(|config| cluster(config, ROUTE, "STATIC", &POD_IPS))
            .await;
    })
    .await;
    w.step("L70", "sets the route's status", async |w| {
        w.route("udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
    })
    .await;
    w.step("L71", "the same with EndpointSlices asked for", async |w| {
        clean_up(w, &["udproute-ok"], &["gateway-1"]).await;
        w.legacy_config(|config| count(&config["clusters"], 0))
            .await;
        let options = options("legacy").arg(off[0]);
        w.start_operator(options.arg("--disable-endpointslice-controller=false"))
            .await;
        pod_ips_only(w).await;
    })
    .await;
    w.step("L72", "renders pod addresses, ready or not", async |w| {
        w.legacy_config(|config| cluster(config, ROUTE, "STATIC", &POD_IPS))
            .await;
    })
    .await;
    w.step("L73", "sets the route's status", async |w| {
        w.route("udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
    })
    .await;
}

async fn relay_to_cluster_ip(w: &mut World) {
    w.step("L74", "relays to the ClusterIP too", async |w| {
        w.start_operator(options("legacy")).await;
        let dummy = given::listener("gateway-1-listener-dummy", "dummy", 2);
        let mut gateway = given::gateway_1();
        gateway["spec"]["listeners"] = json!([given::udp(), dummy]);
        w.apply(&gateway).await;
        w.legacy_config(|config| {
            count(&config["listeners"], 1)?;
            count(&config["clusters"][0]["endpoints"], 5)
        })
        .await;
    })
    .await;
    w.step("L75", "which is the live one", async |w| {
        with_cluster_ip(w).await;
    })
    .await;
    w.step("L76", "moves the route to the TCP listener", async |w| {
        w.apply(&given::gateway_1()).await;
        w.apply(&route_to(&["gateway-1-listener-tcp"])).await;
        w.legacy_config(|config| {
            routes(config, UDP, &[])?;
            routes(config, "gateway-1/gateway-1-listener-tcp", &[ROUTE])
        })
        .await;
    })
    .await;
    w.step("L77", "with the same backends", async |w| {
        with_cluster_ip(w).await
    })
    .await;
    w.step(
        "L78",
        "a listener that the Service cannot expose has no address",
        async |w| {
            w.gateway("gateway-1", |live| {
                conditions(
                    &live["status"],
                    &[("Programmed", "False/AddressNotAssigned")],
                )?;
                listener_ok(live, "gateway-1-listener-udp")?;
                listener_ok(live, "gateway-1-listener-tcp")
            })
            .await;
            w.route("udproute-ok", |route| {
                parents(route, &[("gateway-1", "True/Accepted")])
            })
            .await;
        },
    )
    .await;
    w.step("L79", "cleans up", async |w| {
        clean_up(w, &["udproute-ok"], &["gateway-1"]).await;
        w.legacy_config(|config| {
            count(&config["listeners"], 0)?;
            count(&config["clusters"], 0)
        })
        .await;
    })
    .await;
}

async fn with_cluster_ip(w: &World) {
    let cluster_ip = w.cluster_ip("testservice-ok").await;
    let mut wanted = POD_IPS.to_vec();
    wanted.push(&cluster_ip);
    w.legacy_config(|config| cluster(config, ROUTE, "STATIC", &wanted))
        .await;
}
