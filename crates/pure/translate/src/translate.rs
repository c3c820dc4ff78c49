//! The whole from its parts.

use std::collections::BTreeSet;

use crate::class::class_plan;
use crate::gateway::gateway_plan;
use crate::key::Unit;
use crate::plan::Plan;
use crate::route::route_plan;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

/// The plan for everything in the snapshot.
pub fn translate(snapshot: &Snapshot, settings: &Settings) -> Plan {
    translate_units(snapshot, settings, &snapshot.units())
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
