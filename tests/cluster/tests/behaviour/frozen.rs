//! An API server that keeps its connections and answers nothing.

use std::time::{Duration, Instant};

use cluster_tests::{Cluster, GatewayApi, Operator, kinds, need, stays};
use serde_json::json;

use crate::site::{Site, same};

/// Sends SIGTERM with writes pending that nobody answers; `stop` allows ten seconds.
async fn ends_in_time(name: &str, args: &[&str]) {
    let cluster = need!(name, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, name).await;
    let mut options = site.options();
    for arg in args {
        options = options.arg(arg);
    }
    let mut operator = Operator::start(&cluster, options).await;
    for number in 0..20 {
        site.apply(site.gateway(&format!("gw-{number}"))).await;
    }
    site.serve(&operator, "gw-0").await;
    for number in 0..20 {
        let mut gateway = site.gateway(&format!("gw-{number}"));
        gateway["spec"]["listeners"][0]["port"] = json!(4000);
        site.apply(gateway).await;
    }
    cluster.signal_apiserver(libc::SIGSTOP);
    let cds = operator.cds();
    stays("it serves", Duration::from_secs(1), async || {
        let config = cds.config(&site.name, "gw-0")?;
        same(&config["listeners"][0]["public_address"], "192.0.2.1")
    })
    .await;
    let (status, body) = operator.health("/healthz").expect("an answer");
    assert_eq!(status, 200, "{body}");
    assert!(operator.stop().success());
    cluster.signal_apiserver(libc::SIGCONT);
}

#[tokio::test]
async fn the_operator_ends_in_time_while_nobody_answers() {
    ends_in_time("frozen", &[]).await;
}

#[tokio::test]
async fn the_operator_ends_in_time_with_statuses_to_withdraw_and_a_lease_to_give_up() {
    let args = ["--leader-elect", "--enable-finalizer", "--finalizer-delete"];
    ends_in_time("frozen-finalizer", &args).await;
}

/// Many changes are few passes, and only what they touch is translated.
#[tokio::test]
async fn rapid_changes_are_dealt_with_together() {
    let test = "rapid_changes_are_dealt_with_together";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "rapid").await;
    for number in 0..10 {
        site.apply(site.gateway(&format!("gw-{number}"))).await;
    }
    site.route("route", "gw-0").await;
    let options = site.options().arg("--throttle-timeout=1s");
    let operator = Operator::start(&cluster, options).await;
    site.serve(&operator, "gw-0").await;
    let watch = operator.cds().watch_gateway(&site.name, "gw-0").await;
    cluster.operator_is_calm(Duration::from_millis(1500)).await;
    let read = |name: &str| {
        let page = operator.metrics().expect("metrics");
        let value = page.lines().find_map(|line| {
            let (key, value) = line.split_once(' ')?;
            (key == name).then(|| value.parse::<f64>().ok())?
        });
        value.unwrap_or_else(|| panic!("no {name} in\n{page}"))
    };
    let (renders, units) = (
        "stunner_gateway_operator_render_total",
        "stunner_gateway_operator_rendered_units_total",
    );
    let before = (read(renders), read(units), watch.frames().len());
    let mark = cluster.mark();
    let begun = Instant::now();
    for number in 0..60 {
        let prefixes = json!({ "spec": { "prefixes": [format!("10.9.{number}.0/24")] } });
        site.objects
            .merge(kinds::STATIC_SERVICE, &site.name, "route", prefixes)
            .await;
    }
    site.discovered(&operator, "gw-0", |config| {
        same(&config["clusters"][0]["endpoints"], json!(["10.9.59.0/24"]))
    })
    .await;
    let took = begun.elapsed();
    // Frames, counters and statuses are written one after the other.
    cluster.operator_is_calm(Duration::from_millis(1500)).await;
    let (passes, translated) = (read(renders) - before.0, read(units) - before.1);
    // There is a second between two of them, and a slow machine has time for more.
    let most = (took.as_secs_f64() + 2.0).max(8.0);
    assert!(
        (1.0..=most).contains(&passes),
        "{passes} passes for 60 changes in {took:?}"
    );
    assert!(
        translated <= passes * 3.0,
        "{translated} units in {passes} passes: class, route and one of ten Gateways"
    );
    let frames = watch.frames().len() - before.2;
    assert!(
        frames as f64 <= passes,
        "{frames} frames for {passes} passes"
    );
    let writes = cluster.operator_writes_since(mark);
    assert!(writes.is_empty(), "endpoints are on no status: {writes:?}");
}
