//! The official UDPRoute is found at run time, also when its CRD arrives after the operator.

use cluster_tests::{Cluster, GatewayApi, eventually, kinds, need};
use serde_json::{Value, json};

use crate::site::{Site, conditions, same};

#[tokio::test]
async fn the_official_udproute_is_served_once_its_crd_arrives() {
    let test = "the_official_udproute_is_served_once_its_crd_arrives";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let objects = cluster.objects().await;
    let name = "udproutes.gateway.networking.k8s.io";
    let crd = objects.find(kinds::CRD, "", name).await.unwrap_or_default();
    objects.delete(kinds::CRD, "", name).await;
    eventually("the CRD is gone", async || {
        match objects.find(kinds::CRD, "", name).await {
            None => Ok(()),
            Some(live) => Err(live["status"].to_string()),
        }
    })
    .await;

    let site = Site::new(&cluster, "late").await;
    site.apply(site.gateway("gw")).await;
    site.route("ours", "gw").await;
    let operator = site.operator(&cluster).await;
    site.discovered(&operator, "gw", |config| {
        same(&config["clusters"][0]["name"], "late/ours")
    })
    .await;

    site.apply(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": name, "annotations": crd["metadata"]["annotations"] },
        "spec": without_defaults(&crd["spec"]),
    }))
    .await;
    let route = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "UDPRoute",
        "metadata": { "name": "official", "namespace": "late" },
        "spec": {
            "parentRefs": [{ "name": "gw" }],
            "rules": [{ "backendRefs": [{ "name": "no-such-service", "port": 1 }] }],
        },
    });
    eventually("the API server takes an official route", async || {
        let applied = site.objects.try_apply_object(&route).await;
        applied.map_err(|refused| format!("{refused:?}"))
    })
    .await;
    site.object(kinds::OFFICIAL_UDP_ROUTE, "official", |live| {
        let wanted = [
            ("Accepted", "True"),
            ("ResolvedRefs", "False/BackendNotFound"),
        ];
        conditions(&live["status"]["parents"][0], &wanted)
    })
    .await;
    site.discovered(&operator, "gw", |config| {
        let routes = config["listeners"][0]["routes"]
            .as_array()
            .map_or(0, Vec::len);
        same(&json!(routes), 2)
    })
    .await;
}

/// A stored CRD carries fields that only the API server writes.
fn without_defaults(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("conversion");
    }
    spec
}
