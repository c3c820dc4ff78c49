//! A Dataplane runs its pods as a Deployment or as a DaemonSet.

use cluster_tests::{Cluster, GatewayApi, kinds, need};
use serde_json::json;

use crate::site::{Site, same, uid};

#[tokio::test]
async fn a_gateway_moves_between_deployment_and_daemon_set() {
    let test = "a_gateway_moves_between_deployment_and_daemon_set";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "workload-kind").await;
    site.apply(site.gateway("gw")).await;
    let operator = site.operator(cluster).await;
    site.serve(&operator, "gw").await;
    let service = uid(&site.object(kinds::SERVICE, "gw", |_| Ok(())).await);

    let mut dataplane = site.dataplane();
    dataplane["spec"]["dataplaneResource"] = json!("DaemonSet");
    site.apply(dataplane).await;
    site.object(kinds::DAEMON_SET, "gw", |live| {
        let pod = &live["spec"]["template"]["spec"];
        same(&pod["containers"][0]["image"], "example.test/stunnerd:1")?;
        same(&live["metadata"]["ownerReferences"][0]["name"], "gw")
    })
    .await;
    site.gone(kinds::DEPLOYMENT, "gw").await;

    site.apply(site.dataplane()).await;
    site.object(kinds::DEPLOYMENT, "gw", |_| Ok(())).await;
    site.gone(kinds::DAEMON_SET, "gw").await;
    site.object(kinds::SERVICE, "gw", |live| {
        same(&uid(live), service.clone())
    })
    .await;
}
