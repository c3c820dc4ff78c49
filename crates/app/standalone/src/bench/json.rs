//! The result, for programs.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::problem::Problem;
use super::report::{Shape, histogram};
use super::tally::{Point, Tally};

/// The result as one object.
pub(super) fn result(shape: Shape<'_>, tally: &Tally) -> Value {
    let options = shape.options;
    let seconds = tally.seconds();
    let mut flows = Map::new();
    for (name, flow) in shape.flows(tally) {
        let rate = flow.received as f64 / seconds.max(1e-9);
        flows.insert(
            camel(name),
            json!({
                "sent": flow.sent,
                "received": flow.received,
                "lossPercent": flow.loss() * 100.0,
                "packetsPerSecond": rate,
                "bitsPerSecond": rate * options.size as f64 * 8.0,
            }),
        );
    }
    let failures = tally
        .failures()
        .into_iter()
        .map(|failure| json!({"error": failure.what, "sessions": failure.sessions}));
    let bars = histogram(tally)
        .into_iter()
        .map(|(bound, packets)| json!({"upToMs": millis(bound), "packets": packets}));
    json!({
        "server": shape.server,
        "transport": shape.transport.to_lowercase(),
        "seconds": seconds,
        "size": options.size,
        "rate": options.rate,
        "sessions": {
            "asked": tally.asked,
            "ready": tally.most_ready,
            "failed": failures.collect::<Vec<_>>(),
        },
        "flows": flows,
        "skipped": tally.measured.skipped,
        "latencyMs": latencies(tally),
        "histogram": bars.collect::<Vec<_>>(),
        "intervals": tally.points.iter().map(interval).collect::<Vec<_>>(),
    })
}

/// Why there is no result, as one object too.
pub(super) fn failure(problem: &Problem) -> Value {
    json!({ "error": problem.what, "hint": problem.hint })
}

fn latencies(tally: &Tally) -> Value {
    let latencies = tally.latencies();
    let at = |percent| latencies.percentile(percent).map(millis);
    json!({
        "mean": latencies.mean().map(millis),
        "p50": at(50.0),
        "p90": at(90.0),
        "p95": at(95.0),
        "p99": at(99.0),
        "p99.9": at(99.9),
        "max": latencies.max().map(millis),
    })
}

fn interval(point: &Point) -> Value {
    json!({
        "at": point.at.as_secs_f64(),
        "seconds": point.length.as_secs_f64(),
        "measured": point.is_measured,
        "sessions": point.ready,
        "sentPerSecond": point.sent_per_second(),
        "receivedPerSecond": point.received_per_second(),
        "p50Ms": point.p50.map(millis),
        "p99Ms": point.p99.map(millis),
    })
}

fn millis(latency: Duration) -> f64 {
    latency.as_nanos() as f64 / 1e6
}

/// `to peer` as a key.
fn camel(name: &str) -> String {
    let mut upper = false;
    let mut key = String::new();
    for letter in name.chars() {
        match letter {
            ' ' => upper = true,
            letter if upper => {
                key.extend(letter.to_uppercase());
                upper = false;
            }
            letter => key.push(letter),
        }
    }
    key
}
