//! Routes of all kinds, and what they name.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use stunner_api::NamespacedName;
use stunner_api::gateway::{BackendRef, L4Route, ParentRef, RouteStatus};
use stunner_api::names::{self, condition, label};
use stunner_api::v1::{StaticService, UdpRoute};
use stunner_cluster::{Kind, Selection};

use super::api::Reader;
use crate::commands::doctor::facts::{
    Asked, BackendFacts, BackendState, Facts, RouteFacts, Routes,
};

/// Backends that are looked at.
const BACKENDS: usize = 64;

/// A route of whatever kind.
struct Route {
    id: String,
    namespace: String,
    parents: Vec<ParentRef>,
    backends: Vec<BackendRef>,
    status: RouteStatus,
}

pub(super) async fn routes(reader: &Reader, facts: &mut Facts) {
    let own = &facts.name.namespace;
    let mut found: Vec<Route> = Vec::new();
    let mut unseen: Vec<String> = Vec::new();
    match udp_routes(reader, own, &mut unseen).await.ok() {
        Ok(routes) => found.extend(routes),
        Err(unknown) => {
            facts.routes = unknown;
            return;
        }
    }
    for (kind, plural) in [
        (names::UDP_ROUTE_KIND, names::UDP_ROUTE_PLURAL),
        (names::TCP_ROUTE_KIND, names::TCP_ROUTE_PLURAL),
    ] {
        found.extend(official(reader, own, kind, plural, &mut unseen).await);
    }
    let mut routes = Routes {
        unseen,
        ..Routes::default()
    };
    let mut backends = Vec::new();
    for route in &found {
        let gateways = route
            .parents
            .iter()
            .filter_map(|parent| gateway_of(parent, &route.namespace));
        let gateways: Vec<NamespacedName> = gateways.collect();
        if gateways.contains(&facts.name) {
            routes.ours.push(route_facts(route, &facts.name));
            backends.extend(route.backends.iter().map(|backend| (route, backend)));
        } else if let Some(other) = gateways.into_iter().next() {
            routes.elsewhere.push((route.id.clone(), other));
        }
    }
    // Those nearby are more likely to be meant for this Gateway.
    routes
        .elsewhere
        .sort_by_key(|(_, gateway)| gateway.namespace != facts.name.namespace);
    facts.routes = Asked::Known(routes);
    for (route, backend) in backends.into_iter().take(BACKENDS) {
        facts.backends.extend(look_at(reader, route, backend).await);
    }
}

/// Of all namespaces, or at least of the Gateway's own.
async fn udp_routes(reader: &Reader, own: &str, unseen: &mut Vec<String>) -> Asked<Vec<Route>> {
    let kind = Kind::of::<UdpRoute>();
    let all = Selection::default();
    let mut list: Asked<Vec<UdpRoute>> = reader.list(&kind, None, all).await;
    if matches!(list, Asked::Forbidden { .. }) {
        list = reader.list(&kind, Some(own), all).await;
        unseen.push("UDPRoutes of other namespaces".to_owned());
    }
    list.map(|routes| routes.into_iter().map(ours).collect())
}

fn ours(route: UdpRoute) -> Route {
    let name = NamespacedName::of(&route.metadata);
    let rules = route.spec.rules.into_iter();
    Route {
        id: format!("UDPRoute {name}"),
        namespace: name.namespace,
        parents: route.spec.parent_refs.unwrap_or_default(),
        backends: rules
            .flat_map(|rule| rule.backend_refs.unwrap_or_default())
            .collect(),
        status: route.status.unwrap_or_default(),
    }
}

/// Routes of the Gateway API, in the version that is served.
async fn official(
    reader: &Reader,
    own: &str,
    kind: &str,
    plural: &str,
    unseen: &mut Vec<String>,
) -> Vec<Route> {
    for version in names::ROUTE_VERSIONS {
        let served = Kind::new(names::GATEWAY_GROUP, version, kind, plural);
        let mut list: Asked<Option<Vec<L4Route>>> = reader.list_served(&served, None).await;
        if matches!(list, Asked::Forbidden { .. }) {
            unseen.push(format!("{kind}s of {}", names::GATEWAY_GROUP));
            list = reader.list_served(&served, Some(own)).await;
        }
        match list {
            Asked::Known(Some(routes)) => {
                return routes
                    .into_iter()
                    .map(|route| upstream(kind, route))
                    .collect();
            }
            Asked::Known(None) => {}
            _ => return Vec::new(),
        }
    }
    Vec::new()
}

fn upstream(kind: &str, route: L4Route) -> Route {
    let name = NamespacedName::of(&route.metadata);
    let rules = route.spec.rules.into_iter();
    Route {
        id: format!("{kind} {name} ({})", names::GATEWAY_GROUP),
        namespace: name.namespace,
        parents: route.spec.parent_refs.unwrap_or_default(),
        backends: rules
            .flat_map(|rule| rule.backend_refs.unwrap_or_default())
            .collect(),
        status: route.status.unwrap_or_default(),
    }
}

/// The Gateway that a parentRef means; `None` for a parent of another kind.
fn gateway_of(parent: &ParentRef, route_namespace: &str) -> Option<NamespacedName> {
    let is = |given: &Option<String>, wanted: &str| given.as_deref().is_none_or(|it| it == wanted);
    if !is(&parent.group, names::GATEWAY_GROUP) || !is(&parent.kind, names::GATEWAY_KIND) {
        return None;
    }
    let namespace = parent.namespace.as_deref().unwrap_or(route_namespace);
    Some(NamespacedName::new(namespace, &parent.name))
}

fn route_facts(route: &Route, gateway: &NamespacedName) -> RouteFacts {
    let entries: Vec<&[Condition]> = route
        .status
        .parents
        .iter()
        .filter(|entry| gateway_of(&entry.parent_ref, &route.namespace).as_ref() == Some(gateway))
        .map(|entry| entry.conditions.as_slice())
        .collect();
    let said = |kind: &str| {
        let all = entries
            .iter()
            .filter_map(|conditions| conditions.iter().find(|it| it.type_ == kind));
        let all: Vec<&Condition> = all.collect();
        // One parentRef that is accepted attaches the route; a backend is as good for all of them.
        let best = all
            .iter()
            .find(|it| it.status == condition::TRUE)
            .or(all.first());
        best.map(|it| (it.status == condition::TRUE, it.message.clone()))
    };
    RouteFacts {
        id: route.id.clone(),
        accepted: said(condition::ACCEPTED),
        resolved: said(condition::RESOLVED_REFS),
        has_backends: !route.backends.is_empty(),
    }
}

async fn look_at(reader: &Reader, route: &Route, backend: &BackendRef) -> Option<BackendFacts> {
    let namespace = backend.namespace.as_deref().filter(|it| !it.is_empty());
    let namespace = namespace.unwrap_or(&route.namespace);
    let name = &backend.name;
    let group = backend.group.as_deref().unwrap_or_default();
    let kind = backend.kind.as_deref().unwrap_or(names::SERVICE_KIND);
    let found = match (group, kind) {
        ("" | "v1", names::SERVICE_KIND) => service(reader, namespace, name).await,
        (names::GROUP, names::STATIC_SERVICE_KIND) => {
            let kind = Kind::of::<StaticService>();
            let found: Asked<Option<StaticService>> =
                reader.get(&kind, Some(namespace), name).await;
            found.map(|found| {
                found.map(|it| BackendState::Static {
                    prefixes: it.spec.prefixes.len(),
                })
            })
        }
        // The condition of the route says what is wrong with it.
        _ => return None,
    };
    Some(BackendFacts {
        route: route.id.clone(),
        id: format!("{kind} {namespace}/{name}"),
        found,
    })
}

async fn service(reader: &Reader, namespace: &str, name: &str) -> Asked<Option<BackendState>> {
    let services = Kind::of::<Service>();
    let found: Asked<Option<Service>> = reader.get(&services, Some(namespace), name).await;
    let service = match found.ok() {
        Ok(Some(service)) => service,
        Ok(None) => return Asked::Known(None),
        Err(unknown) => return unknown,
    };
    let external = service.spec.and_then(|spec| spec.external_name);
    if let Some(external) = external.filter(|external| !external.is_empty()) {
        return Asked::Known(Some(BackendState::ExternalName(external)));
    }
    let selector = format!("{}={name}", label::SERVICE_NAME);
    let selected = Selection::labels(&selector);
    let kind = Kind::of::<EndpointSlice>();
    let slices: Asked<Vec<EndpointSlice>> = reader.list(&kind, Some(namespace), selected).await;
    slices.map(|slices| Some(counted(&slices)))
}

fn counted(slices: &[EndpointSlice]) -> BackendState {
    let (mut ready, mut not_ready) = (0, 0);
    for endpoint in slices.iter().flat_map(|slice| slice.endpoints.iter()) {
        let conditions = endpoint.conditions.as_ref();
        // Unset means ready (the API says so).
        match conditions
            .and_then(|conditions| conditions.ready)
            .unwrap_or(true)
        {
            true => ready += endpoint.addresses.len(),
            false => not_ready += endpoint.addresses.len(),
        }
    }
    BackendState::Service { ready, not_ready }
}
