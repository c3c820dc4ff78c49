//! Which routes a Gateway's listeners take (Gateway API, "attaching routes to Gateways").
//!
//! Whether a listener can be served does not count: a route that a broken listener takes is accepted, and starts to
//! work when the listener is mended.

mod selector;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use stunner_api::gateway::{Gateway, Listener, ParentRef, RouteGroupKind};
use stunner_api::{NamespacedName, names};

use crate::key::RouteKind;
use crate::snapshot::{RouteView, Snapshot, parent_gateway};

const FROM_ALL: &str = "All";
const FROM_SELECTOR: &str = "Selector";

/// The API server gives every Namespace this label with its own name.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// A route and the listeners, by their place in the Gateway's spec, that take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttachedRoute {
    pub(crate) kind: RouteKind,
    pub(crate) name: NamespacedName,
    pub(crate) listeners: BTreeSet<usize>,
}

/// Why a listener does not take a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The parentRef names another listener.
    OtherSection,
    /// The parentRef names another port.
    OtherPort,
    /// `allowedRoutes.kinds` has other kinds.
    Kind,
    /// The listener takes routes of its own namespace only.
    OtherNamespace,
    /// The listener's selector does not match the labels of the route's namespace.
    NotSelected,
    /// The listener's selector is missing or is none that Kubernetes understands.
    BadSelector,
}

/// The routes that at least one listener of a Gateway takes, each once, by name. Masked routes are not among them.
pub(crate) fn attached_routes(snapshot: &Snapshot, gateway: &Gateway) -> Vec<AttachedRoute> {
    let gateway_name = NamespacedName::of(&gateway.metadata);
    let mut attached = Vec::new();
    for (kind, name) in snapshot.routes_of_gateway(&gateway_name) {
        let Some(route) = snapshot.route(*kind, name) else {
            continue;
        };
        if is_masked(snapshot, *kind, name) {
            continue;
        }
        let listeners = listeners_of(snapshot, &route, gateway);
        if !listeners.is_empty() {
            attached.push(AttachedRoute {
                kind: *kind,
                name: name.clone(),
                listeners,
            });
        }
    }
    attached.sort_by(|a, b| (&a.name, a.kind).cmp(&(&b.name, b.kind)));
    attached
}

/// An official UDPRoute gives way to our own one of the same name, which can say more.
pub(crate) fn is_masked(snapshot: &Snapshot, kind: RouteKind, name: &NamespacedName) -> bool {
    kind == RouteKind::OfficialUdp && snapshot.has_route(RouteKind::Udp, name)
}

fn listeners_of(snapshot: &Snapshot, route: &RouteView<'_>, gateway: &Gateway) -> BTreeSet<usize> {
    let gateway_name = NamespacedName::of(&gateway.metadata);
    let route_namespace = route.metadata.namespace.as_deref().unwrap_or_default();
    let mut listeners = BTreeSet::new();
    for parent in route.parents {
        if parent_gateway(route_namespace, parent).as_ref() != Some(&gateway_name) {
            continue;
        }
        for (place, listener) in gateway.spec.listeners.iter().enumerate() {
            if refusal(snapshot, route, parent, &gateway_name.namespace, listener).is_none() {
                listeners.insert(place);
            }
        }
    }
    listeners
}

/// Why a listener of a Gateway that the parentRef names does not take the route; `None` when it does.
pub(crate) fn refusal(
    snapshot: &Snapshot,
    route: &RouteView<'_>,
    parent: &ParentRef,
    gateway_namespace: &str,
    listener: &Listener,
) -> Option<Refusal> {
    let section = parent
        .section_name
        .as_deref()
        .filter(|name| !name.is_empty());
    if section.is_some_and(|name| name != listener.name) {
        return Some(Refusal::OtherSection);
    }
    if parent.port.is_some_and(|port| port != listener.port) {
        return Some(Refusal::OtherPort);
    }
    if !allows_kind(listener, route.kind) {
        return Some(Refusal::Kind);
    }
    let route_namespace = route.metadata.namespace.as_deref().unwrap_or_default();
    refusal_by_namespace(snapshot, route_namespace, gateway_namespace, listener)
}

fn refusal_by_namespace(
    snapshot: &Snapshot,
    route_namespace: &str,
    gateway_namespace: &str,
    listener: &Listener,
) -> Option<Refusal> {
    let namespaces = listener
        .allowed_routes
        .as_ref()
        .and_then(|allowed| allowed.namespaces.as_ref());
    match namespaces.and_then(|namespaces| namespaces.from.as_deref()) {
        Some(FROM_ALL) => None,
        Some(FROM_SELECTOR) => {
            let selector = namespaces.and_then(|namespaces| namespaces.selector.as_ref());
            let labels = namespace_labels(snapshot, route_namespace);
            match selector.map(|selector| selector::matches(selector, &labels)) {
                Some(Ok(true)) => None,
                Some(Ok(false)) => Some(Refusal::NotSelected),
                Some(Err(selector::BadSelector)) | None => Some(Refusal::BadSelector),
            }
        }
        // `Same`, and whatever else is stored: the narrowest choice.
        _ if route_namespace == gateway_namespace => None,
        _ => Some(Refusal::OtherNamespace),
    }
}

/// Whether `allowedRoutes.kinds` has room for a kind of route; without any entry every kind is welcome.
///
/// The API server completes a bare `kind: UDPRoute` with the group of the Gateway API. Our own UDPRoute is meant by it
/// too: whoever uses ours and writes only the kind must not be cut off.
pub(crate) fn allows_kind(listener: &Listener, kind: RouteKind) -> bool {
    let kinds = listener
        .allowed_routes
        .as_ref()
        .and_then(|allowed| allowed.kinds.as_deref())
        .unwrap_or_default();
    kinds.is_empty() || kinds.iter().any(|entry| means(entry, kind))
}

/// Whether an entry of `allowedRoutes.kinds` means a kind of route.
pub(crate) fn means(entry: &RouteGroupKind, kind: RouteKind) -> bool {
    let group = entry.group.as_deref().unwrap_or(names::GATEWAY_GROUP);
    entry.kind == kind.as_str()
        && (group == kind.group() || (group == names::GATEWAY_GROUP && kind == RouteKind::Udp))
}

/// Whether the labels of namespaces have a say in what the Gateway takes.
pub(crate) fn has_selector(gateway: &Gateway) -> bool {
    gateway
        .spec
        .listeners
        .iter()
        .filter_map(|listener| listener.allowed_routes.as_ref()?.namespaces.as_ref())
        .any(|namespaces| namespaces.from.as_deref() == Some(FROM_SELECTOR))
}

/// Of a Namespace that is not known, be it for want of rights or of a manifest, the name is known all the same.
fn namespace_labels(snapshot: &Snapshot, namespace: &str) -> BTreeMap<String, String> {
    let mut labels = snapshot
        .namespaces
        .get(namespace)
        .and_then(|namespace| namespace.metadata.labels.clone())
        .unwrap_or_default();
    labels
        .entry(NAMESPACE_NAME_LABEL.to_owned())
        .or_insert_with(|| namespace.to_owned());
    labels
}
