//! The status of a Gateway and of its listeners.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use stunner_api::gateway::{Gateway, GatewayStatus, GatewayStatusAddress, ListenerStatus};
use stunner_api::names::{annotation, condition as kind, reason};

use super::Served;
use crate::address::{RequestedAddress, requested_address};
use crate::condition::{State, condition, sentences};
use crate::context::{ListenerPlan, ListenerProblem, PublicAddress};
use crate::listener::known_kinds;
use crate::plan::WorkloadKind;
use crate::service::exposed;
use crate::settings::Settings;

/// `maxItems` of `status.addresses`.
const ADDRESSES: usize = 16;

/// The status of a Gateway that is served. `notices` are sentences worth saying though nothing is broken.
pub(crate) fn served(served: &Served<'_>, notices: Vec<String>) -> GatewayStatus {
    let meta = &served.gateway.metadata;
    GatewayStatus {
        addresses: addresses(&served.addresses),
        conditions: vec![accepted(served, notices), programmed(served)],
        listeners: listeners(served, meta),
        attached_listener_sets: None,
    }
}

/// The status of a Gateway that never was in order: nothing is served, nothing is known about its listeners.
pub(crate) fn unserved(
    settings: &Settings,
    gateway: &Gateway,
    problems: &[String],
) -> GatewayStatus {
    let meta = &gateway.metadata;
    let why = sentences(problems);
    withdrawn(settings, gateway, |kind_| match kind_ {
        kind::ACCEPTED => condition(
            meta,
            kind_,
            false,
            reason::INVALID_PARAMETERS,
            format!("{why} Nothing is served until then."),
        ),
        _ => condition(meta, kind_, false, reason::INVALID, why.clone()),
    })
}

/// A status whose listeners are in nobody's hands; `own` gives the Gateway's two conditions by type.
pub(crate) fn withdrawn(
    settings: &Settings,
    gateway: &Gateway,
    own: impl Fn(&'static str) -> Condition,
) -> GatewayStatus {
    let meta = &gateway.metadata;
    let pending = |kind_| {
        condition(
            meta,
            kind_,
            State::Unknown,
            reason::PENDING,
            "The listener waits for its Gateway to be accepted.",
        )
    };
    let listeners = gateway
        .spec
        .listeners
        .iter()
        .map(|listener| ListenerStatus {
            name: listener.name.clone(),
            supported_kinds: known_kinds(settings),
            attached_routes: 0,
            conditions: vec![
                pending(kind::ACCEPTED),
                no_conflict(meta),
                pending(kind::PROGRAMMED),
                resolved(meta, &[]),
            ],
        });
    GatewayStatus {
        addresses: Vec::new(),
        conditions: vec![own(kind::ACCEPTED), own(kind::PROGRAMMED)],
        listeners: listeners.collect(),
        attached_listener_sets: None,
    }
}

/// Each address once, in the order of the listeners.
fn addresses(found: &[Option<PublicAddress>]) -> Vec<GatewayStatusAddress> {
    let mut addresses: Vec<GatewayStatusAddress> = Vec::new();
    for address in found.iter().flatten() {
        let kind = if address.hostname {
            "Hostname"
        } else {
            "IPAddress"
        };
        let address = GatewayStatusAddress {
            type_: Some(kind.to_owned()),
            value: address.address.clone(),
        };
        if !addresses.contains(&address) && addresses.len() < ADDRESSES {
            addresses.push(address);
        }
    }
    addresses
}

fn accepted(served: &Served<'_>, notices: Vec<String>) -> Condition {
    let meta = &served.gateway.metadata;
    let accepted =
        |state: bool, reason_, message| condition(meta, kind::ACCEPTED, state, reason_, message);
    let problems = &served.inputs.problems;
    if !problems.is_empty() {
        let until = "Until then the Gateway is served with the last good settings.".to_owned();
        let message = sentences(problems.iter().chain([&until]));
        return accepted(false, reason::INVALID_PARAMETERS, message);
    }
    if let Some(RequestedAddress::Unusable { type_, value }) = requested_address(served.gateway) {
        return accepted(
            false,
            reason::UNSUPPORTED_ADDRESS,
            format!(
                "The address `{value}` of type `{type_}` is neither an IP address nor a host name and is not used; change `spec.addresses`."
            ),
        );
    }
    let handled = format!(
        "The Gateway is handled by {}.",
        served.settings.controller_name
    );
    let message = sentences(
        [handled]
            .iter()
            .chain(&served.inputs.notices)
            .chain(&served.options.problems)
            .chain(&notices)
            .chain(&external_ips_refused(served)),
    );
    accepted(true, reason::ACCEPTED, message)
}

fn external_ips_refused(served: &Served<'_>) -> Option<String> {
    let refused = served
        .snapshot
        .write_failures
        .get(&(served.name.clone(), WorkloadKind::Service))
        .is_some_and(|failure| failure.external_ips_refused);
    refused.then(|| {
        "The cluster does not let Services have `externalIPs`, so the requested address is only set as `loadBalancerIP`."
            .to_owned()
    })
}

fn programmed(served: &Served<'_>) -> Condition {
    let meta = &served.gateway.metadata;
    let programmed =
        |state: bool, reason_, message| condition(meta, kind::PROGRAMMED, state, reason_, message);
    let refused = refused_writes(served);
    if !refused.is_empty() {
        return programmed(false, reason::INVALID, sentences(refused));
    }
    let plans = || served.listeners.iter().zip(&served.addresses);
    let names = |chosen: &dyn Fn(&ListenerPlan, &Option<PublicAddress>) -> bool| {
        let names = plans().filter(|(plan, address)| chosen(plan, address));
        let names: Vec<&str> = names.map(|(plan, _)| plan.name.as_str()).collect();
        names.join(", ")
    };
    let left_out = names(&|plan, _| !plan.is_served());
    let unreachable = names(&|plan, address| plan.is_served() && address.is_none());
    let mut message = Vec::new();
    if served.listeners.is_empty() {
        message.push("The Gateway has no listeners; add one.".to_owned());
    }
    if !left_out.is_empty() {
        message.push(format!(
            "Not served, for the reasons in their own conditions: {left_out}."
        ));
    }
    if !unreachable.is_empty() {
        message.push(format!("Without a public address so far: {unreachable}."));
    }
    if message.is_empty() {
        let done = "Every listener is configured and has a public address.".to_owned();
        return programmed(true, reason::PROGRAMMED, done);
    }
    programmed(false, reason::ADDRESS_NOT_ASSIGNED, sentences(message))
}

/// Sentences about objects that the API server does not take.
fn refused_writes(served: &Served<'_>) -> Vec<String> {
    [
        (WorkloadKind::Service, "Service"),
        (WorkloadKind::ConfigMap, "ConfigMap"),
        (WorkloadKind::Deployment, "Deployment"),
        (WorkloadKind::DaemonSet, "DaemonSet"),
    ]
    .into_iter()
    .filter_map(|(workload, label)| {
        let key = (served.name.clone(), workload);
        let failure = served.snapshot.write_failures.get(&key)?;
        (!failure.external_ips_refused).then(|| {
            let message = failure.message.trim_end_matches('.');
            format!(
                "The {label} of Gateway {} cannot be written, which is tried again: {message}.",
                served.name
            )
        })
    })
    .collect()
}

fn listeners(served: &Served<'_>, meta: &ObjectMeta) -> Vec<ListenerStatus> {
    let exposed = exposed(&served.options, &served.listeners);
    let plans = served.listeners.iter().zip(&served.addresses);
    plans
        .zip(exposed)
        .enumerate()
        .map(|(place, ((plan, address), exposed))| {
            let attached = served.routes.iter();
            let attached = attached.filter(|route| route.listeners.contains(&place));
            ListenerStatus {
                name: plan.name.clone(),
                supported_kinds: plan.route_kinds.supported.clone(),
                attached_routes: match plan.problem {
                    Some(
                        ListenerProblem::UnsupportedProtocol | ListenerProblem::Certificate { .. },
                    ) => 0,
                    _ => i32::try_from(attached.count()).unwrap_or(i32::MAX),
                },
                conditions: vec![
                    listener_accepted(meta, plan),
                    conflicted(meta, plan),
                    listener_programmed(meta, plan, address.is_some(), exposed),
                    resolved_refs(meta, plan),
                ],
            }
        })
        .collect()
}

fn listener_accepted(meta: &ObjectMeta, plan: &ListenerPlan) -> Condition {
    let (reason_, message) = match &plan.problem {
        None | Some(ListenerProblem::Certificate { .. }) => {
            let message = "The listener is valid.";
            return condition(meta, kind::ACCEPTED, true, reason::ACCEPTED, message);
        }
        Some(ListenerProblem::UnsupportedProtocol) => (
            reason::UNSUPPORTED_PROTOCOL,
            "The protocol is not supported; use TURN-UDP, TURN-TCP, TURN-TLS or TURN-DTLS.".to_owned(),
        ),
        Some(ListenerProblem::Conflict { with }) => (
            reason::PORT_UNAVAILABLE,
            format!("Listener {with} has the port already; change `port`, or the target port."),
        ),
        Some(ListenerProblem::BadPort) => (
            reason::PORT_UNAVAILABLE,
            "The port is not a number from 1 to 65535; change `port`.".to_owned(),
        ),
        Some(ListenerProblem::Passthrough) => (
            reason::UNSUPPORTED_VALUE,
            "TURN is spoken inside TLS, so that it cannot be passed through; set `tls.mode` to `Terminate`."
                .to_owned(),
        ),
    };
    condition(meta, kind::ACCEPTED, false, reason_, message)
}

fn conflicted(meta: &ObjectMeta, plan: &ListenerPlan) -> Condition {
    match &plan.problem {
        Some(ListenerProblem::Conflict { with }) => condition(
            meta,
            kind::CONFLICTED,
            true,
            reason::PROTOCOL_CONFLICT,
            format!("Listener {with} uses the same port of the same transport."),
        ),
        _ => no_conflict(meta),
    }
}

fn no_conflict(meta: &ObjectMeta) -> Condition {
    let message = "No other listener has the port.";
    condition(meta, kind::CONFLICTED, false, reason::NO_CONFLICTS, message)
}

fn listener_programmed(
    meta: &ObjectMeta,
    plan: &ListenerPlan,
    has_address: bool,
    is_exposed: bool,
) -> Condition {
    let (state, reason_, message) = if !plan.is_served() {
        let message = "The listener is left out of the dataplane's configuration.".to_owned();
        (false, reason::INVALID, message)
    } else if has_address {
        let message = "The listener is configured and has a public address.".to_owned();
        (true, reason::PROGRAMMED, message)
    } else if !is_exposed {
        let message = format!(
            "The Service carries only the transport of the first listener; to expose this one too, set the annotation `{}` to \"true\".",
            annotation::ENABLE_MIXED_PROTOCOL_LB
        );
        (false, reason::INVALID, message)
    } else {
        let message = "The listener has no public address so far.".to_owned();
        (false, reason::PENDING, message)
    };
    condition(meta, kind::PROGRAMMED, state, reason_, message)
}

fn resolved_refs(meta: &ObjectMeta, plan: &ListenerPlan) -> Condition {
    let refused = |not_permitted, message| {
        let reason_ = if not_permitted {
            reason::REF_NOT_PERMITTED
        } else {
            reason::INVALID_CERTIFICATE_REF
        };
        condition(meta, kind::RESOLVED_REFS, false, reason_, message)
    };
    if let Some(ListenerProblem::Certificate { why, not_permitted }) = &plan.problem {
        return refused(*not_permitted, why.clone());
    }
    if let Some(stale) = &plan.stale_certificate {
        let until = "Until then the last good certificate is served.";
        return refused(stale.not_permitted, format!("{} {until}", stale.why));
    }
    if !plan.route_kinds.unsupported.is_empty() {
        let listed = plan.route_kinds.unsupported.iter();
        let listed: Vec<String> = listed
            .map(|kind| {
                format!(
                    "{}/{}",
                    kind.group.as_deref().unwrap_or_default(),
                    kind.kind
                )
            })
            .collect();
        let message = format!(
            "`allowedRoutes.kinds` has kinds that are not supported; remove {}.",
            listed.join(", ")
        );
        let reason_ = reason::INVALID_ROUTE_KINDS;
        return condition(meta, kind::RESOLVED_REFS, false, reason_, message);
    }
    resolved(meta, &plan.notices)
}

fn resolved(meta: &ObjectMeta, notices: &[String]) -> Condition {
    let found = "All references are resolved.".to_owned();
    let message = sentences([&found].into_iter().chain(notices));
    condition(
        meta,
        kind::RESOLVED_REFS,
        true,
        reason::RESOLVED_REFS,
        message,
    )
}
