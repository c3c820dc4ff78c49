//! `--watch-namespaces`: an operator that looks at some namespaces only.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, Operator, kinds, need, stays};
use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn gateways_of_other_namespaces_are_not_touched() {
    let test = "gateways_of_other_namespaces_are_not_touched";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "inside").await;
    site.apply(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "outside" },
    }))
    .await;
    let mut outside = site.gateway("gw");
    outside["metadata"]["namespace"] = json!("outside");
    site.apply(outside).await;
    site.apply(site.gateway("gw")).await;
    let options = site
        .options()
        .arg("--watch-namespaces=inside,stunner-system");
    let operator = Operator::start(cluster, options).await;
    site.serve(&operator, "gw").await;
    let cds = operator.cds();
    stays(
        "nothing outside is served",
        Duration::from_millis(500),
        async || {
            if cds.config("outside", "gw").is_ok() {
                return Err("a config".to_owned());
            }
            match site.objects.find(kinds::SERVICE, "outside", "gw").await {
                None => Ok(()),
                Some(live) => Err(live["metadata"].to_string()),
            }
        },
    )
    .await;
}
