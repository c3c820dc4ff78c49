//! What became of listeners on this host, on the status of their Gateway.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use stunner_api::gateway::GatewayStatus;
use stunner_api::names::{condition as kind, reason};

use super::Trouble;

/// Puts the troubles of listeners, by name, onto a status that translation made. It knows only of Gateways by
/// themselves; that they share one host is found out here.
pub fn overlay(status: &mut GatewayStatus, troubles: &BTreeMap<String, Trouble>) {
    let mut named = Vec::new();
    for listener in &mut status.listeners {
        let Some(trouble) = troubles.get(&listener.name) else {
            continue;
        };
        named.push(listener.name.clone());
        let message = sentence(trouble);
        match trouble {
            Trouble::Unusable { .. } | Trouble::NotStarted { .. } => {}
            _ => set(
                &mut listener.conditions,
                kind::ACCEPTED,
                reason::PORT_UNAVAILABLE,
                &message,
            ),
        }
        set(
            &mut listener.conditions,
            kind::PROGRAMMED,
            reason::INVALID,
            &message,
        );
    }
    if !named.is_empty() {
        let message = format!(
            "Not served as specified, for the reasons in their own conditions: {}.",
            named.join(", ")
        );
        set(
            &mut status.conditions,
            kind::PROGRAMMED,
            reason::INVALID,
            &message,
        );
    }
}

/// Makes a condition say no.
fn set(conditions: &mut [Condition], kind_: &str, reason_: &str, message: &str) {
    let mut found = conditions.iter_mut();
    if let Some(condition) = found.find(|condition| condition.type_ == kind_) {
        condition.status = kind::FALSE.to_owned();
        condition.reason = reason_.to_owned();
        condition.message = message.to_owned();
    }
}

fn sentence(trouble: &Trouble) -> String {
    match trouble {
        Trouble::TakenBy {
            gateway,
            protocol,
            port,
            stays_at,
        } => format!(
            "Gateway {gateway} has {} port {port} of this host already; change `port` of one of the two, or run \
             one of them in another process with --port-offset.{}",
            protocol.socket().as_str(),
            meanwhile(*stays_at)
        ),
        Trouble::Held {
            by,
            is_by_sessions,
            protocol,
            port,
            stays_at,
        } => {
            let holder = match is_by_sessions {
                true => format!(
                    "sessions of Gateway {by}, which is removed, still use it, for --drain-timeout at most"
                ),
                false => {
                    format!("Gateway {by} still uses it, itself or for sessions that began there")
                }
            };
            format!(
                "{} port {port} of this host is not free yet, and is opened as soon as it is: {holder}.{}",
                protocol.socket().as_str(),
                meanwhile(*stays_at)
            )
        }
        Trouble::Refused {
            protocol,
            port,
            why,
            hint,
            stays_at,
        } => format!(
            "{} port {port} of this host cannot be opened, which is tried again: {why}; {hint}; or change `port`, or \
             move all listeners with --port-offset.{}",
            protocol.socket().as_str(),
            meanwhile(*stays_at)
        ),
        Trouble::OutOfRange { port, offset } => format!(
            "Port {port} moved by --port-offset {offset} is not a number from 1 to 65535; change `port`, or the offset."
        ),
        Trouble::Unusable { why, hint } => format!("The listener cannot be served: {why}; {hint}."),
        Trouble::NotStarted { why } => {
            format!("The dataplane cannot be started, which is tried again: {why}.")
        }
    }
}

fn meanwhile(port: Option<u16>) -> String {
    port.map_or_else(String::new, |port| {
        format!(" Until then the listener stays at port {port}.")
    })
}
