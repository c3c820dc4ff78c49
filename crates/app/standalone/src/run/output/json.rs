//! Events for programs.

use serde_json::{Value, json};
use stunner_api::NamespacedName;
use stunner_manifest::Problem;

use super::Stopped;
use crate::local::Sessions;
use crate::provider::{Change, Happened};
use crate::run::engine::Report;
use crate::run::servers::NotServed;
use crate::run::summary::Summary;

pub(super) fn ready(summary: &Summary) -> String {
    event("ready", members(summary))
}

/// Nothing can be served, and the conditions say why.
pub(super) fn not_ready(summary: &Summary, why: &str) -> String {
    let fields = json!({
        "severity": "error",
        "message": why,
        "gateways": summary.gateways,
        "unmet": summary.unmet,
    });
    event("problem", fields)
}

pub(super) fn changed(report: &Report, summary: &Summary) -> String {
    let Sessions { kept, draining } = report.sessions;
    let ended = report.ended + report.closed.values().sum::<u64>();
    let fields = json!({
        "objects": report.changes.iter().map(object).collect::<Vec<_>>(),
        "conditions": report.flips,
        "solved": report.solved_problems,
        "sessions": { "kept": kept, "draining": draining, "ended": ended },
        "closed": report.closed.iter().map(closed).collect::<Vec<_>>(),
        "gateways": summary.gateways,
    });
    event("changed", fields)
}

fn object(change: &Change) -> Value {
    json!({
        "change": match change.happened {
            Happened::Added => "added",
            Happened::Changed => "changed",
            Happened::Removed => "removed",
        },
        "kind": change.key.kind.to_string(),
        "namespace": change.key.name.namespace,
        "name": change.key.name.name,
    })
}

fn closed((gateway, ended): (&NamespacedName, &u64)) -> Value {
    json!({ "namespace": gateway.namespace, "name": gateway.name, "ended": ended })
}

pub(super) fn problem(problem: &Problem, held: Option<usize>) -> String {
    let mut fields = members(problem);
    if let (Some(held), Some(fields)) = (held, fields.as_object_mut()) {
        fields.insert("objectsKept".to_owned(), held.into());
    }
    event("problem", fields)
}

pub(super) fn no_server(problem: &NotServed) -> String {
    let fields = json!({
        "severity": "warning",
        "field": problem.flag(),
        "message": problem.to_string(),
        "hint": problem.hint(),
    });
    event("problem", fields)
}

pub(super) fn stopped(stopped: Stopped) -> String {
    event(
        "stopped",
        json!({ "signal": stopped.by, "drained": stopped.drained }),
    )
}

/// Of events that nobody read in time.
pub(super) fn lost(count: u64) -> String {
    let fields = json!({
        "severity": "warning",
        "message": match count {
            1 => "1 event was lost here: nobody read it in time".to_owned(),
            _ => format!("{count} events were lost here: nobody read them in time"),
        },
        "hint": "read standard output as it comes, or send it to a file",
    });
    event("problem", fields)
}

fn members(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// The name of the event first, as people read the lines too.
fn event(name: &str, fields: Value) -> String {
    let mut line = format!("{{\"event\":{}", Value::from(name));
    for (key, value) in fields.as_object().into_iter().flatten() {
        line.push_str(&format!(",{}:{value}", Value::from(key.as_str())));
    }
    line.push_str("}\n");
    line
}
