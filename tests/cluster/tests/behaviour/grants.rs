//! ReferenceGrants, where they are enforced.

use cluster_tests::{Cluster, GatewayApi, Operator, kinds, need};
use serde_json::{Value, json};

use crate::site::{Site, conditions, same};

fn backend_elsewhere(site: &Site) -> Value {
    json!({
        "apiVersion": "stunner.l7mp.io/v1", "kind": "UDPRoute",
        "metadata": { "name": "route", "namespace": site.name },
        "spec": {
            "parentRefs": [{ "name": "gw" }],
            "rules": [{ "backendRefs": [{
                "group": "stunner.l7mp.io", "kind": "StaticService",
                "name": "backend", "namespace": "granted",
            }]}],
        },
    })
}

fn grant(site: &Site) -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant",
        "metadata": { "name": "grant", "namespace": "granted" },
        "spec": {
            "from": [{ "group": "stunner.l7mp.io", "kind": "UDPRoute", "namespace": site.name }],
            "to": [{ "group": "stunner.l7mp.io", "kind": "StaticService" }],
        },
    })
}

#[tokio::test]
async fn a_backend_in_another_namespace_needs_a_grant_where_they_are_enforced() {
    let test = "a_backend_in_another_namespace_needs_a_grant_where_they_are_enforced";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "grants").await;
    site.apply(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "granted" },
    }))
    .await;
    site.apply(json!({
        "apiVersion": "stunner.l7mp.io/v1", "kind": "StaticService",
        "metadata": { "name": "backend", "namespace": "granted" },
        "spec": { "prefixes": ["10.9.9.9"] },
    }))
    .await;
    site.apply(site.gateway("gw")).await;
    site.apply(backend_elsewhere(&site)).await;
    let options = site.options().arg("--reference-grants=enforce");
    let mut operator = Operator::start(cluster, options).await;
    resolved(&site, "False/RefNotPermitted").await;
    endpoints(&site, &operator, json!([])).await;

    site.apply(grant(&site)).await;
    resolved(&site, "True/ResolvedRefs").await;
    endpoints(&site, &operator, json!(["10.9.9.9"])).await;

    site.objects
        .delete(kinds::REFERENCE_GRANT, "granted", "grant")
        .await;
    resolved(&site, "False/RefNotPermitted").await;
    assert!(operator.stop().success());

    // By default references cross namespaces freely, as they always did.
    let operator = site.operator(cluster).await;
    resolved(&site, "True/ResolvedRefs").await;
    endpoints(&site, &operator, json!(["10.9.9.9"])).await;
}

async fn resolved(site: &Site, wanted: &str) {
    site.object(kinds::UDP_ROUTE, "route", |live| {
        conditions(&live["status"]["parents"][0], &[("ResolvedRefs", wanted)])
    })
    .await;
}

async fn endpoints(site: &Site, operator: &Operator, wanted: Value) {
    site.discovered(operator, "gw", |config| {
        let found = config["clusters"][0]["endpoints"].as_array().cloned();
        same(&json!(found.unwrap_or_default()), wanted.clone())
    })
    .await;
}
