//! Managed mode: two gateways of one class, then of two classes.

use cluster_tests::kinds;
use serde_json::{Value, json};

use crate::expect::*;
use crate::fixtures::{self as given, NS, OWNED_BY, RELATED_GATEWAY, ROUTE};
use crate::managed_deployment::{belongs_to, container, pod_labels};
use crate::managed_endpoints::config_is_gone;
use crate::managed_routes::mixed;
use crate::world::World;

const DISABLE: &str = "stunner.l7mp.io/disable-managed-dataplane";
const UDP_2: &str = "gateway-2/gateway-2-listener-udp";

pub async fn run(w: &mut World) {
    one_class(w).await;
    disabled_dataplane(w).await;
    two_classes(w).await;
    metadata_and_dataplanes(w).await;
}

fn gateway_2(listeners: Value) -> Value {
    let mut gateway = given::gateway("gateway-2", listeners);
    gateway["metadata"]["annotations"] = json!({ given::SERVICE_TYPE: "NodePort" });
    gateway
}

fn two_listeners() -> Value {
    json!([
        given::listener("gateway-2-listener-udp", "TURN-UDP", 10),
        given::listener("gateway-2-listener-invalid", "dummy", 3),
    ])
}

async fn one_class(w: &mut World) {
    w.step("M48", "survives loading a second gateway", async |w| {
        w.apply(&mixed()).await;
        w.apply(&gateway_2(two_listeners())).await;
        let mut route = given::udp_route();
        route["spec"]["parentRefs"] = json!([{ "name": "gateway-1" }, { "name": "gateway-2" }]);
        w.apply(&route).await;
    })
    .await;
    w.step(
        "M49",
        "the first gateway has its own listeners",
        async |w| {
            w.config("gateway-1", |config| {
                same(&config["admin"]["name"], "testnamespace/gateway-1")?;
                count(&config["listeners"], 2)?;
                routes(config, "gateway-1/gateway-1-listener-udp", &[ROUTE])?;
                routes(config, "gateway-1/gateway-1-listener-tcp", &[ROUTE])?;
                count(&config["clusters"], 1)
            })
            .await;
        },
    )
    .await;
    w.step(
        "M50",
        "the second gateway has its own listeners",
        async |w| {
            let first = w.config("gateway-1", |_| Ok(())).await;
            w.config("gateway-2", |config| {
                same(&config["admin"]["name"], "testnamespace/gateway-2")?;
                count(&config["listeners"], 1)?;
                same(&config["listeners"][0]["port"], 10)?;
                routes(config, UDP_2, &[ROUTE])?;
                same(&config["clusters"], first["clusters"].clone())
            })
            .await;
        },
    )
    .await;
    w.step("M51", "sets the GatewayClass status", async |w| {
        w.class("gatewayclass-ok", "True/Accepted").await;
    })
    .await;
    w.step("M52", "sets the first Gateway's status", async |w| {
        programmed(w, "gateway-1").await;
    })
    .await;
    w.step("M53", "sets the second Gateway's status", async |w| {
        w.gateway("gateway-2", |live| {
            conditions(
                &live["status"],
                &[("Accepted", "True"), ("Programmed", "False")],
            )?;
            listener_ok(live, "gateway-2-listener-udp")?;
            let invalid = named(&live["status"]["listeners"], "gateway-2-listener-invalid");
            conditions(invalid, &[("Accepted", "False/UnsupportedProtocol")])
        })
        .await;
    })
    .await;
    w.step("M54", "sets the route's status", async |w| {
        both_parents(w).await
    })
    .await;
    w.step("M55", "the first gateway has its Deployment", async |w| {
        w.deployment("gateway-1", |live| {
            belongs_to(live, "gateway-1")?;
            same(&live["metadata"]["labels"]["dummy-label"], "dummy-value")
        })
        .await;
    })
    .await;
    w.step("M56", "the second gateway has its Deployment", async |w| {
        w.deployment("gateway-2", |live| {
            belongs_to(live, "gateway-2")?;
            absent(&live["metadata"]["labels"]["dummy-label"])
        })
        .await;
    })
    .await;
}

async fn disabled_dataplane(w: &mut World) {
    w.step(
        "M57",
        "takes the Deployment away where it is not wanted",
        async |w| {
            let mut gateway = gateway_2(two_listeners());
            gateway["metadata"]["annotations"][DISABLE] = json!("true");
            w.apply(&gateway).await;
            w.gone(kinds::DEPLOYMENT, "gateway-2").await;
            // The config and the Service stay: somebody else runs the dataplane.
            w.config("gateway-2", |config| count(&config["listeners"], 1))
                .await;
            w.service("gateway-2", |_| Ok(())).await;
        },
    )
    .await;
    w.step("M58", "brings the Deployment back", async |w| {
        w.apply(&gateway_2(two_listeners())).await;
        w.deployment("gateway-2", |live| belongs_to(live, "gateway-2"))
            .await;
    })
    .await;
    w.step("M59", "survives the end of the second gateway", async |w| {
        w.objects.delete(kinds::GATEWAY, NS, "gateway-2").await;
        config_is_gone(w, "gateway-2").await;
        w.route("udproute-ok", |route| {
            parents(
                route,
                &[
                    ("gateway-1", "True/Accepted"),
                    ("gateway-2", "False/NoMatchingParent"),
                ],
            )
        })
        .await;
        collect_garbage(w, "gateway-2").await;
    })
    .await;
    w.step("M60", "comes to rest", async |w| w.calm().await)
        .await;
}

/// What Kubernetes' garbage collector does.
async fn collect_garbage(w: &World, gateway: &str) {
    for kind in [kinds::SERVICE, kinds::DEPLOYMENT] {
        w.objects.delete(kind, NS, gateway).await;
    }
}

fn second_class() -> [Value; 3] {
    let mut class = given::gateway_class();
    class["metadata"]["name"] = json!("gatewayclass-ok-2");
    class["spec"]["parametersRef"]["name"] = json!("gatewayconfig-ok-2");
    let mut config = given::gateway_config();
    config["metadata"]["name"] = json!("gatewayconfig-ok-2");
    config["spec"]["realm"] = json!("testrealm-2");
    config["spec"]["dataplane"] = json!("dataplane-2");
    [class, config, dataplane_2()]
}

fn dataplane_2() -> Value {
    let mut dataplane = given::dataplane("dataplane-2");
    dataplane["spec"] = json!({
        "image": "dummy-image", "imagePullPolicy": "Never", "command": ["dummy-command"],
        "hostNetwork": false,
    });
    dataplane
}

fn gateway_of_class_2() -> Value {
    let listeners = json!([given::listener("gateway-2-listener-udp", "UDP", 10)]);
    let mut gateway = gateway_2(listeners);
    gateway["spec"]["gatewayClassName"] = json!("gatewayclass-ok-2");
    gateway
}

async fn two_classes(w: &mut World) {
    w.step("M61", "survives loading a second class", async |w| {
        for object in second_class() {
            w.apply(&object).await;
        }
        w.apply(&gateway_of_class_2()).await;
    })
    .await;
    w.step("M62", "the first gateway has the first config", async |w| {
        w.config("gateway-1", |config| {
            same(&config["auth"]["realm"], "testrealm")?;
            count(&config["listeners"], 2)?;
            count(&config["clusters"], 1)
        })
        .await;
    })
    .await;
    w.step("M63", "the second gateway has the second", async |w| {
        w.config("gateway-2", |config| {
            same(&config["auth"]["realm"], "testrealm-2")?;
            count(&config["listeners"], 1)?;
            same(&config["listeners"][0]["protocol"], "TURN-UDP")?;
            same(&config["listeners"][0]["port"], 10)?;
            routes(config, UDP_2, &[ROUTE])
        })
        .await;
    })
    .await;
    w.step("M64", "the first class is accepted", async |w| {
        w.class("gatewayclass-ok", "True/Accepted").await;
    })
    .await;
    w.step("M65", "the second class is accepted", async |w| {
        w.class("gatewayclass-ok-2", "True/Accepted").await;
    })
    .await;
    w.step("M66", "the first gateway is programmed", async |w| {
        programmed(w, "gateway-1").await
    })
    .await;
    w.step("M67", "the second gateway is programmed", async |w| {
        programmed(w, "gateway-2").await
    })
    .await;
    w.step("M68", "sets the route's status", async |w| {
        both_parents(w).await
    })
    .await;
    w.step(
        "M69",
        "the first Deployment is of the first Dataplane",
        async |w| {
            first_deployment(w).await;
        },
    )
    .await;
    w.step("M70", "the second Deployment is of the second", async |w| {
        w.deployment("gateway-2", |live| {
            belongs_to(live, "gateway-2")?;
            same(&container(live)["image"], "dummy-image")?;
            same(&container(live)["command"], json!(["dummy-command"]))?;
            same(&container(live)["imagePullPolicy"], "Never")?;
            match &live["spec"]["template"]["spec"]["hostNetwork"] {
                Value::Null | Value::Bool(false) => Ok(()),
                other => Err(format!("hostNetwork is {other}")),
            }
        })
        .await;
    })
    .await;
    w.step("M71", "comes to rest", async |w| w.calm().await)
        .await;
}

async fn first_deployment(w: &World) {
    w.deployment("gateway-1", |live| {
        belongs_to(live, "gateway-1")?;
        same(&container(live)["image"], "testimage-1")?;
        same(&container(live)["command"], json!(["testcommand-1"]))?;
        same(&container(live)["imagePullPolicy"], "Always")?;
        same(&live["spec"]["template"]["spec"]["hostNetwork"], true)
    })
    .await;
}

async fn metadata_and_dataplanes(w: &mut World) {
    w.step("M72", "keeps foreign metadata, and its own", async |w| {
        let tampering = json!({
            "metadata": {
                "labels": { "foreign-label": "kept", RELATED_GATEWAY: "spoiled" },
                "annotations": { "foreign-annotation": "kept", RELATED_GATEWAY: "spoiled" },
            },
            "spec": { "template": { "metadata": { "annotations": { "foreign-annotation": "kept" } } } },
        });
        w.objects.merge(kinds::DEPLOYMENT, NS, "gateway-2", tampering).await;
        let mut gateway = gateway_of_class_2();
        gateway["metadata"]["labels"] = json!({ "gateway-label": "copied", OWNED_BY: "somebody" });
        gateway["metadata"]["annotations"]["gateway-annotation"] = json!("copied");
        gateway["metadata"]["annotations"][RELATED_GATEWAY] = json!("somebody");
        w.apply(&gateway).await;
        w.deployment("gateway-2", |live| {
            belongs_to(live, "gateway-2")?;
            let metadata = &live["metadata"];
            same(&metadata["labels"][RELATED_GATEWAY], "gateway-2")?;
            same(&metadata["labels"]["foreign-label"], "kept")?;
            same(&metadata["labels"]["gateway-label"], "copied")?;
            same(&metadata["annotations"]["foreign-annotation"], "kept")?;
            same(&metadata["annotations"]["gateway-annotation"], "copied")?;
            // Neither labels nor annotations of the Gateway reach the pods: changing one must not restart them.
            let template = &live["spec"]["template"]["metadata"];
            same(&template["labels"], pod_labels("gateway-2"))?;
            absent(&template["annotations"]["gateway-annotation"])?;
            // The Go operator removes this one, which takes `kubectl rollout restart` back.
            same(&template["annotations"]["foreign-annotation"], "kept")
        })
        .await;
    })
    .await;
    w.step("M73", "only users of a Dataplane follow it", async |w| {
        let before = w.objects.find(kinds::DEPLOYMENT, NS, "gateway-1").await;
        let generation = &before.unwrap_or_default()["metadata"]["generation"];
        let mut dataplane = dataplane_2();
        for (key, value) in pod_settings().as_object().into_iter().flatten() {
            dataplane["spec"][key] = value.clone();
        }
        w.apply(&dataplane).await;
        w.deployment("gateway-2", |live| {
            let pod = &live["spec"]["template"]["spec"];
            let wanted = pod_settings();
            same(&container(live)["image"], "dummy-image-2")?;
            same(&pod["imagePullSecrets"], wanted["imagePullSecrets"].clone())?;
            let spread = &pod["topologySpreadConstraints"][0];
            same(&spread["topologyKey"], "node")?;
            same(&pod["securityContext"]["runAsUser"], 1001)?;
            same(&container(live)["securityContext"]["runAsUser"], 1002)?;
            same(&pod["affinity"], wanted["affinity"].clone())
        })
        .await;
        w.calm().await;
        w.deployment("gateway-1", |live| {
            same(&live["metadata"]["generation"], generation.clone())
        })
        .await;
    })
    .await;
    w.step("M74", "cleans the second class up", async |w| {
        w.objects.delete(kinds::GATEWAY, NS, "gateway-2").await;
        config_is_gone(w, "gateway-2").await;
        collect_garbage(w, "gateway-2").await;
        w.objects
            .delete(kinds::GATEWAY_CLASS, "", "gatewayclass-ok-2")
            .await;
        w.objects
            .delete(kinds::GATEWAY_CONFIG, NS, "gatewayconfig-ok-2")
            .await;
        w.objects.delete(kinds::DATAPLANE, "", "dataplane-2").await;
        programmed(w, "gateway-1").await;
    })
    .await;
    w.step("M75", "cleans the first class up", async |w| {
        w.objects.delete(kinds::UDP_ROUTE, NS, "udproute-ok").await;
        w.objects.delete(kinds::GATEWAY, NS, "gateway-1").await;
        config_is_gone(w, "gateway-1").await;
        collect_garbage(w, "gateway-1").await;
        w.objects
            .delete(kinds::GATEWAY_CLASS, "", "gatewayclass-ok")
            .await;
        w.calm().await;
        assert!(
            w.objects
                .find(kinds::SERVICE, NS, "gateway-1")
                .await
                .is_none()
        );
        assert!(
            w.objects
                .find(kinds::DEPLOYMENT, NS, "gateway-1")
                .await
                .is_none()
        );
    })
    .await;
}

fn pod_settings() -> Value {
    json!({
        "image": "dummy-image-2",
        "imagePullSecrets": [{ "name": "pull-secret" }],
        "topologySpreadConstraints": [
            { "maxSkew": 1, "topologyKey": "node", "whenUnsatisfiable": "DoNotSchedule" },
        ],
        "securityContext": { "runAsUser": 1001 },
        "containerSecurityContext": { "runAsUser": 1002 },
        "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                { "matchExpressions": [{ "key": "kernel", "operator": "In", "values": ["new"] }] },
            ],
        }}},
    })
}

async fn programmed(w: &World, gateway: &str) {
    w.gateway(gateway, |live| {
        conditions(
            &live["status"],
            &[
                ("Accepted", "True/Accepted"),
                ("Programmed", "True/Programmed"),
            ],
        )?;
        listener_ok(live, &format!("{gateway}-listener-udp"))
    })
    .await;
}

async fn both_parents(w: &World) {
    w.route("udproute-ok", |route| {
        parents(
            route,
            &[
                ("gateway-1", "True/Accepted"),
                ("gateway-2", "True/Accepted"),
            ],
        )
    })
    .await;
}
