//! Managed mode: the Service of a gateway, and its certificates.

use cluster_tests::{certificate, kinds};
use serde_json::{Value, json};

use crate::expect::*;
use crate::fixtures::{self as given, NS, OWNED_BY, RELATED_GATEWAY, SERVICE_TYPE};
use crate::legacy::{kept, tampering};
use crate::managed::at_node;
use crate::world::World;

const TRAFFIC_POLICY: &str = "stunner.l7mp.io/external-traffic-policy";
const NO_AFFINITY: &str = "stunner.l7mp.io/disable-session-affinity";
const MIXED: &str = "stunner.l7mp.io/enable-mixed-protocol-lb";
const NODE_PORT: &str = "stunner.l7mp.io/nodeport";
const TARGET_PORT: &str = "stunner.l7mp.io/targetport";

pub async fn run(w: &mut World) {
    types(w).await;
    metadata(w).await;
    ports(w).await;
    certificates(w).await;
}

fn config_with(annotations: Value) -> Value {
    let mut config = given::gateway_config();
    config["spec"]["loadBalancerServiceAnnotations"] = annotations;
    config
}

pub fn gateway_with(annotations: Value) -> Value {
    let mut gateway = given::gateway_1();
    gateway["metadata"]["annotations"] = annotations;
    gateway
}

async fn types(w: &mut World) {
    w.step(
        "M19",
        "follows the service type of the GatewayConfig",
        async |w| {
            let annotations = json!({ SERVICE_TYPE: "ClusterIP", TRAFFIC_POLICY: "local" });
            w.apply(&config_with(annotations)).await;
            w.service("gateway-1", |live| same(&live["spec"]["type"], "ClusterIP"))
                .await;
            // The Go operator leaves such a gateway without any address; in-cluster clients reach it at its ClusterIP.
            let cluster_ip = w.cluster_ip("gateway-1").await;
            w.config("gateway-1", |config| address(config, 0, &cluster_ip, 1))
                .await;
        },
    )
    .await;
    w.step(
        "M20",
        "a ClusterIP Service has no external traffic policy",
        async |w| {
            w.service("gateway-1", |live| {
                absent(&live["spec"]["externalTrafficPolicy"])
            })
            .await;
        },
    )
    .await;
    w.step("M21", "session affinity is on unless disabled", async |w| {
        w.service("gateway-1", |live| {
            same(&live["spec"]["sessionAffinity"], "ClientIP")
        })
        .await;
        w.apply(&gateway_with(json!({ NO_AFFINITY: "true" }))).await;
        w.service("gateway-1", |live| {
            same(&live["spec"]["sessionAffinity"], "None")
        })
        .await;
    })
    .await;
    w.step("M22", "the Gateway's service type wins", async |w| {
        w.apply(&config_with(
            json!({ SERVICE_TYPE: "dummy", TRAFFIC_POLICY: "local" }),
        ))
        .await;
        w.apply(&gateway_with(json!({ SERVICE_TYPE: "NodePort" })))
            .await;
        w.service("gateway-1", |live| same(&live["spec"]["type"], "NodePort"))
            .await;
        at_node(w, "1.2.3.4").await;
    })
    .await;
    w.step("M23", "the external traffic policy is back", async |w| {
        w.service("gateway-1", |live| {
            same(&live["spec"]["externalTrafficPolicy"], "Local")
        })
        .await;
    })
    .await;
}

fn annotated() -> Value {
    gateway_with(json!({
        SERVICE_TYPE: "NodePort", TRAFFIC_POLICY: "local",
        "someAnnotation": "dummy-1", "someOtherAnnotation": "dummy-2",
    }))
}

async fn metadata(w: &mut World) {
    w.step(
        "M24",
        "copies annotations of the Gateway to the Service",
        async |w| {
            w.apply(&config_with(json!({ TRAFFIC_POLICY: "dummy" })))
                .await;
            w.apply(&annotated()).await;
            w.service("gateway-1", |live| {
                let metadata = &live["metadata"];
                same(&metadata["annotations"][SERVICE_TYPE], "NodePort")?;
                same(&metadata["annotations"][TRAFFIC_POLICY], "local")?;
                same(&metadata["annotations"]["someAnnotation"], "dummy-1")?;
                same(&metadata["annotations"]["someOtherAnnotation"], "dummy-2")?;
                same(
                    &metadata["annotations"][RELATED_GATEWAY],
                    "testnamespace/gateway-1",
                )?;
                same(&metadata["labels"][OWNED_BY], "stunner")?;
                same(&live["spec"]["externalTrafficPolicy"], "Local")
            })
            .await;
        },
    )
    .await;
    w.step("M25", "keeps foreign labels and annotations", async |w| {
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
        "M26",
        "keeps the node port when annotations change",
        async |w| {
            let before = w.node_port("gateway-1", 0).await;
            w.apply(&gateway_with(
                json!({ SERVICE_TYPE: "NodePort", "someAnnotation": "new" }),
            ))
            .await;
            w.service("gateway-1", |live| {
                same(&live["metadata"]["annotations"]["someAnnotation"], "new")?;
                // Removed from the Gateway, so removed here; the Go operator keeps it.
                absent(&live["metadata"]["annotations"]["someOtherAnnotation"])?;
                count(&live["spec"]["ports"], 1)?;
                same(&live["spec"]["ports"][0]["nodePort"], before)?;
                same(&live["spec"]["externalTrafficPolicy"], "Cluster")?;
                kept(live)
            })
            .await;
        },
    )
    .await;
    w.step("M27", "comes to rest", async |w| w.calm().await)
        .await;
}

async fn ports(w: &mut World) {
    w.step("M28", "takes a node port from the annotation", async |w| {
        w.apply(&gateway_with(json!({
            SERVICE_TYPE: "NodePort", MIXED: "true",
            NODE_PORT: r#"{"gateway-1-listener-tcp":30123}"#,
        })))
        .await;
        w.service("gateway-1", |live| {
            let port = named(&live["spec"]["ports"], "gateway-1-listener-tcp");
            same(&port["nodePort"], 30123)
        })
        .await;
        w.config("gateway-1", |config| address(config, 1, "1.2.3.4", 30123))
            .await;
    })
    .await;
    w.step(
        "M29",
        "takes a target port from the annotation",
        async |w| {
            let mut gateway = gateway_with(json!({
                SERVICE_TYPE: "NodePort", MIXED: "true",
                TARGET_PORT: r#"{"gateway-1-listener-tcp":12345,"no-such-listener":1,"dummy":2}"#,
            }));
            let dummy = given::listener("dummy", "dummy", 3);
            gateway["spec"]["listeners"] = json!([given::udp(), given::tcp(), dummy]);
            w.apply(&gateway).await;
            w.service("gateway-1", |live| {
                count(&live["spec"]["ports"], 2)?;
                let port = named(&live["spec"]["ports"], "gateway-1-listener-tcp");
                same(&port["port"], 2)?;
                same(&port["targetPort"], 12345)
            })
            .await;
            w.config("gateway-1", |config| {
                count(&config["listeners"], 2)?;
                same(&config["listeners"][0]["port"], 1)?;
                same(&config["listeners"][1]["port"], 12345)
            })
            .await;
        },
    )
    .await;
}

async fn certificates(w: &mut World) {
    w.step(
        "M30",
        "leaves a listener without its Secret out",
        async |w| {
            w.apply(&with_dtls()).await;
            w.config("gateway-1", |config| {
                count(&config["listeners"], 2)?;
                same(&config["listeners"][0]["protocol"], "TURN-UDP")?;
                same(&config["listeners"][1]["protocol"], "TURN-TCP")
            })
            .await;
            w.gateway("gateway-1", |live| {
                listener_ok(live, "gateway-1-listener-udp")?;
                listener_ok(live, "gateway-1-listener-tcp")?;
                let dtls = named(&live["status"]["listeners"], "gateway-1-listener-dtls");
                conditions(dtls, &[("ResolvedRefs", "False/InvalidCertificateRef")])
            })
            .await;
        },
    )
    .await;
    w.step("M31", "installs certificate and key", async |w| {
        let (cert, key) = w.new_certificate("first").await;
        w.config("gateway-1", |config| {
            count(&config["listeners"], 3)?;
            let dtls = &config["listeners"][1];
            same(&dtls["protocol"], "TURN-DTLS")?;
            same(&dtls["cert"], cert.as_str())?;
            same(&dtls["key"], key.as_str())
        })
        .await;
        w.gateway("gateway-1", |live| {
            listener_ok(live, "gateway-1-listener-dtls")
        })
        .await;
    })
    .await;
    w.step("M32", "follows the Secret", async |w| {
        let next = certificate("second");
        w.tls_secret(&next.chain_pem, &next.key_pem).await;
        w.config("gateway-1", |config| {
            same(&config["listeners"][1]["cert"], next.cert_base64())?;
            same(&config["listeners"][1]["key"], next.key_base64())
        })
        .await;
    })
    .await;
}

/// UDP, DTLS and TCP listeners, in this order.
pub fn with_dtls() -> Value {
    let mut gateway = gateway_with(json!({ SERVICE_TYPE: "NodePort", MIXED: "true" }));
    gateway["spec"]["listeners"] = json!([given::udp(), given::dtls(3), given::tcp()]);
    gateway
}
