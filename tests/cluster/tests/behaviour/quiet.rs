//! Nothing is written when nothing differs.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, kinds, need};
use serde_json::json;

use crate::site::{Site, same};

#[tokio::test]
async fn an_operator_that_restarts_writes_nothing() {
    let test = "an_operator_that_restarts_writes_nothing";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "quiet").await;
    for name in ["one", "two"] {
        let mut gateway = site.gateway(name);
        gateway["metadata"]["labels"] = json!({ "team": name });
        gateway["metadata"]["annotations"] = json!({ "note": name });
        site.apply(gateway).await;
        site.route(name, name).await;
    }
    let mut operator = site.operator(&cluster).await;
    site.serve(&operator, "one").await;
    site.serve(&operator, "two").await;
    cluster.operator_is_calm(Duration::from_millis(800)).await;
    assert!(operator.stop().success());

    let mark = cluster.mark();
    operator.restart().await;
    site.discovered(&operator, "one", |config| same(&config["version"], "v1"))
        .await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let writes = cluster.operator_writes_since(mark);
    let writes = writes.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(writes.is_empty(), "{writes:#?}");
}

#[tokio::test]
async fn a_change_of_one_gateway_writes_nothing_of_another() {
    let test = "a_change_of_one_gateway_writes_nothing_of_another";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "apart").await;
    site.apply(site.gateway("changed")).await;
    site.apply(site.gateway("other")).await;
    let operator = site.operator(&cluster).await;
    site.serve(&operator, "changed").await;
    site.serve(&operator, "other").await;
    cluster.operator_is_calm(Duration::from_millis(800)).await;

    let mark = cluster.mark();
    let mut gateway = site.gateway("changed");
    gateway["spec"]["listeners"][0]["port"] = json!(5000);
    site.apply(gateway).await;
    site.object(kinds::SERVICE, "changed", |live| {
        same(&live["spec"]["ports"][0]["port"], 5000)?;
        // The Go operator leaves the old target port, on which nobody listens any more.
        same(&live["spec"]["ports"][0]["targetPort"], 5000)
    })
    .await;
    cluster.operator_is_calm(Duration::from_millis(500)).await;
    let writes = cluster.operator_writes_since(mark);
    let others = writes
        .iter()
        .filter(|write| write.name == "other" || write.resource == "deployments")
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    assert!(others.is_empty(), "{others:#?}");
}
