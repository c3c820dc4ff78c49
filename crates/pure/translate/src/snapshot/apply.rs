//! Changing the world.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use stunner_api::NamespacedName;

use super::relevance::same_where_it_counts;
use super::{Dirty, Snapshot, WriteFailure};
use crate::address::node_address;
use crate::key::{Object, ObjectKey, ObjectKind, RouteKind};
use crate::last_good::LastGood;
use crate::plan::WorkloadKind;

impl Snapshot {
    /// An object that is new or has changed.
    pub fn apply(&mut self, object: Object) -> Dirty {
        let key = object.key();
        self.change(&key, Some(object))
    }

    /// An object that is gone.
    pub fn remove(&mut self, key: &ObjectKey) -> Dirty {
        self.change(key, None)
    }

    /// What a Gateway falls back to. It comes out of translation and does not call for another one.
    pub fn set_last_good(&mut self, gateway: &NamespacedName, last_good: Option<LastGood>) {
        if let Some(old) = self.last_good.remove(gateway) {
            self.index.set_last_good(gateway, &old, false);
        }
        if let Some(new) = last_good {
            self.index.set_last_good(gateway, &new, true);
            self.last_good.insert(gateway.clone(), Arc::new(new));
        }
    }

    /// What became of writing an object for a Gateway; `None` when it was written.
    pub fn set_write_failure(
        &mut self,
        gateway: &NamespacedName,
        kind: WorkloadKind,
        failure: Option<WriteFailure>,
    ) -> Dirty {
        let mut dirty = Dirty::new();
        let changed = match (self.write_failures.entry((gateway.clone(), kind)), failure) {
            (Entry::Occupied(old), Some(new)) if *old.get() == new => false,
            (Entry::Occupied(mut old), Some(new)) => {
                old.insert(new);
                true
            }
            (Entry::Occupied(old), None) => {
                old.remove();
                true
            }
            (Entry::Vacant(_), None) => false,
            (Entry::Vacant(place), Some(new)) => {
                place.insert(new);
                true
            }
        };
        if changed {
            self.touch_gateway(gateway, &mut dirty);
        }
        dirty
    }

    /// One path for all kinds: who depended on the object as it was, and who depends on it as it is.
    fn change(&mut self, key: &ObjectKey, new: Option<Object>) -> Dirty {
        let old = self.object(key);
        let mut dirty = Dirty::new();
        match (&old, &new) {
            (None, None) => return dirty,
            (Some(old), Some(new)) if same_where_it_counts(old, new) => {
                self.put(key, Some(new.clone()));
                return dirty;
            }
            _ => {}
        }
        let node_before = self.reachable_node().and_then(node_address);
        self.touch_dependents(key, old.as_ref(), new.as_ref(), &mut dirty);
        if let Some(old) = &old {
            self.index.set(old, false);
        }
        self.put(key, new.clone());
        if let Some(new) = &new {
            self.index.set(new, true);
        }
        self.touch_dependents(key, old.as_ref(), new.as_ref(), &mut dirty);
        if self.reachable_node().and_then(node_address) != node_before {
            self.touch_reached_at_nodes(&mut dirty);
        }
        match key.kind {
            ObjectKind::GatewayClass => self.mark_secrets_of_gateways(&key.name.name),
            ObjectKind::Gateway if new.is_none() => {
                // A Gateway that is made anew starts without the failures of the former.
                self.forget_write_failures(&key.name);
            }
            _ => {}
        }
        dirty
    }

    fn forget_write_failures(&mut self, gateway: &NamespacedName) {
        let kinds = [
            WorkloadKind::Service,
            WorkloadKind::ConfigMap,
            WorkloadKind::Deployment,
            WorkloadKind::DaemonSet,
        ];
        for kind in kinds {
            self.write_failures.remove(&(gateway.clone(), kind));
        }
    }

    fn object(&self, key: &ObjectKey) -> Option<Object> {
        let name = &key.name;
        match key.kind {
            ObjectKind::GatewayClass => found(&self.classes, &name.name, Object::GatewayClass),
            ObjectKind::GatewayConfig => found(&self.gateway_configs, name, Object::GatewayConfig),
            ObjectKind::Gateway => found(&self.gateways, name, Object::Gateway),
            ObjectKind::Route(RouteKind::Udp) => found(&self.udp_routes, name, Object::UdpRoute),
            ObjectKind::Route(RouteKind::OfficialUdp) => {
                found(&self.official_udp_routes, name, Object::OfficialUdpRoute)
            }
            ObjectKind::Route(RouteKind::OfficialTcp) => {
                found(&self.official_tcp_routes, name, Object::OfficialTcpRoute)
            }
            ObjectKind::StaticService => found(&self.static_services, name, Object::StaticService),
            ObjectKind::Dataplane => found(&self.dataplanes, &name.name, Object::Dataplane),
            ObjectKind::ReferenceGrant => {
                found(&self.reference_grants, name, Object::ReferenceGrant)
            }
            ObjectKind::Secret => found(&self.secrets, name, Object::Secret),
            ObjectKind::Service => found(&self.services, name, Object::Service),
            ObjectKind::EndpointSlice => found(&self.endpoint_slices, name, Object::EndpointSlice),
            ObjectKind::Endpoints => found(&self.endpoints, name, Object::Endpoints),
            ObjectKind::Namespace => found(&self.namespaces, &name.name, Object::Namespace),
            ObjectKind::Node => found(&self.nodes, &name.name, Object::Node),
            ObjectKind::Deployment => found(&self.deployments, name, Object::Deployment),
            ObjectKind::DaemonSet => found(&self.daemon_sets, name, Object::DaemonSet),
            ObjectKind::ConfigMap => found(&self.config_maps, name, Object::ConfigMap),
        }
    }

    fn put(&mut self, key: &ObjectKey, object: Option<Object>) {
        let name = key.name.clone();
        match object {
            Some(Object::GatewayClass(new)) => drop(self.classes.insert(name.name, new)),
            Some(Object::GatewayConfig(new)) => drop(self.gateway_configs.insert(name, new)),
            Some(Object::Gateway(new)) => drop(self.gateways.insert(name, new)),
            Some(Object::UdpRoute(new)) => drop(self.udp_routes.insert(name, new)),
            Some(Object::OfficialUdpRoute(new)) => drop(self.official_udp_routes.insert(name, new)),
            Some(Object::OfficialTcpRoute(new)) => drop(self.official_tcp_routes.insert(name, new)),
            Some(Object::StaticService(new)) => drop(self.static_services.insert(name, new)),
            Some(Object::Dataplane(new)) => drop(self.dataplanes.insert(name.name, new)),
            Some(Object::ReferenceGrant(new)) => drop(self.reference_grants.insert(name, new)),
            Some(Object::Secret(new)) => drop(self.secrets.insert(name, new)),
            Some(Object::Service(new)) => drop(self.services.insert(name, new)),
            Some(Object::EndpointSlice(new)) => drop(self.endpoint_slices.insert(name, new)),
            Some(Object::Endpoints(new)) => drop(self.endpoints.insert(name, new)),
            Some(Object::Namespace(new)) => drop(self.namespaces.insert(name.name, new)),
            Some(Object::Node(new)) => drop(self.nodes.insert(name.name, new)),
            Some(Object::Deployment(new)) => drop(self.deployments.insert(name, new)),
            Some(Object::DaemonSet(new)) => drop(self.daemon_sets.insert(name, new)),
            Some(Object::ConfigMap(new)) => drop(self.config_maps.insert(name, new)),
            None => self.take(key),
        }
    }

    fn take(&mut self, key: &ObjectKey) {
        let name = &key.name;
        match key.kind {
            ObjectKind::GatewayClass => drop(self.classes.remove(&name.name)),
            ObjectKind::GatewayConfig => drop(self.gateway_configs.remove(name)),
            ObjectKind::Gateway => drop(self.gateways.remove(name)),
            ObjectKind::Route(RouteKind::Udp) => drop(self.udp_routes.remove(name)),
            ObjectKind::Route(RouteKind::OfficialUdp) => {
                drop(self.official_udp_routes.remove(name));
            }
            ObjectKind::Route(RouteKind::OfficialTcp) => {
                drop(self.official_tcp_routes.remove(name));
            }
            ObjectKind::StaticService => drop(self.static_services.remove(name)),
            ObjectKind::Dataplane => drop(self.dataplanes.remove(&name.name)),
            ObjectKind::ReferenceGrant => drop(self.reference_grants.remove(name)),
            ObjectKind::Secret => drop(self.secrets.remove(name)),
            ObjectKind::Service => drop(self.services.remove(name)),
            ObjectKind::EndpointSlice => drop(self.endpoint_slices.remove(name)),
            ObjectKind::Endpoints => drop(self.endpoints.remove(name)),
            ObjectKind::Namespace => drop(self.namespaces.remove(&name.name)),
            ObjectKind::Node => drop(self.nodes.remove(&name.name)),
            ObjectKind::Deployment => drop(self.deployments.remove(name)),
            ObjectKind::DaemonSet => drop(self.daemon_sets.remove(name)),
            ObjectKind::ConfigMap => drop(self.config_maps.remove(name)),
        }
    }
}

fn found<K: Ord, T>(
    objects: &BTreeMap<K, Arc<T>>,
    key: &K,
    wrap: impl Fn(Arc<T>) -> Object,
) -> Option<Object> {
    objects.get(key).cloned().map(wrap)
}
