//! What is to be: configurations, objects and statuses.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use stunner_api::NamespacedName;
use stunner_api::gateway::{GatewayClassStatus, GatewayStatus, RouteStatus};
use stunner_config::Config;

use crate::key::{RouteKind, Unit};
use crate::last_good::LastGood;

/// The kinds of object that we create.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadKind {
    Service,
    ConfigMap,
    Deployment,
    DaemonSet,
}

/// An object that is to exist, with the fields that are ours and no others.
#[derive(Clone, PartialEq)]
pub enum Workload {
    Service(Box<Service>),
    ConfigMap(Box<ConfigMap>),
    Deployment(Box<Deployment>),
    DaemonSet(Box<DaemonSet>),
}

/// Without the data of a ConfigMap, which in legacy mode is a whole configuration.
impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Workload::Service(service) => service.fmt(f),
            Workload::ConfigMap(config_map) => {
                let keys = config_map.data.iter().flat_map(|data| data.keys());
                f.debug_struct("ConfigMap")
                    .field("metadata", &config_map.metadata)
                    .field("keys", &keys.collect::<Vec<_>>())
                    .finish()
            }
            Workload::Deployment(deployment) => deployment.fmt(f),
            Workload::DaemonSet(daemon_set) => daemon_set.fmt(f),
        }
    }
}

/// What a Gateway asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayPlan {
    /// The Gateway's UID: it owns the workloads, and nothing without this owner is ever deleted.
    pub uid: String,
    /// What its dataplane runs. `None`: nothing is known to serve (legacy mode, or a Gateway that never was in order).
    pub config: Option<Config>,
    pub workloads: Vec<Workload>,
    /// Kinds of which an object named like the Gateway, if it is ours, is to go.
    pub retired: Vec<WorkloadKind>,
    /// `None` leaves the status alone (a Gateway that is no longer ours).
    pub status: Option<GatewayStatus>,
    /// What to fall back to from now on.
    pub last_good: Option<LastGood>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ClassPlan {
    pub status: GatewayClassStatus,
    /// Legacy mode: the ConfigMap of the class.
    pub workloads: Vec<Workload>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RoutePlan {
    /// Our entries only; empty withdraws them.
    pub status: RouteStatus,
}

/// The plan for all units, or for those asked for.
///
/// A unit that was asked for and is not in its map does not exist any more, or is none of ours: what it had is to be
/// taken back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    pub classes: BTreeMap<String, ClassPlan>,
    pub gateways: BTreeMap<NamespacedName, GatewayPlan>,
    pub routes: BTreeMap<(RouteKind, NamespacedName), RoutePlan>,
}

impl Plan {
    /// The dataplane configurations by Gateway.
    pub fn configs(&self) -> impl Iterator<Item = (&NamespacedName, &Config)> {
        self.gateways
            .iter()
            .filter_map(|(name, plan)| Some((name, plan.config.as_ref()?)))
    }

    pub fn contains(&self, unit: &Unit) -> bool {
        match unit {
            Unit::Class(name) => self.classes.contains_key(name),
            Unit::Gateway(name) => self.gateways.contains_key(name),
            Unit::Route(kind, name) => self.routes.contains_key(&(*kind, name.clone())),
        }
    }
}
