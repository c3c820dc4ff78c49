//! What to say when the operator stops for good: that nobody attends to the objects any more.
//!
//! Routes keep their word: they were attached, and the dataplanes go on serving them.

use stunner_api::gateway::GatewayClassStatus;
use stunner_api::names::{condition as kind, reason};

use crate::condition::condition;
use crate::gateway::status::withdrawn;
use crate::ownership::{Ownership, class_is_ours, last_good, ownership};
use crate::plan::{ClassPlan, GatewayPlan, Plan};
use crate::settings::Settings;
use crate::snapshot::Snapshot;

/// The statuses of our classes and Gateways on exit. The plan asks for no object and takes none away.
pub fn farewell(snapshot: &Snapshot, settings: &Settings) -> Plan {
    let message = format!(
        "The operator {} has been stopped; what it set up keeps running unattended until it is started again.",
        settings.controller_name
    );
    let mut plan = Plan::default();
    for (name, class) in &snapshot.classes {
        if !class_is_ours(settings, class) {
            continue;
        }
        let accepted = condition(
            &class.metadata,
            kind::ACCEPTED,
            false,
            reason::INVALID_PARAMETERS,
            message.clone(),
        );
        let status = GatewayClassStatus {
            conditions: vec![accepted],
            supported_features: Vec::new(),
        };
        let workloads = Vec::new();
        plan.classes
            .insert(name.clone(), ClassPlan { status, workloads });
    }
    for (name, gateway) in &snapshot.gateways {
        let is_ours = match ownership(snapshot, settings, gateway) {
            Ownership::Ours(_) => true,
            // Whose class it had nobody knows otherwise.
            Ownership::ClassGone => last_good(snapshot, gateway).is_some(),
            Ownership::NotOurs => false,
        };
        if !is_ours {
            continue;
        }
        let mut status = withdrawn(settings, gateway, |kind_| {
            // Neither is defined by the Gateway API for this case; both are what the Go system wrote.
            let reason_ = match kind_ {
                kind::ACCEPTED => reason::PENDING,
                _ => reason::INVALID,
            };
            condition(&gateway.metadata, kind_, false, reason_, message.clone())
        });
        // The Service and its address stay.
        let live = gateway.status.as_ref();
        status.addresses = live.map_or_else(Vec::new, |live| live.addresses.clone());
        let gateway_plan = GatewayPlan {
            uid: gateway.metadata.uid.clone().unwrap_or_default(),
            config: None,
            workloads: Vec::new(),
            retired: Vec::new(),
            status: Some(status),
            last_good: None,
        };
        plan.gateways.insert(name.clone(), gateway_plan);
    }
    plan
}

#[cfg(test)]
mod tests;
