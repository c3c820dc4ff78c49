//! Many Gateways on one operator: how soon a dataplane hears of an EndpointSlice change, and that one change costs the
//! same however many Gateways there are.
//!
//! The full form, 1,000 Gateways with 5,000 routes and 20,000 endpoints, is `scripts/test scale`; what it found is in
//! `RESULTS.md`.

mod measure;
mod subscribers;
mod usage;
mod world;

use std::time::{Duration, Instant};

use cluster_tests::{Cluster, GatewayApi, Objects, Operator, OperatorOptions, need};
use interop_tests::skip::Missing;

use crate::measure::{HEADING, Measured, measure};
use crate::world::{CONTROLLER, grow, lay_foundations, rest};

const WINDOW: Duration = Duration::from_millis(10);

struct Site {
    // Dropped in this order: the operator before its API server.
    operator: Operator,
    objects: Objects,
    cluster: Cluster,
}

impl Site {
    async fn open() -> Result<Self, Missing> {
        let cluster = Cluster::start(GatewayApi::V1_6Standard).await?;
        let objects = cluster.objects().await;
        lay_foundations(&objects).await;
        let options = OperatorOptions::new(CONTROLLER).arg("--throttle-timeout=10ms");
        let operator = Operator::start(&cluster, options).await;
        Ok(Self {
            operator,
            objects,
            cluster,
        })
    }

    async fn measure(&self, gateways: usize, changes: usize, window: Duration) -> Measured {
        let what = (gateways, changes, window);
        let measured = measure(&self.cluster, &self.objects, &self.operator, what).await;
        eprintln!("{measured}");
        measured
    }

    /// Restarts the operator; how long until it serves, and what it then writes though nothing has changed.
    async fn restart(&mut self) -> (Duration, Vec<String>) {
        let status = self.operator.stop();
        assert!(status.success(), "{status}");
        let mark = self.cluster.mark();
        let begun = Instant::now();
        self.operator.restart().await;
        let ready = begun.elapsed();
        rest(&self.cluster).await;
        let writes = self.cluster.operator_writes_since(mark);
        (ready, writes.iter().map(ToString::to_string).collect())
    }
}

/// Measurements of which one has to be good: a machine that does other things adds to time and cost, and takes nothing
/// away.
const ATTEMPTS: usize = 3;

/// The cost of a change must not grow with the world: less than half as much again for ten times the Gateways, beside
/// what a loaded machine adds.
fn is_independent(small: &Measured, large: &Measured) -> Result<(), String> {
    let allowed = small.cpu_per_change.mul_f64(1.5) + Duration::from_millis(2);
    match large.cpu_per_change <= allowed {
        true => Ok(()),
        false => Err(format!(
            "a change costs {:?} at {} Gateways and {:?} at {}",
            small.cpu_per_change, small.gateways, large.cpu_per_change, large.gateways
        )),
    }
}

/// Ten times what is aimed at, and for nearly all: the fifty changes of a measurement are too few to leave out one in a
/// hundred.
fn is_soon(measured: &Measured) -> Result<(), String> {
    let late = measured.beyond_window(95);
    match late < Duration::from_millis(500) {
        true => Ok(()),
        false => Err(format!("{late:?}: {measured}")),
    }
}

impl Site {
    /// Measures until `judge` is content, or often enough.
    async fn measure_until(
        &self,
        gateways: usize,
        judge: impl Fn(&Measured) -> Result<(), String>,
    ) -> Measured {
        let mut bad = Vec::new();
        while bad.len() < ATTEMPTS {
            let measured = self.measure(gateways, 50, WINDOW).await;
            assert_eq!(measured.writes, 0, "endpoints are in no object of ours");
            assert!(measured.memory < 400.0, "{measured}");
            match judge(&measured) {
                Ok(()) => return measured,
                Err(why) => bad.push(why),
            }
        }
        panic!("{}", bad.join("\n"));
    }
}

#[tokio::test]
async fn a_change_reaches_its_dataplane_soon_and_costs_the_same_at_10_and_100_gateways() {
    let test = "a_change_reaches_its_dataplane_soon_and_costs_the_same_at_10_and_100_gateways";
    let mut site = need!(test, Site::open().await);
    grow(&site.cluster, &site.objects, 0, 10).await;
    let ten = site.measure_until(10, is_soon).await;
    grow(&site.cluster, &site.objects, 10, 100).await;
    let judge = |hundred: &Measured| is_soon(hundred).and(is_independent(&ten, hundred));
    site.measure_until(100, judge).await;
    let (_, writes) = site.restart().await;
    assert!(
        writes.is_empty(),
        "a restart alone writes:\n{}",
        writes.join("\n")
    );
}

#[tokio::test]
#[ignore = "takes ten minutes and a quiet machine: scripts/test scale"]
async fn a_thousand_gateways() {
    let test = "a_thousand_gateways";
    let mut site = need!(test, Site::open().await);
    let mut results = Vec::new();
    let mut starts = Vec::new();
    let mut before = 0;
    for gateways in [10, 100, 1000] {
        grow(&site.cluster, &site.objects, before, gateways).await;
        before = gateways;
        results.push(site.measure(gateways, 500, WINDOW).await);
        let (ready, writes) = site.restart().await;
        assert!(writes.is_empty(), "{}", writes.join("\n"));
        starts.push((gateways, ready));
    }
    // What is usual in production.
    let window = Duration::from_millis(250);
    site.operator.options().args = vec!["--throttle-timeout=250ms".to_owned()];
    site.restart().await;
    results.push(site.measure(1000, 200, window).await);

    println!("{HEADING}");
    for measured in &results {
        println!("{measured}");
    }
    for (gateways, ready) in starts {
        println!("restart with {gateways} Gateways: ready after {ready:.2?}, 0 writes");
    }
    for measured in &results {
        let late = measured.beyond_window(99);
        assert!(late < Duration::from_millis(50), "{measured}");
        assert_eq!(measured.writes, 0, "{measured}");
    }
    for pair in results[..3].windows(2) {
        is_independent(&pair[0], &pair[1]).expect("a cost that does not grow");
    }
}
