//! The status of a Gateway's listeners.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use stunner_api::gateway::ListenerStatus;
use stunner_api::names::{annotation, condition as kind, reason};

use super::Served;
use crate::condition::{condition, sentences};
use crate::context::{ListenerPlan, ListenerProblem};
use crate::service::exposed;

/// One entry per listener, in the order of the spec.
pub(crate) fn listeners(served: &Served<'_>) -> Vec<ListenerStatus> {
    let meta = &served.gateway.metadata;
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
        Some(ListenerProblem::HealthPort) => (
            reason::PORT_UNAVAILABLE,
            format!(
                "The pods answer health checks on TCP port {}; change `port`, or keep it and let the pods listen elsewhere by the annotation `{}`.",
                plan.port,
                annotation::TARGET_PORT
            ),
        ),
        Some(ListenerProblem::NameTaken) => (
            reason::UNSUPPORTED_VALUE,
            "Another listener has this name already; give each listener a name of its own.".to_owned(),
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

pub(crate) fn no_conflict(meta: &ObjectMeta) -> Condition {
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

/// Everything that the listener refers to is there.
pub(crate) fn resolved(meta: &ObjectMeta, notices: &[String]) -> Condition {
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
