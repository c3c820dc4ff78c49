//! The operator keeps to its own: objects, statuses, fields.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, kinds, need, stays};
use serde_json::{Value, json};

use crate::site::{Site, conditions, message, same, uid};

#[tokio::test]
async fn parents_of_other_controllers_are_left_alone() {
    let test = "parents_of_other_controllers_are_left_alone";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "parents").await;
    site.apply(site.gateway("gw")).await;
    site.route("route", "gw").await;
    let foreign = json!({
        "controllerName": "example.test/other",
        "parentRef": {
            "group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "theirs",
        },
        "conditions": [{
            "type": "Accepted", "status": "True", "reason": "Accepted", "message": "theirs",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
        }],
    });
    let status = json!({ "parents": [foreign] });
    site.objects
        .merge_status(kinds::UDP_ROUTE, &site.name, "route", status)
        .await;
    let operator = site.operator(cluster).await;
    site.object(kinds::UDP_ROUTE, "route", |live| {
        let parents = live["status"]["parents"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let theirs = parents
            .iter()
            .find(|parent| parent["parentRef"]["name"] == "theirs");
        same(theirs.unwrap_or(&Value::Null), foreign.clone())?;
        let ours = parents
            .iter()
            .find(|parent| parent["parentRef"]["name"] == "gw");
        conditions(
            ours.unwrap_or(&Value::Null),
            &[("Accepted", "True/Accepted")],
        )
    })
    .await;

    // Statuses are withdrawn when the parent goes, and only ours.
    site.objects.delete(kinds::GATEWAY, &site.name, "gw").await;
    site.object(kinds::UDP_ROUTE, "route", |live| {
        same(&live["status"]["parents"], json!([foreign]))
    })
    .await;
    drop(operator);
}

#[tokio::test]
async fn a_service_of_somebody_else_is_left_alone_and_reported() {
    let test = "a_service_of_somebody_else_is_left_alone_and_reported";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "taken-name").await;
    site.apply(json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "gw", "namespace": site.name },
        "spec": { "selector": { "app": "theirs" }, "ports": [{ "port": 80, "protocol": "TCP" }] },
    }))
    .await;
    let theirs = site.objects.find(kinds::SERVICE, &site.name, "gw").await;
    let theirs = theirs.unwrap_or_default();
    let operator = site.operator(cluster).await;
    site.apply(site.gateway("gw")).await;
    site.object(kinds::GATEWAY, "gw", |live| {
        conditions(&live["status"], &[("Programmed", "False")])?;
        let told = message(&live["status"], "Programmed");
        if told.contains("taken-name/gw") {
            Ok(())
        } else {
            Err(told)
        }
    })
    .await;
    stays(
        "their Service is untouched",
        Duration::from_millis(500),
        async || {
            let live = site.objects.find(kinds::SERVICE, &site.name, "gw").await;
            let live = live.unwrap_or_default();
            same(
                &live["metadata"]["resourceVersion"],
                theirs["metadata"]["resourceVersion"].clone(),
            )
        },
    )
    .await;
    drop(operator);
}

#[tokio::test]
async fn what_others_add_to_our_objects_is_kept() {
    let test = "what_others_add_to_our_objects_is_kept";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "additions").await;
    site.apply(site.gateway("gw")).await;
    let operator = site.operator(cluster).await;
    site.serve(&operator, "gw").await;
    let deployment = site.object(kinds::DEPLOYMENT, "gw", |_| Ok(())).await;
    let owner = deployment["metadata"]["ownerReferences"][0].clone();

    let namespace = site.objects.find(kinds::NAMESPACE, "", &site.name).await;
    let namespace = uid(&namespace.unwrap_or_default());
    let second = json!({
        "apiVersion": "v1", "kind": "Namespace", "name": site.name, "uid": namespace,
    });
    let restarted = "2026-11-15T00:00:00Z";
    let addition = json!({
        "metadata": { "ownerReferences": [owner, second] },
        "spec": { "template": { "metadata": { "annotations": {
            "kubectl.kubernetes.io/restartedAt": restarted,
        }}}},
    });
    site.objects
        .merge(kinds::DEPLOYMENT, &site.name, "gw", addition)
        .await;
    let mut dataplane = site.dataplane();
    dataplane["spec"]["args"] = json!(["--changed"]);
    site.apply(dataplane).await;
    site.object(kinds::DEPLOYMENT, "gw", |live| {
        let template = &live["spec"]["template"];
        same(
            &template["spec"]["containers"][0]["args"],
            json!(["--changed"]),
        )?;
        // `kubectl rollout restart` must not be taken back: that would be a second restart.
        let annotations = &template["metadata"]["annotations"];
        same(&annotations["kubectl.kubernetes.io/restartedAt"], restarted)?;
        same(&live["metadata"]["ownerReferences"][1], second.clone())
    })
    .await;
    drop(operator);
}

#[tokio::test]
async fn a_deleted_gateway_leaves_nothing_behind() {
    let test = "a_deleted_gateway_leaves_nothing_behind";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let cluster = cluster.with_controller_manager().await;
    let site = Site::new(&cluster, "deleted").await;
    site.apply(site.gateway("gw")).await;
    site.route("route", "gw").await;
    let operator = site.operator(&cluster).await;
    site.serve(&operator, "gw").await;
    let watch = operator.cds().watch_gateway(&site.name, "gw").await;
    site.objects.delete(kinds::GATEWAY, &site.name, "gw").await;
    for kind in [kinds::SERVICE, kinds::DEPLOYMENT] {
        site.gone(kind, "gw").await;
    }
    cluster_tests::eventually("the last-good Secret is gone", async || {
        let secrets = site.objects.list(kinds::SECRET, "stunner-system").await;
        let kept = secrets
            .iter()
            .filter(|secret| secret["metadata"]["labels"]["stunner.l7mp.io/last-good"] == "true")
            .count();
        if kept == 0 {
            Ok(())
        } else {
            Err(format!("{kept} are left"))
        }
    })
    .await;
    // A dataplane that still runs is told by a config with nothing in it.
    cluster_tests::eventually("the deletion frame", async || {
        let last = watch.last().ok_or("no frame")?;
        same(&last["admin"]["name"], "deleted/gw")?;
        match last["listeners"].as_array() {
            None => Ok(()),
            Some(listeners) if listeners.is_empty() => Ok(()),
            Some(listeners) => Err(format!("{listeners:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn a_gateway_whose_class_is_gone_serves_on() {
    let test = "a_gateway_whose_class_is_gone_serves_on";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "class-gone").await;
    site.apply(site.gateway("gw")).await;
    let mut operator = site.operator(cluster).await;
    site.serve(&operator, "gw").await;
    let service = uid(&site.object(kinds::SERVICE, "gw", |_| Ok(())).await);
    site.objects
        .delete(kinds::GATEWAY_CLASS, "", "class-gone")
        .await;
    let serves = async |operator: &cluster_tests::Operator| {
        let cds = operator.cds();
        stays("it serves", Duration::from_millis(800), async || {
            let live = site.objects.find(kinds::SERVICE, &site.name, "gw").await;
            same(&uid(&live.unwrap_or_default()), service.clone())?;
            let workload = site.objects.find(kinds::DEPLOYMENT, &site.name, "gw").await;
            workload.ok_or("no Deployment")?;
            cds.config(&site.name, "gw").map(|_| ())
        })
        .await;
    };
    serves(&operator).await;
    operator.kill();
    operator.restart().await;
    site.discovered(&operator, "gw", |_| Ok(())).await;
    serves(&operator).await;
}

#[tokio::test]
async fn a_gateway_that_moves_to_another_controller_is_let_go() {
    let test = "a_gateway_that_moves_to_another_controller_is_let_go";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "moved").await;
    let mut theirs = site.class();
    theirs["metadata"]["name"] = json!("moved-theirs");
    theirs["spec"]["controllerName"] = json!("example.test/other");
    site.apply(theirs).await;
    site.apply(site.gateway("gw")).await;
    let operator = site.operator(cluster).await;
    site.serve(&operator, "gw").await;
    let mut gateway = site.gateway("gw");
    gateway["spec"]["gatewayClassName"] = json!("moved-theirs");
    site.apply(gateway).await;
    for kind in [kinds::SERVICE, kinds::DEPLOYMENT] {
        site.gone(kind, "gw").await;
    }
    cluster_tests::eventually("its config is gone", async || {
        match operator.cds().config(&site.name, "gw") {
            Err(error) if error.starts_with("404") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}
