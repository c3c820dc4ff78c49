//! From facts to findings. Nothing here asks anybody anything.

mod certificate;
mod class;
mod dataplane;
mod gateway;
mod network;
pub(super) mod provider;
mod routes;
mod service;
#[cfg(test)]
mod tests;

pub(super) use network::{Way, trials};
pub(super) use service::{Place, place};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use stunner_api::gateway::Gateway;
use stunner_api::names::condition;

use super::facts::{Asked, Facts};
use super::finding::{Finding, Hop, Verdict};

/// The walk, hop by hop.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let gateway = match &facts.gateway {
        Asked::Known(Some(gateway)) => gateway,
        Asked::Known(None) => return vec![gateway::missing(facts)],
        other => {
            return vec![unknown(
                Hop::Gateway,
                other,
                &format!("Gateway {}", facts.name),
            )];
        }
    };
    let mut findings = vec![
        class::class(facts, gateway),
        class::config(facts),
        gateway::gateway(facts, gateway),
    ];
    findings.extend(gateway::listeners(facts, gateway));
    findings.extend(routes::routes(facts, gateway));
    findings.extend(routes::backends(facts));
    findings.extend(routes::endpoints(facts));
    findings.extend(dataplane::pods(facts, gateway));
    findings.extend(dataplane::sync(facts));
    findings.extend(service::service(facts, gateway));
    findings.extend(service::addresses(facts, gateway));
    findings.extend(network::network(facts));
    set_aside_consequences(&mut findings);
    findings
}

/// While the operator does not serve the Gateway, what it would have made or said is missing too. That is no news, and
/// what to do about it is said where the cause is.
fn set_aside_consequences(findings: &mut [Finding]) {
    let causes = [Hop::Class, Hop::Config, Hop::Gateway];
    let is_cause =
        |finding: &Finding| finding.verdict == Verdict::Dead && causes.contains(&finding.hop);
    let Some(cause) = findings.iter().position(is_cause) else {
        return;
    };
    let hop = findings[cause].hop;
    for finding in &mut findings[cause + 1..] {
        let is_made = [
            Hop::Gateway,
            Hop::Route,
            Hop::Sync,
            Hop::Service,
            Hop::Address,
        ]
        .contains(&finding.hop);
        if is_made && [Verdict::Dead, Verdict::Warn].contains(&finding.verdict) {
            *finding = Finding::skipped(
                finding.hop,
                format!("{} (see {})", finding.what, hop.as_str()),
            );
        }
    }
}

/// The listeners that are looked at.
pub(super) fn wanted<'a>(
    facts: &'a Facts,
    gateway: &'a Gateway,
) -> impl Iterator<Item = &'a stunner_api::gateway::Listener> {
    let listeners = gateway.spec.listeners.iter();
    listeners.filter(|listener| {
        let only = facts.only.as_deref();
        only.is_none_or(|only| only == listener.name)
    })
}

/// The line of a hop that nothing is known about, though it was to be.
fn unknown<T>(hop: Hop, asked: &Asked<T>, what: &str) -> Finding {
    match asked {
        Asked::Forbidden { rule } => Finding::skipped(hop, format!("not allowed to read {what}"))
            .hint(format!("grant yourself {rule} to have this hop checked")),
        Asked::Failed(why) => Finding::skipped(hop, format!("cannot read {what}")).why(why.clone()),
        Asked::Known(_) | Asked::Unasked => Finding::skipped(hop, format!("{what}: not looked at")),
    }
}

fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

fn is_true(condition: Option<&Condition>) -> bool {
    condition.is_some_and(|condition| condition.status == condition::TRUE)
}

fn is_false(condition: Option<&Condition>) -> bool {
    condition.is_some_and(|condition| condition.status == condition::FALSE)
}

/// `a`, `a and b`, `a, b and c`; what is too much is counted.
fn listed(items: &[String]) -> String {
    const SHOWN: usize = 4;
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] if items.len() <= SHOWN => format!("{} and {last}", most.join(", ")),
        many => format!(
            "{} and {} more",
            many[..SHOWN].join(", "),
            many.len() - SHOWN
        ),
    }
}

/// `1 pod`, `2 pods`.
fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
