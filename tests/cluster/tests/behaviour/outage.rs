//! The API server goes away and comes back, or is not there yet.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, Operator, eventually, kinds, need, stays};
use serde_json::json;

use crate::site::{Site, same};

#[tokio::test]
async fn an_outage_of_the_api_server_harms_no_dataplane() {
    let test = "an_outage_of_the_api_server_harms_no_dataplane";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "outage").await;
    site.apply(site.gateway("gw")).await;
    site.route("route", "gw").await;
    let mut operator = site.operator(&cluster).await;
    site.serve(&operator, "gw").await;
    let watch = operator.cds().watch_gateway(&site.name, "gw").await;
    let config = site
        .discovered(&operator, "gw", |config| {
            same(&config["clusters"][0]["name"], "outage/route")
        })
        .await;
    eventually("the first frame", async || {
        watch.last().ok_or("none".to_owned())
    })
    .await;

    cluster.kill_apiserver();
    let cds = operator.cds();
    stays("the config is served", Duration::from_secs(2), async || {
        same(&cds.config(&site.name, "gw")?, config.clone())
    })
    .await;
    let (status, body) = operator.health("/healthz").expect("an answer");
    assert_eq!(status, 200, "a restart would help nobody: {body}");

    cluster.start_apiserver().await;
    let mut gateway = site.gateway("gw");
    gateway["spec"]["listeners"][0]["port"] = json!(4000);
    site.apply(gateway).await;
    site.discovered(&operator, "gw", |config| {
        same(&config["listeners"][0]["port"], 4000)
    })
    .await;
    site.object(kinds::SERVICE, "gw", |live| {
        same(&live["spec"]["ports"][0]["port"], 4000)
    })
    .await;
    assert!(!watch.closed(), "the subscription outlives the outage");
    for frame in watch.frames() {
        // What watches miss must not look like deletions.
        assert_eq!(frame["clusters"], config["clusters"]);
        assert_eq!(frame["auth"], config["auth"]);
    }
    assert!(operator.ended().is_none());
}

#[tokio::test]
async fn the_operator_ends_when_asked_while_the_api_server_is_away() {
    let test = "the_operator_ends_when_asked_while_the_api_server_is_away";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "away").await;
    site.apply(site.gateway("gw")).await;
    let options = site
        .options()
        .arg("--leader-elect=true")
        .arg("--enable-finalizer=true");
    let mut operator = Operator::start(&cluster, options).await;
    site.serve(&operator, "gw").await;
    cluster.kill_apiserver();
    // Within ten seconds, or `stop` panics.
    operator.stop();

    // Nor does one that starts now give up: it waits, and says that it is not ready.
    operator.relaunch();
    eventually("a probe that answers", async || {
        let (status, body) = operator
            .health("/readyz")
            .map_err(|error| error.to_string())?;
        same(&json!(status), 503).map_err(|error| format!("{error}: {body}"))
    })
    .await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(operator.ended().is_none());
    cluster.start_apiserver().await;
    operator.ready().await;
    site.discovered(&operator, "gw", |config| same(&config["version"], "v1"))
        .await;
}

#[tokio::test]
async fn an_operator_waits_for_its_definitions() {
    let test = "an_operator_waits_for_its_definitions";
    let cluster = need!(test, Cluster::start_empty().await);
    let options = cluster_tests::OperatorOptions::new("stunner.l7mp.io/early");
    let mut operator = Operator::launch(&cluster, options);
    eventually("a probe that answers", async || {
        let (status, body) = operator
            .health("/readyz")
            .map_err(|error| error.to_string())?;
        same(&json!(status), 503).map_err(|error| format!("{error}: {body}"))
    })
    .await;
    eventually("what it waits for", async || {
        let (_, body) = operator
            .health("/readyz")
            .map_err(|error| error.to_string())?;
        match body.contains("Gateway") {
            true => Ok(()),
            false => Err(body),
        }
    })
    .await;
    let (status, _) = operator.health("/healthz").expect("an answer");
    assert_eq!(status, 200, "it is alive");
    assert!(operator.ended().is_none(), "it waits");
    cluster.install(GatewayApi::V1_6Standard).await;
    operator.ready().await;
    let site = Site::new(&cluster, "early").await;
    site.apply(site.gateway("gw")).await;
    site.serve(&operator, "gw").await;
}

/// Outside a cluster that nothing was installed into there is no `stunner-system`.
#[tokio::test]
async fn the_operators_namespace_is_made_where_it_is_missing() {
    let test = "the_operators_namespace_is_made_where_it_is_missing";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "homeless").await;
    site.apply(site.gateway("gw")).await;
    let options = site
        .options()
        .arg("--leader-elect")
        .env("POD_NAMESPACE", "operators-home");
    let operator = Operator::start(cluster, options).await;
    site.serve(&operator, "gw").await;
    let home = site
        .objects
        .find(kinds::NAMESPACE, "", "operators-home")
        .await;
    assert!(home.is_some());
    let lease = site
        .objects
        .find(kinds::LEASE, "operators-home", "92062b70.l7mp.io");
    assert!(lease.await.is_some(), "the Lease lives there");
    let last_good = site.objects.list(kinds::SECRET, "operators-home").await;
    let stored = last_good
        .iter()
        .any(|secret| secret["metadata"]["labels"]["stunner.l7mp.io/last-good"] == "true");
    assert!(stored, "{last_good:?}");
}
