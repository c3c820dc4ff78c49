//! A board for programs.

use serde_json::{Value, json};

use super::board::{Board, Counts, Flow, PodState, Tally};

/// One interval.
pub(super) fn value(board: &Board, at: &str) -> Value {
    let gateways = board.gateways.iter().map(|gateway| {
        let listeners = gateway.listeners.iter().map(|line| {
            let mut value = json!({ "name": line.name, "protocol": line.protocol });
            put(&mut value, &line.counts);
            value
        });
        let pods = gateway.pods.iter().map(|line| {
            let (state, remaining) = match line.state {
                PodState::Ready => ("ready", None),
                PodState::NotReady => ("not-ready", None),
                PodState::Draining(remaining) => ("draining", Some(remaining)),
                PodState::Silent => ("silent", None),
            };
            let mut value = json!({ "name": line.name, "state": state });
            if let Some(remaining) = remaining {
                value["drainRemaining"] = json!(remaining);
            }
            if line.state != PodState::Silent {
                put(&mut value, &line.counts);
            }
            value
        });
        let mut value = json!({ "gateway": gateway.name });
        put(&mut value, &gateway.counts);
        value["listeners"] = listeners.collect();
        value["pods"] = pods.collect();
        value
    });
    let silent = board.silent.iter();
    json!({
        "at": at,
        "intervalSeconds": board.interval.as_secs_f64(),
        "gateways": gateways.collect::<Vec<_>>(),
        "silent": silent.map(|silence| json!({ "name": silence.name, "error": silence.why })).collect::<Vec<_>>(),
    })
}

fn put(value: &mut Value, counts: &Counts) {
    value["allocations"] = json!(counts.allocations);
    value["packetsPerSecond"] = flow(counts.packets);
    value["bitsPerSecond"] = flow(counts.bits);
    value["denials"] = tally(counts.denials);
    if let Some(errors) = counts.errors {
        value["errors"] = tally(errors);
    }
    if let Some(dropped) = counts.dropped {
        value["dropped"] = tally(dropped);
    }
}

fn flow(flow: Option<Flow>) -> Value {
    match flow {
        Some(flow) => json!({ "in": flow.received, "out": flow.sent }),
        None => Value::Null,
    }
}

fn tally(tally: Tally) -> Value {
    json!({ "total": tally.total, "new": tally.fresh })
}
