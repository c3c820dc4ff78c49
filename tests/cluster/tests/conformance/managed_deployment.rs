//! Managed mode: the Deployment of a gateway.

use cluster_tests::{kinds, stays};
use serde_json::{Value, json};

use crate::expect::*;
use crate::fixtures::{self as given, NS, OWNED_BY, RELATED_GATEWAY};
use crate::managed_service::with_dtls;
use crate::world::{CALM, World};

pub async fn run(w: &mut World) {
    created(w).await;
    follows_the_dataplane(w).await;
}

/// Labels of the pods of a gateway, which are also what its Deployment selects.
pub fn pod_labels(gateway: &str) -> Value {
    json!({
        "app": "stunner",
        "stunner.l7mp.io/related-gateway-name": gateway,
        "stunner.l7mp.io/related-gateway-namespace": NS,
    })
}

/// The Deployment belongs to the gateway and selects its own pods.
pub fn belongs_to(live: &Value, gateway: &str) -> Found {
    let metadata = &live["metadata"];
    let owner = &metadata["ownerReferences"][0];
    same(&owner["kind"], "Gateway")?;
    same(&owner["name"], gateway)?;
    same(&metadata["labels"][OWNED_BY], "stunner")?;
    same(
        &metadata["annotations"][RELATED_GATEWAY],
        format!("{NS}/{gateway}"),
    )?;
    let selector = &live["spec"]["selector"];
    let template = &live["spec"]["template"]["metadata"]["labels"];
    for (key, value) in pod_labels(gateway).as_object().into_iter().flatten() {
        same(&template[key], value.clone())?;
        let by_label = selector["matchLabels"][key] == *value;
        let expressions = selector["matchExpressions"]
            .as_array()
            .into_iter()
            .flatten();
        let by_expression = expressions
            .into_iter()
            .any(|expression| expression["key"] == *key && expression["values"] == json!([value]));
        if !by_label && !by_expression {
            return Err(format!("{key} is not selected by {selector}"));
        }
    }
    Ok(())
}

pub fn container(live: &Value) -> &Value {
    &live["spec"]["template"]["spec"]["containers"][0]
}

async fn created(w: &mut World) {
    w.step("M33", "makes a Deployment", async |w| {
        w.deployment("gateway-1", |live| {
            belongs_to(live, "gateway-1")?;
            same(&live["metadata"]["labels"]["dummy-label"], "dummy-value")?;
            same(&live["spec"]["replicas"], 3)?;
            let template = &live["spec"]["template"];
            same(&template["metadata"]["labels"], pod_labels("gateway-1"))?;
            count(&template["spec"]["containers"], 1)?;
            same(&template["spec"]["terminationGracePeriodSeconds"], 60)?;
            same(&template["spec"]["hostNetwork"], true)?;
            let container = container(live);
            same(&container["name"], "stunner-daemon")?;
            same(&container["image"], "testimage-1")?;
            same(&container["imagePullPolicy"], "Always")?;
            same(&container["command"], json!(["testcommand-1"]))?;
            same(&container["args"], json!(["arg-1", "arg-2"]))?;
            same(&container["resources"]["limits"]["memory"], "10M")?;
            same(&container["resources"]["requests"]["cpu"], "250m")?;
            same(
                &named(&container["ports"], "metrics-port")["containerPort"],
                8080,
            )
        })
        .await;
    })
    .await;
    w.step(
        "M34",
        "does not hand on labels of deployment tools",
        async |w| {
            let mut gateway = with_dtls();
            gateway["metadata"]["labels"] = json!({
                "dummy-label": "dummy-value", "keep-me": "yes",
                "applyset.kubernetes.io/part-of": "a-set", "app.kubernetes.io/managed-by": "a-tool",
            });
            w.apply(&gateway).await;
            w.deployment("gateway-1", |live| {
                let labels = &live["metadata"]["labels"];
                same(&labels["keep-me"], "yes")?;
                absent(&labels["applyset.kubernetes.io/part-of"])?;
                absent(&labels["app.kubernetes.io/managed-by"])
            })
            .await;
        },
    )
    .await;
    w.step(
        "M35",
        "leaves a DaemonSet that it does not own alone",
        async |w| {
            // The Go operator deletes it, whoever it belongs to.
            w.calm().await;
            let live = w.objects.find(kinds::DAEMON_SET, NS, "gateway-1").await;
            assert!(live.is_some(), "somebody else's DaemonSet is gone");
            w.objects.delete(kinds::DAEMON_SET, NS, "gateway-1").await;
        },
    )
    .await;
}

async fn follows_the_dataplane(w: &mut World) {
    w.step("M36", "the config follows the Dataplane", async |w| {
        let mut dataplane = second_dataplane("default");
        dataplane["spec"]["replicas"] = json!(3);
        w.apply(&dataplane).await;
        w.config("gateway-1", |config| {
            same(&config["admin"]["metrics_endpoint"], "http://:8080/metrics")?;
            absent(&config["admin"]["healthcheck_endpoint"])
        })
        .await;
    })
    .await;
    w.step("M37", "the Deployment follows the Dataplane", async |w| {
        w.deployment("gateway-1", |live| {
            let container = container(live);
            same(&container["image"], "testimage-2")?;
            same(&container["command"], json!(["testcommand-2"]))?;
            same(&container["args"], json!(["arg-3"]))?;
            same(
                &named(&container["ports"], "metrics-port")["containerPort"],
                8080,
            )?;
            absent(&container["livenessProbe"])?;
            let template = &live["spec"]["template"];
            let mut labels = pod_labels("gateway-1");
            labels["dataplane-label"] = json!("yes");
            same(&template["metadata"]["labels"], labels)?;
            let annotations = &template["metadata"]["annotations"];
            same(&annotations["dataplane-annotation"], "yes")?;
            same(&annotations[RELATED_GATEWAY], "testnamespace/gateway-1")?;
            match &template["spec"]["hostNetwork"] {
                Value::Null | Value::Bool(false) => Ok(()),
                other => Err(format!("hostNetwork is {other}")),
            }
        })
        .await;
    })
    .await;
    w.step("M38", "comes to rest", async |w| w.calm().await)
        .await;
    w.step("M39", "keeps what a scaler set", async |w| {
        let mut dataplane = second_dataplane("default");
        dataplane["spec"]["replicas"] = json!(1);
        w.apply(&dataplane).await;
        // A changed number is applied, which the Go operator does for every number but 1.
        w.deployment("gateway-1", |live| same(&live["spec"]["replicas"], 1))
            .await;
        let scale = json!({ "spec": { "replicas": 4 } });
        w.objects
            .merge(kinds::DEPLOYMENT, NS, "gateway-1", scale)
            .await;
        dataplane["spec"]["args"] = json!(["arg-4"]);
        w.apply(&dataplane).await;
        w.deployment("gateway-1", |live| {
            same(&container(live)["args"], json!(["arg-4"]))
        })
        .await;
        stays("4 replicas", CALM, async || {
            let live = w.objects.find(kinds::DEPLOYMENT, NS, "gateway-1").await;
            same(&live.unwrap_or_default()["spec"]["replicas"], 4)
        })
        .await;
    })
    .await;
}

/// Differs from [`given::dataplane`] in everything that reaches the pods.
pub fn second_dataplane(name: &str) -> Value {
    let mut dataplane = given::dataplane(name);
    dataplane["spec"] = json!({
        "image": "testimage-2", "imagePullPolicy": "IfNotPresent",
        "command": ["testcommand-2"], "args": ["arg-3"],
        "labels": { "app": "not-ours", "dataplane-label": "yes" },
        "annotations": { "dataplane-annotation": "yes", RELATED_GATEWAY: "spoiled" },
        "enableMetricsEndpoint": true, "disableHealthCheck": true, "hostNetwork": false,
    });
    dataplane
}
