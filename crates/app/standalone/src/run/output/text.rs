//! Sentences and tables for people.

use stunner_api::names::condition as kind;
use stunner_manifest::Problem;

use super::Stopped;
use super::table::table;
use crate::local::Sessions;
use crate::provider::{Change, Happened};
use crate::run::engine::{Flip, Report, is_good};
use crate::run::summary::{Condition, Summary};

/// More changes of one kind than this are counted, not listed.
const LISTED: usize = 12;

/// Gateways and listeners, and what keeps them from being as they should.
pub(super) fn conditions(summary: &Summary) -> String {
    let unmet = unmet(summary);
    if summary.gateways.is_empty() {
        return unmet;
    }
    format!("{}\n{}{unmet}", gateways(summary), listeners(summary))
}

pub(super) fn ready(summary: &Summary) -> String {
    let mut text = conditions(summary);
    if !summary.ice_servers.is_empty() {
        let servers = serde_json::json!({ "iceServers": summary.ice_servers });
        let servers = serde_json::to_string_pretty(&servers).unwrap_or_default();
        text.push_str(&format!("\nICE servers for your page:\n{servers}\n"));
    }
    let urls = &summary.urls;
    let mut gap = "\n";
    for (name, url) in [
        ("Console", &urls.console),
        ("Health", &urls.health),
        ("Metrics", &urls.metrics),
        ("Admin API", &urls.admin),
    ] {
        if let Some(url) = url {
            text.push_str(&format!("{gap}{name:<12}{url}\n"));
            gap = "";
        }
    }
    if let Some(trial) = &summary.trial {
        let peer = trial.peer.as_deref().unwrap_or("PEER");
        let insecure = if trial.insecure { "--insecure " } else { "" };
        text.push_str(&format!(
            "\nTry it: what you type goes through the gateway to a peer (PORT is the peer's):\n  \
             turncat {insecure}- '{}' udp://{peer}:PORT\n",
            trial.server
        ));
    }
    text.push_str("\nServing. Edits of the manifests take effect at once; Ctrl-C stops.\n");
    text
}

fn gateways(summary: &Summary) -> String {
    let rows: Vec<Vec<String>> = summary
        .gateways
        .iter()
        .map(|gateway| {
            vec![
                gateway.namespace.clone(),
                gateway.name.clone(),
                gateway.class.clone(),
                gateway.addresses.join(","),
                Condition::status(&gateway.conditions, kind::ACCEPTED).to_owned(),
                Condition::status(&gateway.conditions, kind::PROGRAMMED).to_owned(),
            ]
        })
        .collect();
    let head = [
        "NAMESPACE",
        "NAME",
        "CLASS",
        "ADDRESS",
        "ACCEPTED",
        "PROGRAMMED",
    ];
    table(&head, &rows)
}

fn listeners(summary: &Summary) -> String {
    let mut rows = Vec::new();
    for gateway in &summary.gateways {
        for listener in &gateway.listeners {
            rows.push(vec![
                format!("{}/{}", gateway.namespace, gateway.name),
                listener.name.clone(),
                listener.protocol.clone(),
                listener.uri.clone().unwrap_or_else(|| "<none>".to_owned()),
                listener.attached_routes.to_string(),
                Condition::status(&listener.conditions, kind::PROGRAMMED).to_owned(),
            ]);
        }
    }
    let head = [
        "GATEWAY",
        "LISTENER",
        "PROTOCOL",
        "URI",
        "ROUTES",
        "PROGRAMMED",
    ];
    table(&head, &rows)
}

/// The conditions that are not as they should be, with their messages.
fn unmet(summary: &Summary) -> String {
    let mut text = String::new();
    let mut tell = |subject: &str, conditions: &[Condition]| {
        let unmet = conditions.iter();
        for condition in unmet.filter(|one| !is_good(&one.kind, &one.status)) {
            text.push_str(&format!(
                "\n{subject} {}={} ({}): {}\n",
                condition.kind, condition.status, condition.reason, condition.message
            ));
        }
    };
    for gateway in &summary.gateways {
        let name = format!("{}/{}", gateway.namespace, gateway.name);
        tell(&format!("Gateway {name}"), &gateway.conditions);
        for listener in &gateway.listeners {
            let subject = format!("Gateway {name} listener {}", listener.name);
            tell(&subject, &listener.conditions);
        }
    }
    if !summary.unmet.is_empty() {
        text.push('\n');
    }
    for flip in summary.unmet.iter().take(LISTED) {
        text.push_str(condition(flip).trim_start());
    }
    if summary.unmet.len() > LISTED {
        let more = summary.unmet.len() - LISTED;
        text.push_str(&format!("and {more} more conditions\n"));
    }
    text
}

pub(super) fn changed(report: &Report) -> String {
    let mut text = String::from("\n");
    for happened in [Happened::Added, Happened::Changed, Happened::Removed] {
        let changes = report.changes.iter();
        let changes: Vec<&Change> = changes.filter(|one| one.happened == happened).collect();
        let (sign, word) = match happened {
            Happened::Added => ('+', "added"),
            Happened::Changed => ('~', "changed"),
            Happened::Removed => ('-', "removed"),
        };
        for change in changes.iter().take(LISTED) {
            let name = match change.key.name.namespace.as_str() {
                "" => change.key.name.name.clone(),
                _ => change.key.name.to_string(),
            };
            text.push_str(&format!("{sign} {} {name} {word}\n", change.key.kind));
        }
        if changes.len() > LISTED {
            let more = changes.len() - LISTED;
            text.push_str(&format!("{sign} {more} more {word}\n"));
        }
    }
    for problem in report.solved_problems.iter().take(LISTED) {
        text.push_str(&format!("fixed: {}: {}\n", problem.file, problem.message));
    }
    if report.solved_problems.len() > LISTED {
        let more = report.solved_problems.len() - LISTED;
        text.push_str(&format!("fixed: {more} more problems\n"));
    }
    for flip in report.flips.iter().take(LISTED) {
        text.push_str(&condition(flip));
    }
    if report.flips.len() > LISTED {
        let more = report.flips.len() - LISTED;
        text.push_str(&format!("  and {more} more conditions\n"));
    }
    text.push_str(&sessions(report));
    text
}

fn condition(flip: &Flip) -> String {
    let subject = &flip.subject;
    let mut name = match subject.namespace.as_str() {
        "" => subject.name.clone(),
        namespace => format!("{namespace}/{}", subject.name),
    };
    if let Some(part) = &subject.part {
        name.push_str(match subject.kind {
            "Gateway" => " listener ",
            _ => " at ",
        });
        name.push_str(part);
    }
    let was = match &flip.was {
        Some(was) if *was != flip.status => format!(" (was {was})"),
        _ => String::new(),
    };
    let mut line = format!(
        "  {} {name} {}={}{was}",
        subject.kind, subject.condition, flip.status
    );
    if !is_good(&subject.condition, &flip.status) {
        line.push_str(&format!(" ({}): {}", flip.reason, flip.message));
    }
    line.push('\n');
    line
}

fn sessions(report: &Report) -> String {
    let Sessions { kept, draining } = report.sessions;
    let mut text = String::new();
    for (gateway, ended) in &report.closed {
        text.push_str(&match ended {
            0 => format!("Gateway {gateway} is closed; no session was left\n"),
            1 => format!("Gateway {gateway} is closed; 1 session ended after --drain-timeout\n"),
            ended => format!(
                "Gateway {gateway} is closed; {ended} sessions ended after --drain-timeout\n"
            ),
        });
    }
    match draining {
        0 => {}
        1 => text.push_str("1 session of removed Gateways drains, for --drain-timeout at most\n"),
        draining => text.push_str(&format!(
            "{draining} sessions of removed Gateways drain, for --drain-timeout at most\n"
        )),
    }
    let kept = match kept {
        0 => String::new(),
        1 => "1 session goes on; ".to_owned(),
        kept => format!("{kept} sessions go on; "),
    };
    match (kept.is_empty(), report.ended) {
        (true, 0) => {}
        (false, 0) => text.push_str(&format!("{kept}none ended\n")),
        (_, 1) => text.push_str(&format!("{kept}1 ended with its listener\n")),
        (_, ended) => text.push_str(&format!("{kept}{ended} ended with their listeners\n")),
    }
    text
}

pub(super) fn problem(problem: &Problem, held: Option<usize>) -> String {
    let mut text = format!("{problem}\n");
    match held {
        Some(1) => text.push_str("  1 object of this file stays as it was\n"),
        Some(held) => text.push_str(&format!(
            "  {held} objects of this file stay as they were\n"
        )),
        None => {}
    }
    text
}

pub(super) fn more_problems(more: usize) -> String {
    let problems = match more {
        1 => "1 more problem".to_owned(),
        more => format!("{more} more problems"),
    };
    format!("and {problems}\n  hint: `stunner check` with the same arguments lists them all\n")
}

pub(super) fn draining(sessions: u64, seconds: u64) -> String {
    let sessions = match sessions {
        1 => "1 session".to_owned(),
        sessions => format!("{sessions} sessions"),
    };
    format!("\nDraining: {sessions}, at most {seconds} s; a second signal stops at once.\n")
}

pub(super) fn stopped(stopped: Stopped) -> String {
    let how = match stopped.drained {
        true => "no session was left",
        false => "what was left of sessions ended",
    };
    format!("Stopped by {}; {how}.\n", stopped.by)
}

/// Of messages that nobody read in time.
pub(super) fn lost(count: u64) -> String {
    match count {
        1 => "\n1 message was lost here: nobody read what this prints\n".to_owned(),
        count => format!("\n{count} messages were lost here: nobody read what this prints\n"),
    }
}
