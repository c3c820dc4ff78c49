//! What is wrong is said where users look: status and Events.

use cluster_tests::{Cluster, GatewayApi, eventually, kinds, need};
use serde_json::json;

use crate::site::{Site, message, same};

#[tokio::test]
async fn a_class_with_bad_parameters_is_refused_by_name() {
    let test = "a_class_with_bad_parameters_is_refused_by_name";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "bad-class").await;
    let mut class = site.class();
    class["spec"]["parametersRef"]["kind"] = json!("ConfigMap");
    class["spec"]["parametersRef"]["group"] = json!("");
    site.apply(class).await;
    let operator = site.operator(cluster).await;
    let refused = [("Accepted", "False/InvalidParameters")];
    let live = site
        .conditions(kinds::GATEWAY_CLASS, "bad-class", &refused)
        .await;
    let told = message(&live["status"], "Accepted");
    assert!(told.contains("GatewayConfig"), "{told}");

    site.apply(site.class()).await;
    let accepted = [("Accepted", "True/Accepted")];
    let live = site
        .conditions(kinds::GATEWAY_CLASS, "bad-class", &accepted)
        .await;
    // GEP-2162: what an implementation supports, sorted.
    let features = live["status"]["supportedFeatures"].as_array();
    assert!(
        features.is_some_and(|list| !list.is_empty()),
        "{}",
        live["status"]
    );
    drop(operator);
}

#[tokio::test]
async fn a_node_port_that_the_api_server_refuses_is_reported_and_tried_again() {
    let test = "a_node_port_that_the_api_server_refuses_is_reported_and_tried_again";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "bad-port").await;
    let with_port = |port: u32| {
        let mut gateway = site.gateway("gw");
        gateway["metadata"]["annotations"] = json!({
            "stunner.l7mp.io/service-type": "NodePort",
            "stunner.l7mp.io/nodeport": format!(r#"{{"udp":{port}}}"#),
        });
        gateway
    };
    site.apply(with_port(80)).await;
    let operator = site.operator(cluster).await;
    let live = site
        .conditions(kinds::GATEWAY, "gw", &[("Programmed", "False")])
        .await;
    eventually("the API server's words on status", async || {
        let live = site.objects.find(kinds::GATEWAY, &site.name, "gw").await;
        let told = message(&live.unwrap_or_default()["status"], "Programmed");
        if told.contains("80") && told.contains("range") {
            Ok(())
        } else {
            Err(told)
        }
    })
    .await;
    eventually("an Event about the Gateway", async || {
        let events = site.objects.list(kinds::EVENT, &site.name).await;
        let found = events.iter().any(|event| {
            event["type"] == "Warning" && event["regarding"]["uid"] == live["metadata"]["uid"]
        });
        if found {
            Ok(())
        } else {
            Err(json!(events).to_string())
        }
    })
    .await;
    site.apply(with_port(30999)).await;
    site.object(kinds::SERVICE, "gw", |live| {
        same(&live["spec"]["ports"][0]["nodePort"], 30999)
    })
    .await;
    drop(operator);
}

#[tokio::test]
async fn labels_of_namespaces_are_followed() {
    let test = "labels_of_namespaces_are_followed";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "selected").await;
    let mut gateway = site.gateway("gw");
    gateway["spec"]["listeners"][0]["allowedRoutes"] = json!({ "namespaces": {
        "from": "Selector", "selector": { "matchLabels": { "turn": "yes" } },
    }});
    site.apply(gateway).await;
    site.route("route", "gw").await;
    let operator = site.operator(cluster).await;
    let accepted = |wanted: &'static str| {
        let site = &site;
        async move {
            site.object(kinds::UDP_ROUTE, "route", |live| {
                crate::site::conditions(&live["status"]["parents"][0], &[("Accepted", wanted)])
            })
            .await;
        }
    };
    accepted("False/NotAllowedByListeners").await;
    let label = json!({ "metadata": { "labels": { "turn": "yes" } } });
    site.objects
        .merge(kinds::NAMESPACE, "", &site.name, label)
        .await;
    accepted("True/Accepted").await;
    site.discovered(&operator, "gw", |config| {
        same(&config["listeners"][0]["routes"], json!(["selected/route"]))
    })
    .await;
}
