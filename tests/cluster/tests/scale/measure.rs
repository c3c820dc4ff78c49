//! How long an EndpointSlice change takes to reach a dataplane, and what it costs the operator.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cluster_tests::{Cluster, Objects, Operator};

use crate::subscribers::Subscribers;
use crate::usage;
use crate::world::{self, ENDPOINTS, ROUTES};

/// Long enough for a window and what follows it to be over.
const BETWEEN: Duration = Duration::from_millis(30);
const IDLE: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub struct Measured {
    pub gateways: usize,
    pub subscribers: usize,
    pub changes: usize,
    window: Duration,
    /// From sending the change to the config at the subscriber, sorted.
    sent: Vec<Duration>,
    /// The same from the API server's answer.
    answered: Vec<Duration>,
    pub cpu_per_change: Duration,
    /// Share of one CPU while nothing happens.
    pub idle: f64,
    pub memory: f64,
    pub writes: usize,
}

impl Measured {
    /// That share of the changes took no longer than this beyond the debounce window.
    pub fn beyond_window(&self, percent: usize) -> Duration {
        quantile(&self.sent, percent).saturating_sub(self.window)
    }
}

/// One that no endpoint of this process has had: writing what is there already would change nothing.
fn fresh_address() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("10.251.{}.{}", number / 200, 1 + number % 200)
}

fn quantile(sorted: &[Duration], percent: usize) -> Duration {
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted[place.min(sorted.len() - 1)]
}

/// Changes the endpoints of random backends, one after the other.
pub async fn measure(
    cluster: &Cluster,
    objects: &Objects,
    operator: &Operator,
    (gateways, changes, window): (usize, usize, Duration),
) -> Measured {
    let mut subscribers = Subscribers::connect(operator.cds_port(), (0..gateways).collect()).await;
    let before = usage::cpu(operator.id());
    tokio::time::sleep(IDLE).await;
    let idle = (usage::cpu(operator.id()) - before).div_f64(IDLE.as_secs_f64());
    let mark = cluster.mark();
    let (mut sent, mut answered) = (Vec::new(), Vec::new());
    let (before, begun) = (usage::cpu(operator.id()), Instant::now());
    for change in 0..changes {
        // A walk that comes to every Gateway and backend in no obvious order.
        let (gateway, route) = (change * 7919 % gateways, change * 31 % ROUTES);
        let address = fresh_address();
        let start = Instant::now();
        world::move_endpoints(objects, gateway, route, &address).await;
        let answer = Instant::now();
        let arrival = subscribers.arrival(gateway, &address).await;
        sent.push(arrival - start);
        answered.push(arrival.saturating_duration_since(answer));
        tokio::time::sleep(BETWEEN + Duration::from_millis((change * 13 % 20) as u64)).await;
    }
    let spent = usage::cpu(operator.id()) - before;
    let spent = spent.saturating_sub(idle.mul_f64(begun.elapsed().as_secs_f64()));
    assert_eq!(subscribers.unasked(), 0, "configs that nothing asked for");
    sent.sort();
    answered.sort();
    Measured {
        gateways,
        subscribers: subscribers.count(),
        changes,
        window,
        sent,
        answered,
        cpu_per_change: spent / changes as u32,
        idle: idle.as_secs_f64(),
        memory: usage::memory(operator.id()),
        writes: cluster.operator_writes_since(mark).len(),
    }
}

pub const HEADING: &str = "\
| Gateways | routes | endpoints | subscribers | changes | window | p50 | p99 | max | p50 from answer | p99 from answer | CPU per change | CPU idle | memory | writes |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |";

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        let answered =
            |percent| millis(quantile(&self.answered, percent).saturating_sub(self.window));
        write!(
            f,
            "| {} | {} | {} | {} | {} | {:.0} ms | {:.1} ms | {:.1} ms | {:.1} ms | {:.1} ms | {:.1} ms | {:.2} ms | {:.2} % | {:.0} MiB | {} |",
            self.gateways,
            self.gateways * ROUTES,
            self.gateways * ROUTES * ENDPOINTS,
            self.subscribers,
            self.changes,
            millis(self.window),
            millis(self.beyond_window(50)),
            millis(self.beyond_window(99)),
            millis(self.beyond_window(100)),
            answered(50),
            answered(99),
            millis(self.cpu_per_change),
            self.idle * 100.0,
            self.memory,
            self.writes,
        )
    }
}
