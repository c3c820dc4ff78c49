//! Objects that the API server takes although what they ask for cannot be made, or only with care.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, Operator, eventually, kinds, need};
use serde_json::{Value, json};

use crate::site::{Site, conditions, message, same};

/// A Gateway next to the odd one, which must be served as if nothing were wrong.
async fn neighbour_is_served(site: &Site, operator: &Operator) {
    site.apply(site.gateway("neighbour")).await;
    site.serve(operator, "neighbour").await;
}

#[tokio::test]
async fn a_gateway_whose_name_no_service_can_have_is_reported() {
    let test = "a_gateway_whose_name_no_service_can_have_is_reported";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "odd-name").await;
    // Gateways are named by DNS subdomains, Services by labels; and label values end at 63 characters.
    let long = "g".repeat(80);
    for name in ["dotted.name", &long] {
        site.apply(site.gateway(name)).await;
    }
    let operator = site.operator(cluster).await;
    neighbour_is_served(&site, &operator).await;
    for name in ["dotted.name", &long] {
        site.object(kinds::GATEWAY, name, |live| {
            conditions(&live["status"], &[("Programmed", "False")])?;
            let told = message(&live["status"], "Programmed");
            let says = told.contains("name") && told.contains("63")
                || told.contains(&format!("{}/{name}", site.name));
            if says { Ok(()) } else { Err(told) }
        })
        .await;
    }
}

#[tokio::test]
async fn a_listener_whose_name_no_service_port_can_have_is_served_or_reported() {
    let test = "a_listener_whose_name_no_service_port_can_have_is_served_or_reported";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "odd-listener").await;
    let long = "l".repeat(70);
    let mut gateway = site.gateway("gw");
    gateway["spec"]["listeners"] = json!([
        { "name": "turn.udp", "protocol": "TURN-UDP", "port": 3478 },
        { "name": long, "protocol": "TURN-UDP", "port": 3479 },
    ]);
    site.apply(gateway).await;
    let operator = site.operator(cluster).await;
    neighbour_is_served(&site, &operator).await;
    eventually("the odd gateway is served, or says why not", async || {
        let service = site.objects.find(kinds::SERVICE, &site.name, "gw").await;
        if let Some(service) = service {
            return same(&service["spec"]["ports"][1]["port"], 3479);
        }
        let live = site.objects.find(kinds::GATEWAY, &site.name, "gw").await;
        let told = message(&live.unwrap_or_default()["status"], "Programmed");
        if told.contains("turn.udp") {
            Ok(())
        } else {
            Err(told)
        }
    })
    .await;
}

#[tokio::test]
async fn conflicting_listeners_do_not_spoil_the_service() {
    let test = "conflicting_listeners_do_not_spoil_the_service";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "conflict").await;
    let mut gateway = site.gateway("gw");
    gateway["spec"]["listeners"] = json!([
        { "name": "first", "protocol": "TURN-UDP", "port": 3478 },
        { "name": "second", "protocol": "UDP", "port": 3478 },
    ]);
    site.apply(gateway).await;
    let operator = site.operator(cluster).await;
    site.object(kinds::SERVICE, "gw", |live| {
        same(&live["spec"]["ports"][0]["name"], "first")?;
        same(&live["spec"]["ports"][1], Value::Null)
    })
    .await;
    site.object(kinds::GATEWAY, "gw", |live| {
        let second = &live["status"]["listeners"][1];
        same(&second["name"], "second")?;
        conditions(second, &[("Accepted", "False"), ("Conflicted", "True")])
    })
    .await;
    site.discovered(&operator, "gw", |config| {
        let listeners = config["listeners"].as_array().map_or(0, Vec::len);
        same(&json!(listeners), 1)
    })
    .await;
}

#[tokio::test]
async fn a_service_type_that_cannot_be_counts_as_load_balancer_and_is_reported() {
    let test = "a_service_type_that_cannot_be_counts_as_load_balancer_and_is_reported";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "external-name").await;
    let mut gateway = site.gateway("gw");
    gateway["metadata"]["annotations"] = json!({ "stunner.l7mp.io/service-type": "ExternalName" });
    site.apply(gateway).await;
    let _operator = site.operator(cluster).await;
    site.object(kinds::SERVICE, "gw", |live| {
        same(&live["spec"]["type"], "LoadBalancer")
    })
    .await;
    site.object(kinds::GATEWAY, "gw", |live| {
        let conditions = live["status"]["conditions"].to_string();
        if conditions.contains("ExternalName") {
            Ok(())
        } else {
            Err(conditions)
        }
    })
    .await;
}

#[tokio::test]
async fn a_namespace_that_ends_is_not_written_to_over_and_over() {
    let test = "a_namespace_that_ends_is_not_written_to_over_and_over";
    // Without kube-controller-manager a deleted namespace stays as it is for good, and refuses new objects.
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "ending").await;
    let doomed = Site::new(&cluster, "doomed").await;
    let mut gateway = site.gateway("gw");
    gateway["metadata"]["namespace"] = json!("doomed");
    site.apply(gateway).await;
    site.objects.delete(kinds::NAMESPACE, "", "doomed").await;
    let operator = site.operator(&cluster).await;
    neighbour_is_served(&site, &operator).await;
    let mark = cluster.mark();
    tokio::time::sleep(Duration::from_secs(3)).await;
    // The neighbour may still be written to.
    let mut writes = cluster.operator_writes_since(mark);
    writes.retain(|write| write.namespace == "doomed");
    let writes = writes.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(writes.len() < 20, "{writes:#?}");
    drop(doomed);
}

#[tokio::test]
async fn a_gateway_config_of_the_old_version_is_read() {
    let test = "a_gateway_config_of_the_old_version_is_read";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "old-version").await;
    site.objects
        .delete(kinds::GATEWAY_CONFIG, &site.name, "old-version")
        .await;
    let mut config = site.config();
    config["apiVersion"] = json!("stunner.l7mp.io/v1alpha1");
    config["spec"]["authType"] = json!("plaintext");
    site.apply(config).await;
    site.apply(site.gateway("gw")).await;
    let operator = site.operator(cluster).await;
    site.discovered(&operator, "gw", |config| {
        same(&config["auth"]["type"], "static")?;
        same(&config["auth"]["realm"], "example.test")
    })
    .await;
}

#[tokio::test]
async fn a_gateway_that_is_being_deleted_keeps_what_it_has() {
    let test = "a_gateway_that_is_being_deleted_keeps_what_it_has";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "finalized").await;
    let mut gateway = site.gateway("gw");
    gateway["metadata"]["finalizers"] = json!(["example.test/hold"]);
    site.apply(gateway).await;
    let operator = site.operator(cluster).await;
    site.serve(&operator, "gw").await;
    site.objects.delete(kinds::GATEWAY, &site.name, "gw").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    // Somebody still holds it; what it owns goes with it, not before.
    assert!(
        site.objects
            .find(kinds::GATEWAY, &site.name, "gw")
            .await
            .is_some()
    );
    assert!(
        site.objects
            .find(kinds::SERVICE, &site.name, "gw")
            .await
            .is_some()
    );
    let release = json!({ "metadata": { "finalizers": null } });
    site.objects
        .merge(kinds::GATEWAY, &site.name, "gw", release)
        .await;
    eventually("its config is gone", async || {
        match operator.cds().config(&site.name, "gw") {
            Err(error) if error.starts_with("404") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}
