//! The gateway hierarchy as plain values, for people to look at: class, gateways, listeners, routes, backends.
//!
//! It says what the statuses say, joined so that nothing has to be looked up, and holds nothing secret: no
//! credentials, no certificates, no annotations. The same world gives the same overview, in the same order.

mod denial;
mod model;
mod nearest;

#[cfg(test)]
mod tests;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use stunner_api::gateway::{Gateway, GatewayClass, GatewayStatus, ListenerStatus, ParentRef};
use stunner_api::names::condition;
use stunner_api::{NamespacedName, names};

use crate::attach::{attached_routes, is_masked, refusal};
use crate::backend::{BackendOutcome, backends, cluster_name};
use crate::condition::sentences;
use crate::key::{RouteId, RouteKind};
use crate::plan::{ClassPlan, GatewayPlan, Plan, RoutePlan};
use crate::settings::Settings;
use crate::snapshot::{RouteView, Snapshot, parent_gateway};

pub use denial::{Denial, denial_reason, denial_sentence};
pub use model::{
    BackendOverview, ClassOverview, ConditionOverview, GatewayOverview, ListenerOverview, Overview,
    ParametersOverview, ParentOverview, RouteOverview,
};
pub use nearest::{BackendAddresses, NearestBackend, nearest_backend};

/// The hierarchy of everything in the plan, which must be that of the snapshot.
pub fn overview(snapshot: &Snapshot, plan: &Plan, settings: &Settings) -> Overview {
    let classes = plan.classes.iter().filter_map(|(name, plan)| {
        let class = snapshot.classes.get(name)?;
        Some(class_overview(snapshot, name, class, plan))
    });
    let gateways = plan.gateways.iter().filter_map(|(name, plan)| {
        let gateway = snapshot.gateways.get(name)?;
        Some(gateway_overview(snapshot, name, gateway, plan))
    });
    let mut routes: Vec<(&RouteId, &RoutePlan)> = plan
        .routes
        .iter()
        .filter(|(_, plan)| !plan.status.parents.is_empty())
        .collect();
    routes.sort_by_key(|((kind, name), _)| (name, *kind));
    let routes = routes.into_iter().filter_map(|((kind, name), plan)| {
        let route = snapshot.route(*kind, name)?;
        Some(route_overview(snapshot, settings, name, &route, plan))
    });
    Overview {
        classes: classes.collect(),
        gateways: gateways.collect(),
        routes: routes.collect(),
    }
}

fn class_overview(
    snapshot: &Snapshot,
    name: &str,
    class: &GatewayClass,
    plan: &ClassPlan,
) -> ClassOverview {
    let parameters = class.spec.parameters_ref.as_ref().map(|reference| {
        let namespace = reference.namespace.clone().unwrap_or_default();
        let kind = reference.kind.as_deref();
        let name = NamespacedName::new(&namespace, &reference.name);
        ParametersOverview {
            kind: kind.unwrap_or(names::GATEWAY_CONFIG_KIND).to_owned(),
            found: crate::class::parameters(snapshot, class).is_ok(),
            namespace,
            name: name.name,
        }
    });
    ClassOverview {
        name: name.to_owned(),
        controller: class.spec.controller_name.clone(),
        parameters,
        conditions: conditions(&plan.status.conditions),
    }
}

fn gateway_overview(
    snapshot: &Snapshot,
    name: &NamespacedName,
    gateway: &Gateway,
    plan: &GatewayPlan,
) -> GatewayOverview {
    // A Gateway whose status is left alone says nothing of its own.
    let unsaid = GatewayStatus::default();
    let status = plan.status.as_ref().unwrap_or(&unsaid);
    let attached = attached_routes(snapshot, gateway);
    let listeners = gateway.spec.listeners.iter().enumerate();
    let listeners = listeners.map(|(place, listener)| {
        let id = format!("{name}/{}", listener.name);
        // By place: a name that is given twice is the first one's.
        let said = status.listeners.get(place);
        let said = said.filter(|said| said.name == listener.name);
        let first = gateway.spec.listeners[..place]
            .iter()
            .all(|earlier| earlier.name != listener.name);
        let served = plan.config.as_ref().filter(|_| first);
        let served = served.and_then(|config| config.listener(&id));
        let public = served.filter(|served| !served.public_address.is_empty());
        let routes: Vec<String> = attached
            .iter()
            .filter(|route| route.listeners.contains(&place))
            .map(|route| route_id(route.kind, &route.name))
            .collect();
        ListenerOverview {
            id,
            name: listener.name.clone(),
            protocol: listener.protocol.clone(),
            port: listener.port,
            public_address: public.map(|served| served.public_address.clone()),
            public_port: public.map(|served| match served.public_port {
                0 => served.port,
                port => port,
            }),
            uri: public.map(|served| served.turn_uri()),
            // In legacy mode the class has the configuration, and only the status tells.
            served: served.is_some() || (plan.config.is_none() && is_programmed(said)),
            conditions: said.map_or_else(Vec::new, |said| conditions(&said.conditions)),
            attached_routes: routes.len(),
            routes,
        }
    });
    let addresses = status.addresses.iter();
    GatewayOverview {
        id: name.to_string(),
        namespace: name.namespace.clone(),
        name: name.name.clone(),
        class: gateway.spec.gateway_class_name.clone(),
        conditions: conditions(&status.conditions),
        addresses: addresses.map(|address| address.value.clone()).collect(),
        listeners: listeners.collect(),
    }
}

fn is_programmed(said: Option<&ListenerStatus>) -> bool {
    said.is_some_and(|said| {
        let mut conditions = said.conditions.iter();
        conditions.any(|it| it.type_ == condition::PROGRAMMED && it.status == condition::TRUE)
    })
}

fn route_overview(
    snapshot: &Snapshot,
    settings: &Settings,
    name: &NamespacedName,
    route: &RouteView<'_>,
    plan: &RoutePlan,
) -> RouteOverview {
    let masked = is_masked(snapshot, route.kind, name);
    let parents = plan.status.parents.iter().filter_map(|said| {
        let gateway = parent_gateway(&name.namespace, &said.parent_ref)?;
        let taken_by = match masked {
            true => Vec::new(),
            false => taken_by(snapshot, route, &gateway, &said.parent_ref),
        };
        Some(ParentOverview {
            gateway: gateway.to_string(),
            listener: said.parent_ref.section_name.clone(),
            port: said.parent_ref.port,
            taken_by,
            conditions: conditions(&said.conditions),
        })
    });
    let backends = backends(snapshot, settings, route.kind, name);
    RouteOverview {
        id: route_id(route.kind, name),
        kind: route.kind.as_str().to_owned(),
        group: route.kind.group().to_owned(),
        namespace: name.namespace.clone(),
        name: name.name.clone(),
        cluster: (!masked).then(|| cluster_name(snapshot, route.kind, name)),
        parents: parents.collect(),
        backends: backends.iter().map(backend_overview).collect(),
    }
}

/// The listeners of a Gateway that take a route by one of its parentRefs.
fn taken_by(
    snapshot: &Snapshot,
    route: &RouteView<'_>,
    gateway: &NamespacedName,
    parent: &ParentRef,
) -> Vec<String> {
    let Some(found) = snapshot.gateways.get(gateway) else {
        return Vec::new();
    };
    let listeners = found.spec.listeners.iter();
    listeners
        .filter(|listener| refusal(snapshot, route, parent, &gateway.namespace, listener).is_none())
        .map(|listener| listener.name.clone())
        .collect()
}

fn backend_overview(outcome: &BackendOutcome) -> BackendOverview {
    let said = outcome.problems.iter().map(ToString::to_string);
    BackendOverview {
        kind: outcome.kind.clone(),
        namespace: outcome.name.namespace.clone(),
        name: outcome.name.name.clone(),
        ports: outcome.ports.map(|ports| ports.to_string()),
        endpoints: outcome.endpoints,
        names: outcome.domain_name.iter().cloned().collect(),
        resolved: outcome.problems.iter().all(|it| it.reason().is_none()),
        message: sentences(said),
    }
}

fn route_id(kind: RouteKind, name: &NamespacedName) -> String {
    format!("{}.{}/{name}", kind.as_str(), kind.group())
}

fn conditions(said: &[Condition]) -> Vec<ConditionOverview> {
    let one = |condition: &Condition| ConditionOverview {
        type_: condition.type_.clone(),
        status: condition.status.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
    };
    said.iter().map(one).collect()
}
