//! What the status of a route says, parent by parent.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use stunner_api::gateway::{Gateway, ParentRef, RouteParentStatus, RouteStatus};
use stunner_api::names::{condition as types, reason};
use stunner_api::{NamespacedName, names};

use crate::attach::{Refusal, is_masked, refusal};
use crate::backend::{BackendProblem, cluster};
use crate::condition::{condition, sentences};
use crate::key::RouteKind;
use crate::ownership::ownership;
use crate::plan::RoutePlan;
use crate::settings::Settings;
use crate::snapshot::{RouteView, Snapshot, parent_gateway};

#[cfg(test)]
mod tests;

/// Our entries in a route's status; `None` when there is no such route.
///
/// Only parents that are Gateways of ours get an entry. One that does not exist might be anybody's: it gets an entry
/// when another parent makes the route our business, and none otherwise.
pub(crate) fn route_plan(
    snapshot: &Snapshot,
    settings: &Settings,
    kind: RouteKind,
    name: &NamespacedName,
) -> Option<RoutePlan> {
    let route = snapshot.route(kind, name)?;
    let parents: Vec<(&ParentRef, Parent<'_>)> = distinct(route.parents)
        .filter_map(|parent| Some((parent, lookup(snapshot, settings, name, parent)?)))
        .collect();
    if !parents
        .iter()
        .any(|(_, found)| matches!(found, Parent::Ours(_)))
    {
        return Some(RoutePlan {
            status: RouteStatus::default(),
        });
    }
    let masked = is_masked(snapshot, kind, name);
    let resolved = if masked {
        condition(
            route.metadata,
            types::RESOLVED_REFS,
            true,
            reason::RESOLVED_REFS,
            "The backends are those of the UDPRoute that takes precedence.",
        )
    } else {
        let problems = cluster(snapshot, settings, kind, name).problems;
        resolved_refs(route.metadata, &problems)
    };
    let parents = parents
        .into_iter()
        .map(|(parent, found)| RouteParentStatus {
            parent_ref: completed(parent),
            controller_name: settings.controller_name.clone(),
            conditions: vec![
                if masked {
                    masked_condition(route.metadata, name)
                } else {
                    accepted(snapshot, &route, parent, &found)
                },
                resolved.clone(),
            ],
        })
        .collect();
    Some(RoutePlan {
        status: RouteStatus { parents },
    })
}

/// A parent of a route that we have a say on.
enum Parent<'a> {
    Ours(&'a Gateway),
    Missing(NamespacedName),
}

/// `None` for what is somebody else's.
fn lookup<'a>(
    snapshot: &'a Snapshot,
    settings: &Settings,
    route: &NamespacedName,
    parent: &ParentRef,
) -> Option<Parent<'a>> {
    let name = parent_gateway(&route.namespace, parent)?;
    match snapshot.gateways.get(&name) {
        Some(gateway) => ownership(snapshot, settings, gateway)
            .is_ours()
            .then_some(Parent::Ours(gateway)),
        None => Some(Parent::Missing(name)),
    }
}

/// The Gateway API wants parentRefs to be distinct; repeated ones say nothing new.
fn distinct(parents: &[ParentRef]) -> impl Iterator<Item = &ParentRef> {
    let mut seen = BTreeSet::new();
    parents
        .iter()
        .filter(move |parent| seen.insert(completed(parent)))
}

/// The parentRef with the defaults that the API server fills in, so that what is desired equals what is stored.
fn completed(parent: &ParentRef) -> ParentRef {
    let mut parent = parent.clone();
    parent
        .group
        .get_or_insert_with(|| names::GATEWAY_GROUP.to_owned());
    parent
        .kind
        .get_or_insert_with(|| names::GATEWAY_KIND.to_owned());
    parent
}

fn accepted(
    snapshot: &Snapshot,
    route: &RouteView<'_>,
    parent: &ParentRef,
    found: &Parent<'_>,
) -> Condition {
    let (state, reason, message) = match found {
        Parent::Missing(name) => (
            false,
            reason::NO_MATCHING_PARENT,
            format!("Gateway {name} does not exist: create it or correct the parentRef."),
        ),
        Parent::Ours(gateway) => match refusals(snapshot, route, parent, gateway) {
            None => {
                let name = NamespacedName::of(&gateway.metadata);
                let message = format!("Gateway {name} takes the route.");
                (true, reason::ACCEPTED, message)
            }
            Some(message) => (false, reason::NOT_ALLOWED_BY_LISTENERS, message),
        },
    };
    condition(route.metadata, types::ACCEPTED, state, reason, message)
}

/// Why no listener of the Gateway takes the route; `None` when one does.
fn refusals(
    snapshot: &Snapshot,
    route: &RouteView<'_>,
    parent: &ParentRef,
    gateway: &Gateway,
) -> Option<String> {
    let gateway_name = NamespacedName::of(&gateway.metadata);
    let mut parts = vec![format!("Gateway {gateway_name} does not take the route.")];
    let mut meant_any = false;
    for listener in &gateway.spec.listeners {
        let refusal = refusal(snapshot, route, parent, &gateway_name.namespace, listener)?;
        let said = match refusal {
            Refusal::OtherSection | Refusal::OtherPort => None,
            other => Some(policy_sentence(other, route, &listener.name)),
        };
        meant_any |= said.is_some();
        parts.extend(said);
    }
    if !meant_any {
        parts.push(no_such_listener(parent, gateway));
    }
    Some(sentences(parts))
}

fn policy_sentence(refusal: Refusal, route: &RouteView<'_>, listener: &str) -> String {
    let namespace = route.metadata.namespace.as_deref().unwrap_or_default();
    match refusal {
        Refusal::Kind => format!(
            "Listener `{listener}` takes other kinds of routes: add {} of group {} to its allowedRoutes.kinds.",
            route.kind.as_str(),
            route.kind.group(),
        ),
        Refusal::NotSelected => format!(
            "Listener `{listener}` does not select namespace {namespace}: label the namespace so that it matches \
             allowedRoutes.namespaces.selector, or change the selector."
        ),
        Refusal::BadSelector => format!(
            "Listener `{listener}` has no usable selector: correct its allowedRoutes.namespaces.selector."
        ),
        Refusal::OtherNamespace | Refusal::OtherSection | Refusal::OtherPort => format!(
            "Listener `{listener}` takes routes of its own namespace only, not of {namespace}: set its \
             allowedRoutes.namespaces.from to `All` or `Selector`."
        ),
    }
}

/// The parentRef names a section or a port that the Gateway does not have, or the Gateway has no listener at all.
fn no_such_listener(parent: &ParentRef, gateway: &Gateway) -> String {
    let listeners: Vec<String> = gateway
        .spec
        .listeners
        .iter()
        .map(|listener| format!("`{}` on port {}", listener.name, listener.port))
        .collect();
    let section = parent
        .section_name
        .as_deref()
        .filter(|name| !name.is_empty());
    let wanted = match (section, parent.port) {
        (Some(section), Some(port)) => format!(" named `{section}` on port {port}"),
        (Some(section), None) => format!(" named `{section}`"),
        (None, Some(port)) => format!(" on port {port}"),
        (None, None) => String::new(),
    };
    if listeners.is_empty() {
        format!("It has no listener{wanted}: add one.")
    } else {
        let listeners = listeners.join(", ");
        format!("It has no listener{wanted} but {listeners}: correct the parentRef.")
    }
}

fn masked_condition(metadata: &ObjectMeta, name: &NamespacedName) -> Condition {
    condition(
        metadata,
        types::ACCEPTED,
        false,
        reason::PENDING,
        format!(
            "The stunner.l7mp.io UDPRoute {name} takes precedence over this one: delete or rename either of them."
        ),
    )
}

fn resolved_refs(metadata: &ObjectMeta, problems: &[BackendProblem]) -> Condition {
    let worst = problems.iter().min_by_key(|problem| problem.rank());
    let reason = worst.and_then(BackendProblem::reason);
    let mut parts: Vec<String> = Vec::new();
    if reason.is_none() {
        parts.push("All backends are resolved.".to_owned());
    }
    let mut ungranted: Vec<String> = Vec::new();
    for problem in problems {
        if let BackendProblem::WithoutGrant(target) = problem {
            push_new(
                &mut ungranted,
                format!("{} {}", target.kind(), target.name()),
            );
        } else {
            push_new(&mut parts, problem.to_string());
        }
    }
    if !ungranted.is_empty() {
        parts.push(format!(
            "In other namespaces without a ReferenceGrant, which works only because grants are not enforced: {}.",
            ungranted.join(", ")
        ));
    }
    condition(
        metadata,
        types::RESOLVED_REFS,
        reason.is_none(),
        reason.unwrap_or(reason::RESOLVED_REFS),
        sentences(parts),
    )
}

fn push_new(parts: &mut Vec<String>, part: String) {
    if !parts.contains(&part) {
        parts.push(part);
    }
}
