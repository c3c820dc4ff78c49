//! Legacy mode: addresses, the Service, certificates.

use cluster_tests::{Cluster, GatewayApi, kinds, need};
use serde_json::{Value, json};

use crate::expect::*;
use crate::fixtures::{self as given, NS, OWNED_BY, RELATED_GATEWAY, ROUTE, SERVICE_TYPE};
use crate::world::{World, options};

pub const UDP: &str = "gateway-1/gateway-1-listener-udp";
pub const DTLS: &str = "gateway-1/gateway-1-listener-dtls";

#[tokio::test]
async fn l_legacy_mode() {
    let cluster = need!(
        "l_legacy_mode",
        Cluster::start(GatewayApi::V1_6Standard).await
    );
    let mut w = World::new(cluster).await;
    w.step(
        "S3",
        "a second operator starts against the same cluster",
        async |w| {
            w.start_operator(options("legacy")).await;
            // `start_operator` stops the first one.
            let options = options("legacy")
                .arg("--endpoint-discovery=false")
                .arg("--relay-to-cluster-ip=false");
            w.start_operator(options).await;
        },
    )
    .await;
    minimal(&mut w).await;
    public_addresses(&mut w).await;
    service(&mut w).await;
    certificates(&mut w).await;
    static_service(&mut w).await;
    crate::legacy_attachment::run(&mut w).await;
    crate::legacy_dynamic::run(&mut w).await;
    w.step("S4", "comes to rest and ends", async |w| {
        w.calm().await;
        w.stop_operator();
    })
    .await;
    w.finish();
}

async fn minimal(w: &mut World) {
    w.step("L1", "survives loading a minimal config", async |w| {
        given::load_base(&w.objects).await;
        w.apply(&given::gateway_1()).await;
    })
    .await;
    w.step("L2", "the GatewayConfig can be read", async |w| {
        w.object(kinds::GATEWAY_CONFIG, "gatewayconfig-ok", |live| {
            same(&live["spec"]["realm"], "testrealm")
        })
        .await;
    })
    .await;
    w.step("L3", "renders a ConfigMap", async |w| {
        w.object(kinds::CONFIG_MAP, "stunnerd-config", |live| {
            same(&live["metadata"]["labels"][OWNED_BY], "stunner")?;
            match &live["metadata"]["annotations"][RELATED_GATEWAY] {
                Value::String(_) => Ok(()),
                other => Err(format!("{RELATED_GATEWAY} is {other}")),
            }
        })
        .await;
    })
    .await;
    w.step("L4", "the ConfigMap can be unpacked", async |w| {
        w.legacy_config(|config| same(&config["version"], "v1"))
            .await;
    })
    .await;
    w.step("L5", "has exactly 2 listeners", async |w| {
        w.legacy_config(|config| count(&config["listeners"], 2))
            .await;
    })
    .await;
    w.step("L6", "has the listeners' parameters", async |w| {
        w.legacy_config(|config| {
            let [udp, tcp] = [&config["listeners"][0], &config["listeners"][1]];
            same(
                &udp["name"],
                "testnamespace/gateway-1/gateway-1-listener-udp",
            )?;
            same(&udp["protocol"], "TURN-UDP")?;
            same(&udp["port"], 1)?;
            same(
                &tcp["name"],
                "testnamespace/gateway-1/gateway-1-listener-tcp",
            )?;
            same(&tcp["protocol"], "TURN-TCP")?;
            same(&tcp["port"], 2)
        })
        .await;
    })
    .await;
    w.step("L7", "sets the GatewayClass status", async |w| {
        w.class("gatewayclass-ok", "True/Accepted").await;
    })
    .await;
    w.step("L8", "sets the Gateway status", async |w| {
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
    })
    .await;
    w.step("L9", "survives adding a route", async |w| {
        w.apply(&given::udp_route()).await;
        w.legacy_config(|config| {
            count(&config["clusters"], 1)?;
            same(&config["clusters"][0]["type"], "STRICT_DNS")
        })
        .await;
    })
    .await;
    w.step("L10", "renders the new cluster", async |w| {
        w.legacy_config(|config| {
            routes(config, UDP, &[ROUTE])?;
            routes(config, "gateway-1/gateway-1-listener-tcp", &[])?;
            let name = "testservice-ok.testnamespace.svc.cluster.local";
            cluster(config, ROUTE, "STRICT_DNS", &[name])
        })
        .await;
    })
    .await;
    w.step("L11", "sets the route's status", async |w| {
        w.route("udproute-ok", |route| {
            parents(route, &[("gateway-1", "True/Accepted")])?;
            let parent = &route["status"]["parents"][0]["parentRef"];
            same(&parent["sectionName"], "gateway-1-listener-udp")
        })
        .await;
    })
    .await;
}

async fn public_addresses(w: &mut World) {
    w.step(
        "L12",
        "takes the public address from the Gateway",
        async |w| {
            let mut gateway = given::gateway_1();
            gateway["spec"]["addresses"] = json!([{ "type": "IPAddress", "value": "1.2.3.5" }]);
            w.apply(&gateway).await;
            w.legacy_config(|config| address(config, 0, "1.2.3.5", 1))
                .await;
        },
    )
    .await;
    w.step("L13", "falls back to NodePort", async |w| {
        w.apply(&given::gateway_1()).await;
        w.objects.set_node("testnode-ok", &node("1.2.3.4")).await;
        let port = w.node_port("gateway-1", 0).await;
        w.legacy_config(|config| address(config, 0, "1.2.3.4", port))
            .await;
    })
    .await;
    w.step("L14", "follows the node's external address", async |w| {
        w.objects.set_node("testnode-ok", &node("4.3.2.1")).await;
        let port = w.node_port("gateway-1", 0).await;
        w.legacy_config(|config| address(config, 0, "4.3.2.1", port))
            .await;
    })
    .await;
    w.step(
        "L15",
        "drops an external address that goes away",
        async |w| {
            let internal = [("InternalIP", "255.255.255.255")];
            w.objects.set_node("testnode-ok", &internal).await;
            w.legacy_config(|config| no_address(config, 0)).await;
        },
    )
    .await;
    w.step(
        "L16",
        "finds a new node with an external address",
        async |w| {
            w.objects.set_node("testnode-ok-2", &node("1.2.3.4")).await;
            let port = w.node_port("gateway-1", 0).await;
            w.legacy_config(|config| address(config, 0, "1.2.3.4", port))
                .await;
        },
    )
    .await;
    w.step(
        "L17",
        "follows the service type of the GatewayConfig",
        async |w| {
            let mut config = given::gateway_config();
            config["spec"]["loadBalancerServiceAnnotations"] = json!({ SERVICE_TYPE: "ClusterIP" });
            w.apply(&config).await;
            w.service("gateway-1", |live| same(&live["spec"]["type"], "ClusterIP"))
                .await;
            // The Go operator leaves such a gateway without any address and so never programmed; in-cluster clients reach it
            // at its ClusterIP, and so we publish that.
            let cluster_ip = w.cluster_ip("gateway-1").await;
            w.legacy_config(|config| address(config, 0, &cluster_ip, 1))
                .await;
        },
    )
    .await;
    w.step("L18", "the Gateway's annotation wins", async |w| {
        let mut gateway = given::gateway_1();
        gateway["metadata"]["annotations"] = json!({ SERVICE_TYPE: "NodePort" });
        w.apply(&gateway).await;
        w.service("gateway-1", |live| same(&live["spec"]["type"], "NodePort"))
            .await;
        let port = w.node_port("gateway-1", 0).await;
        w.legacy_config(|config| address(config, 0, "1.2.3.4", port))
            .await;
    })
    .await;
}

async fn service(w: &mut World) {
    w.step(
        "L19",
        "copies annotations of the Gateway to the Service",
        async |w| {
            w.apply(&annotated_gateway()).await;
            w.service("gateway-1", |live| {
                let metadata = &live["metadata"];
                same(&metadata["annotations"][SERVICE_TYPE], "NodePort")?;
                same(&metadata["annotations"]["someAnnotation"], "dummy-1")?;
                same(&metadata["annotations"]["someOtherAnnotation"], "dummy-2")?;
                same(&metadata["labels"][OWNED_BY], "stunner")
            })
            .await;
        },
    )
    .await;
    w.step("L20", "keeps foreign labels and annotations", async |w| {
        w.objects
            .merge(kinds::SERVICE, NS, "gateway-1", tampering())
            .await;
        w.service("gateway-1", |live| {
            same(
                &live["metadata"]["annotations"][RELATED_GATEWAY],
                "testnamespace/gateway-1",
            )?;
            kept(live)
        })
        .await;
    })
    .await;
    w.step(
        "L21",
        "keeps the node port when annotations change",
        async |w| {
            let before = w.node_port("gateway-1", 0).await;
            let mut gateway = annotated_gateway();
            gateway["metadata"]["annotations"]["someAnnotation"] = json!("new");
            w.apply(&gateway).await;
            w.service("gateway-1", |live| {
                same(&live["metadata"]["annotations"]["someAnnotation"], "new")?;
                count(&live["spec"]["ports"], 1)?;
                same(&live["spec"]["ports"][0]["nodePort"], before)?;
                kept(live)
            })
            .await;
        },
    )
    .await;
}

async fn certificates(w: &mut World) {
    w.step("L22", "installs certificate and key", async |w| {
        let (certificate, key) = w.new_certificate("first").await;
        w.apply(&node_port_gateway(json!([given::udp(), given::dtls(2)])))
            .await;
        w.legacy_config(|config| {
            count(&config["listeners"], 2)?;
            same(&config["listeners"][1]["protocol"], "TURN-DTLS")?;
            same(&config["listeners"][1]["cert"], certificate.as_str())?;
            same(&config["listeners"][1]["key"], key.as_str())
        })
        .await;
    })
    .await;
    w.step("L23", "follows the certificate in the Secret", async |w| {
        let (certificate, _) = w.new_certificate("second").await;
        w.legacy_config(|config| same(&config["listeners"][1]["cert"], certificate.as_str()))
            .await;
    })
    .await;
    w.step("L24", "follows the key in the Secret", async |w| {
        // The Go suite changes the key alone, which no certificate then matches. We serve the pair that worked until the
        // other half arrives.
        let before = w.legacy_config(|_| Ok(())).await;
        let next = cluster_tests::certificate("third");
        let merge = json!({ "stringData": { "tls.key": next.key_pem } });
        w.objects
            .merge(kinds::SECRET, NS, "testsecret-ok", merge)
            .await;
        w.gateway("gateway-1", |live| {
            let listener = named(&live["status"]["listeners"], "gateway-1-listener-dtls");
            conditions(listener, &[("ResolvedRefs", "False/InvalidCertificateRef")])
        })
        .await;
        w.legacy_config(|config| {
            same(
                &config["listeners"][1]["key"],
                before["listeners"][1]["key"].clone(),
            )
        })
        .await;
        w.tls_secret(&next.chain_pem, &next.key_pem).await;
        w.legacy_config(|config| same(&config["listeners"][1]["key"], next.key_base64()))
            .await;
    })
    .await;
    w.step("L25", "serves several TLS and DTLS listeners", async |w| {
        let listeners = json!([
            given::udp(),
            given::dtls(3),
            given::tls_listener("gateway-1-listener-tls", "TURN-TLS", 2),
            given::listener("gateway-1-listener-dummy", "dummy", 4),
        ]);
        w.apply(&node_port_gateway(listeners)).await;
        w.legacy_config(|config| {
            count(&config["listeners"], 3)?;
            for (index, protocol, port) in
                [(0, "TURN-UDP", 1), (1, "TURN-DTLS", 3), (2, "TURN-TLS", 2)]
            {
                same(&config["listeners"][index]["protocol"], protocol)?;
                same(&config["listeners"][index]["port"], port)?;
            }
            let cert = &config["listeners"][1]["cert"];
            same(&config["listeners"][2]["cert"], cert.clone())?;
            same(&json!(cert.is_string()), true)
        })
        .await;
    })
    .await;
    w.step("L26", "sets the Gateway status", async |w| {
        w.gateway("gateway-1", |live| {
            count(&live["status"]["listeners"], 4)?;
            for name in ["udp", "dtls", "tls"] {
                listener_ok(live, &format!("gateway-1-listener-{name}"))?;
            }
            let dummy = named(&live["status"]["listeners"], "gateway-1-listener-dummy");
            conditions(dummy, &[("Accepted", "False/UnsupportedProtocol")])?;
            conditions(&live["status"], &[("Programmed", "False")])
        })
        .await;
    })
    .await;
}

async fn static_service(w: &mut World) {
    w.step("L27", "routes to a StaticService", async |w| {
        w.apply(&given::static_service()).await;
        w.apply(&node_port_gateway(json!([given::udp(), given::dtls(2)])))
            .await;
        let mut route = given::udp_route();
        route["spec"]["parentRefs"] = json!([{ "name": "gateway-1" }]);
        route["spec"]["rules"] = json!([{ "backendRefs": [given::static_backend()] }]);
        w.apply(&route).await;
        w.legacy_config(|config| {
            routes(config, UDP, &[ROUTE])?;
            routes(config, DTLS, &[ROUTE])
        })
        .await;
    })
    .await;
    w.step("L28", "renders its prefixes", async |w| {
        let prefixes = ["10.11.12.13", "10.11.12.14", "10.11.12.15"];
        w.legacy_config(|config| cluster(config, ROUTE, "STATIC", &prefixes))
            .await;
    })
    .await;
    w.step("L29", "sets all statuses", async |w| {
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
            listener_ok(live, "gateway-1-listener-dtls")
        })
        .await;
        w.route("udproute-ok", |route| {
            absent(&route["status"]["parents"][0]["parentRef"]["sectionName"])?;
            parents(route, &[("gateway-1", "True/Accepted")])
        })
        .await;
    })
    .await;
    w.step("L30", "survives deleting the route", async |w| {
        w.objects.delete(kinds::UDP_ROUTE, NS, "udproute-ok").await;
    })
    .await;
    w.step("L31", "renders no cluster", async |w| {
        w.legacy_config(|config| {
            count(&config["listeners"], 2)?;
            count(&config["clusters"], 0)
        })
        .await;
    })
    .await;
    w.step("L32", "survives deleting the Gateway", async |w| {
        w.objects.delete(kinds::GATEWAY, NS, "gateway-1").await;
    })
    .await;
    w.step("L33", "renders neither listener nor cluster", async |w| {
        w.legacy_config(|config| {
            count(&config["listeners"], 0)?;
            count(&config["clusters"], 0)
        })
        .await;
    })
    .await;
}

/// Addresses of a node with this external one.
pub fn node(external: &str) -> [(&'static str, &str); 2] {
    [("InternalIP", "255.255.255.255"), ("ExternalIP", external)]
}

/// `gateway-1` as a NodePort Service with these listeners.
pub fn node_port_gateway(listeners: Value) -> Value {
    let mut gateway = given::gateway_1();
    gateway["metadata"]["annotations"] = json!({ SERVICE_TYPE: "NodePort" });
    gateway["spec"]["listeners"] = listeners;
    gateway
}

fn annotated_gateway() -> Value {
    let mut gateway = given::gateway_1();
    gateway["metadata"]["annotations"] = json!({
        SERVICE_TYPE: "NodePort", "someAnnotation": "dummy-1", "someOtherAnnotation": "dummy-2",
    });
    gateway
}

/// What other programs do to a Service: metadata of their own, and our annotation spoiled.
pub fn tampering() -> Value {
    json!({ "metadata": {
        "labels": { "foreign-label": "kept" },
        "annotations": { "foreign-annotation": "kept", RELATED_GATEWAY: "spoiled" },
    }})
}

pub fn kept(live: &Value) -> Found {
    same(&live["metadata"]["labels"]["foreign-label"], "kept")?;
    same(
        &live["metadata"]["annotations"]["foreign-annotation"],
        "kept",
    )
}
