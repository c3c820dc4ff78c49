//! Several operators: one writes, all serve config discovery.

use cluster_tests::{Cluster, GatewayApi, Operator, eventually, kinds, need};
use serde_json::json;

use crate::site::{Site, same};

const METRICS: [&str; 12] = [
    "render_total",
    "render_time_seconds",
    "update_total",
    "update_errors_total",
    "update_time_seconds",
    "resource_operations_total",
    "reconcile_events_total",
    "generation",
    "generation_last_acked",
    "operator_loop_last_active_timestamp_seconds",
    "renderer_loop_last_active_timestamp_seconds",
    "updater_loop_last_active_timestamp_seconds",
];

#[tokio::test]
async fn standbys_serve_config_discovery_and_one_takes_over() {
    let test = "standbys_serve_config_discovery_and_one_takes_over";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "replicas").await;
    let options = || site.options().arg("--leader-elect=true");
    let mut first = Operator::start(&cluster, options()).await;
    site.apply(site.gateway("gw")).await;
    site.serve(&first, "gw").await;

    let second = Operator::start(&cluster, options()).await;
    let (status, _) = second.health("/readyz").expect("an answer");
    assert_eq!(status, 200, "a standby is ready");
    let led = first
        .cds()
        .config(&site.name, "gw")
        .expect("the leader's config");
    site.discovered(&second, "gw", |config| same(config, led.clone()))
        .await;

    // A clean end gives the lease up, so that nobody waits for it to expire.
    assert!(first.stop().success());
    let mut gateway = site.gateway("gw");
    gateway["spec"]["listeners"][0]["port"] = json!(4000);
    site.apply(gateway).await;
    site.object(kinds::SERVICE, "gw", |live| {
        same(&live["spec"]["ports"][0]["port"], 4000)
    })
    .await;
}

#[tokio::test]
async fn the_probes_and_the_metrics_answer() {
    let test = "the_probes_and_the_metrics_answer";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "probes").await;
    let operator = site.operator(cluster).await;
    site.apply(site.gateway("gw")).await;
    site.object(kinds::SERVICE, "gw", |_| Ok(())).await;
    for path in ["/healthz", "/readyz"] {
        let (status, body) = operator.health(path).expect("an answer");
        assert_eq!(status, 200, "{path}: {body}");
    }
    eventually("the metrics", async || {
        let metrics = operator.metrics().map_err(|error| error.to_string())?;
        // Dashboards of the Go operator go by these names.
        let missing = METRICS.iter().find(|name| {
            let family = format!("# TYPE stunner_gateway_operator_{name} ");
            !metrics.contains(&family)
        });
        match missing {
            None => Ok(()),
            Some(name) => Err(format!("no {name} in\n{metrics}")),
        }
    })
    .await;
}
