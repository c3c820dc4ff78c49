//! The whole from its parts.

use std::collections::BTreeSet;

use crate::class::class_plan;
use crate::gateway::gateway_plan;
use crate::key::{RouteKind, Unit};
use crate::plan::Plan;
use crate::route::route_plan;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

/// The plan for everything in the snapshot.
pub fn translate(snapshot: &Snapshot, settings: &Settings) -> Plan {
    translate_units(snapshot, settings, &units(snapshot))
}

/// The plan for some units. One that is missing from the plan does not exist, or is none of ours.
pub fn translate_units(snapshot: &Snapshot, settings: &Settings, units: &BTreeSet<Unit>) -> Plan {
    let mut plan = Plan::default();
    for unit in units {
        match unit {
            Unit::Class(name) => {
                if let Some(class) = class_plan(snapshot, settings, name) {
                    plan.classes.insert(name.clone(), class);
                }
            }
            Unit::Gateway(name) => {
                if let Some(gateway) = gateway_plan(snapshot, settings, name) {
                    plan.gateways.insert(name.clone(), gateway);
                }
            }
            Unit::Route(kind, name) => {
                if let Some(route) = route_plan(snapshot, settings, *kind, name) {
                    plan.routes.insert((*kind, name.clone()), route);
                }
            }
        }
    }
    plan
}

fn units(snapshot: &Snapshot) -> BTreeSet<Unit> {
    let routes = |kind, names: Vec<_>| {
        names
            .into_iter()
            .map(move |name: &stunner_api::NamespacedName| Unit::Route(kind, name.clone()))
    };
    let classes = snapshot.classes.keys().cloned().map(Unit::Class);
    classes
        .chain(snapshot.gateways.keys().cloned().map(Unit::Gateway))
        .chain(routes(RouteKind::Udp, snapshot.udp_routes.keys().collect()))
        .chain(routes(
            RouteKind::OfficialUdp,
            snapshot.official_udp_routes.keys().collect(),
        ))
        .chain(routes(
            RouteKind::OfficialTcp,
            snapshot.official_tcp_routes.keys().collect(),
        ))
        .collect()
}
