//! The world as plain values, with the indexes that tell what depends on what.
//!
//! Every change goes through [`Snapshot::apply`] and [`Snapshot::remove`], which answer with the units whose
//! translation may differ now: no unit is missing, and the cost follows the number of dependents, not the size of the
//! world. A change that translation cannot see, such as a heartbeat or a status that we wrote ourselves, touches none.

mod apply;
mod dirty;
mod index;
mod read;
mod relevance;

#[cfg(test)]
pub(crate) mod manifest;
#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints, Namespace, Node, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, GatewayClass, L4Route, ReferenceGrant};
use stunner_api::v1::{Dataplane, GatewayConfig, StaticService, UdpRoute};

use crate::key::Unit;
use crate::last_good::LastGood;
use crate::plan::WorkloadKind;

pub(crate) use read::{RouteView, parent_gateway};

/// The units that a change touches.
pub type Dirty = BTreeSet<Unit>;

/// Why an object that a Gateway needs could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFailure {
    /// What the API server said, or that the name is taken by an object that is not ours.
    pub message: String,
    /// The API server refused `spec.externalIPs`: the Service goes without.
    pub external_ips_refused: bool,
}

/// Everything that translation looks at.
#[derive(Clone, Default)]
pub struct Snapshot {
    pub(crate) classes: BTreeMap<String, Arc<GatewayClass>>,
    pub(crate) gateway_configs: BTreeMap<NamespacedName, Arc<GatewayConfig>>,
    pub(crate) gateways: BTreeMap<NamespacedName, Arc<Gateway>>,
    pub(crate) udp_routes: BTreeMap<NamespacedName, Arc<UdpRoute>>,
    pub(crate) official_udp_routes: BTreeMap<NamespacedName, Arc<L4Route>>,
    pub(crate) official_tcp_routes: BTreeMap<NamespacedName, Arc<L4Route>>,
    pub(crate) static_services: BTreeMap<NamespacedName, Arc<StaticService>>,
    pub(crate) dataplanes: BTreeMap<String, Arc<Dataplane>>,
    pub(crate) reference_grants: BTreeMap<NamespacedName, Arc<ReferenceGrant>>,
    pub(crate) secrets: BTreeMap<NamespacedName, Arc<Secret>>,
    pub(crate) services: BTreeMap<NamespacedName, Arc<Service>>,
    pub(crate) endpoint_slices: BTreeMap<NamespacedName, Arc<EndpointSlice>>,
    pub(crate) endpoints: BTreeMap<NamespacedName, Arc<Endpoints>>,
    pub(crate) namespaces: BTreeMap<String, Arc<Namespace>>,
    pub(crate) nodes: BTreeMap<String, Arc<Node>>,
    pub(crate) deployments: BTreeMap<NamespacedName, Arc<Deployment>>,
    pub(crate) daemon_sets: BTreeMap<NamespacedName, Arc<DaemonSet>>,
    pub(crate) config_maps: BTreeMap<NamespacedName, Arc<ConfigMap>>,
    /// By Gateway.
    pub(crate) last_good: BTreeMap<NamespacedName, Arc<LastGood>>,
    /// By Gateway and kind of object.
    pub(crate) write_failures: BTreeMap<(NamespacedName, WorkloadKind), WriteFailure>,
    index: index::Index,
}

/// Only its size: among the objects are Secrets, and manifests that `kubectl apply` keeps in annotations.
impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("classes", &self.classes.len())
            .field("gateways", &self.gateways.len())
            .field("routes", &self.route_ids().count())
            .finish_non_exhaustive()
    }
}
