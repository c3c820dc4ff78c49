//! The Gateway and its listeners.

use stunner_api::gateway::{Gateway, Listener, ListenerStatus};
use stunner_api::names::{annotation, condition as kind, reason};
use stunner_translate::listener_protocol;

use super::{find, is_false, is_true, listed, wanted};
use crate::commands::doctor::facts::Facts;
use crate::commands::doctor::finding::{Finding, Hop};

pub(super) fn missing(facts: &Facts) -> Finding {
    let namespace = &facts.name.namespace;
    let there = match facts.others.as_slice() {
        [] => format!("there is no Gateway in namespace {namespace}"),
        others => format!("namespace {namespace} has {}", listed(others)),
    };
    Finding::dead(Hop::Gateway, format!("Gateway {} does not exist", facts.name))
        .why(there)
        .hint("give the Gateway as NAMESPACE/NAME, or its namespace with `-n`; `kubectl get gateway -A` lists all")
}

pub(super) fn gateway(facts: &Facts, gateway: &Gateway) -> Finding {
    let name = &facts.name;
    let status = gateway.status.as_ref();
    let conditions = status.map_or(&[] as &[_], |status| &status.conditions);
    let accepted = find(conditions, kind::ACCEPTED);
    let programmed = find(conditions, kind::PROGRAMMED);
    if let Some(said) = accepted.filter(|_| is_false(accepted)) {
        return Finding::dead(
            Hop::Gateway,
            format!("Gateway {name} is not accepted: {}", said.reason),
        )
        .why(said.message.clone())
        .hint("correct what the message names");
    }
    if !is_true(accepted) {
        return Finding::dead(
            Hop::Gateway,
            format!("no operator has accepted Gateway {name}"),
        )
        .why("its status says nothing, so no operator has looked at it")
        .hint("see whether the operator runs and has the right to watch this namespace");
    }
    let seen = accepted.and_then(|accepted| accepted.observed_generation);
    if seen < gateway.metadata.generation {
        return Finding::warn(
            Hop::Gateway,
            format!("Gateway {name} was changed and the operator has not looked at it since"),
        )
        .hint("wait a moment; if this stays, see whether the operator runs and what it logs");
    }
    match programmed.filter(|_| is_false(programmed)) {
        None => Finding::ok(
            Hop::Gateway,
            format!("Gateway {name} is accepted and programmed"),
        ),
        // The API server refuses an object that the Gateway needs.
        Some(said) if said.reason == reason::INVALID => Finding::dead(
            Hop::Gateway,
            format!("Gateway {name} is not programmed: {}", said.reason),
        )
        .why(said.message.clone())
        .hint("correct what the message names, most often an annotation of the Gateway"),
        // Listeners and addresses have hops of their own.
        Some(said) => Finding::warn(
            Hop::Gateway,
            format!(
                "Gateway {name} is accepted, but not programmed: {}",
                said.reason
            ),
        ),
    }
}

pub(super) fn listeners(facts: &Facts, gateway: &Gateway) -> Vec<Finding> {
    let name = &facts.name;
    let listeners: Vec<&Listener> = wanted(facts, gateway).collect();
    if listeners.is_empty() {
        let there: Vec<String> = gateway
            .spec
            .listeners
            .iter()
            .map(|listener| format!("`{}`", listener.name))
            .collect();
        return vec![match &facts.only {
            Some(only) if !there.is_empty() => {
                Finding::dead(Hop::Listener, format!("Gateway {name} has no listener `{only}`"))
                    .why(format!("it has {}", listed(&there)))
                    .hint("correct the name, or add the listener to the Gateway")
            }
            _ => Finding::dead(Hop::Listener, format!("Gateway {name} has no listeners"))
                .why("nothing opens a port for clients")
                .hint("add a listener with a port and the protocol TURN-UDP, TURN-TCP, TURN-TLS or TURN-DTLS"),
        }];
    }
    let statuses = gateway.status.as_ref();
    let statuses = statuses.map_or(&[] as &[ListenerStatus], |status| &status.listeners);
    listeners
        .into_iter()
        .map(|listener| {
            let status = statuses.iter().find(|status| status.name == listener.name);
            one(listener, status)
        })
        .collect()
}

fn one(listener: &Listener, status: Option<&ListenerStatus>) -> Finding {
    let name = &listener.name;
    if listener_protocol(&listener.protocol).is_none() {
        return Finding::dead(
            Hop::Listener,
            format!(
                "listener `{name}` has the protocol {}, which is not TURN",
                listener.protocol
            ),
        )
        .why("such a listener is left out of what the dataplane is told")
        .hint("set its protocol to TURN-UDP, TURN-TCP, TURN-TLS or TURN-DTLS");
    }
    let conditions = status.map_or(&[] as &[_], |status| &status.conditions);
    let accepted = find(conditions, kind::ACCEPTED);
    let resolved = find(conditions, kind::RESOLVED_REFS);
    let programmed = find(conditions, kind::PROGRAMMED);
    if let Some(said) = accepted.filter(|_| is_false(accepted)) {
        return Finding::dead(
            Hop::Listener,
            format!("listener `{name}` is not accepted: {}", said.reason),
        )
        .why(said.message.clone())
        .hint("correct the listener as the message says");
    }
    let left_out =
        is_false(programmed) && programmed.is_some_and(|it| it.reason == reason::INVALID);
    if let Some(said) = resolved.filter(|_| is_false(resolved)) {
        // A stale certificate still serves, and other kinds of routes hurt nobody.
        let what = format!(
            "listener `{name}` has references that lead nowhere: {}",
            said.reason
        );
        let finding = match left_out {
            true => Finding::dead(Hop::Listener, what),
            false => Finding::warn(Hop::Listener, what),
        };
        return finding
            .why(said.message.clone())
            .hint("a certificate is a Secret with the keys `tls.crt` and `tls.key`, named in `tls.certificateRefs`");
    }
    if let Some(said) = programmed.filter(|_| left_out) {
        return Finding::dead(Hop::Listener, format!("listener `{name}` is not exposed"))
            .why(said.message.clone())
            .hint(format!(
                "set the annotation `{}: \"true\"` on the Gateway if your load balancer takes UDP and TCP on one address, else give the listener a Gateway of its own",
                annotation::ENABLE_MIXED_PROTOCOL_LB
            ));
    }
    Finding::ok(
        Hop::Listener,
        format!(
            "listener `{name}`: {} on port {}",
            listener.protocol, listener.port
        ),
    )
}
