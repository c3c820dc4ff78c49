//! Who refers to what. Each entry follows from one object alone, so that the same walk adds and removes it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use stunner_api::gateway::{Gateway, GatewayClass, SecretRef};
use stunner_api::v1::GatewayConfig;
use stunner_api::{NamespacedName, names};

use super::read::{RouteView, parent_gateway};
use crate::address::node_address;
use crate::backend::{BackendTarget, target};
use crate::key::{Object, RouteId, RouteKind};
use crate::last_good::LastGood;
use crate::metadata::derived_name;
use crate::secret;

/// From a thing to the objects that name it, whether or not the thing exists.
#[derive(Clone)]
pub(super) struct Referrers<K, V> {
    values_by_key: BTreeMap<K, BTreeSet<V>>,
}

impl<K, V> Default for Referrers<K, V> {
    fn default() -> Self {
        Referrers {
            values_by_key: BTreeMap::new(),
        }
    }
}

impl<K: Ord, V: Ord> Referrers<K, V> {
    pub(super) fn of<Q>(&self, key: &Q) -> impl Iterator<Item = &V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.values_by_key.get(key).into_iter().flatten()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.values_by_key.keys()
    }

    fn set(&mut self, key: K, value: V, present: bool) {
        if present {
            self.values_by_key.entry(key).or_default().insert(value);
        } else if let Some(values) = self.values_by_key.get_mut(&key) {
            values.remove(&value);
            if values.is_empty() {
                self.values_by_key.remove(&key);
            }
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct Index {
    pub(super) gateways_by_class: Referrers<String, NamespacedName>,
    pub(super) gateways_by_secret: Referrers<NamespacedName, NamespacedName>,
    /// By the ConfigMap with the authority of config discovery, whose name is cut short with that of the Gateway.
    pub(super) gateways_by_authority: Referrers<NamespacedName, NamespacedName>,
    pub(super) classes_by_config: Referrers<NamespacedName, String>,
    pub(super) configs_by_dataplane: Referrers<String, NamespacedName>,
    pub(super) configs_by_secret: Referrers<NamespacedName, NamespacedName>,
    /// The ConfigMaps of legacy mode.
    pub(super) configs_by_config_map: Referrers<NamespacedName, NamespacedName>,
    pub(super) routes_by_gateway: Referrers<NamespacedName, RouteId>,
    pub(super) routes_by_service: Referrers<NamespacedName, RouteId>,
    pub(super) routes_by_static_service: Referrers<NamespacedName, RouteId>,
    /// By the namespace the routes are in.
    pub(super) routes_by_namespace: Referrers<String, RouteId>,
    pub(super) slices_by_service: Referrers<NamespacedName, NamespacedName>,
    pub(super) grants_by_namespace: Referrers<String, NamespacedName>,
    /// By a namespace that is not their own and that they refer to.
    pub(super) routes_by_foreign_namespace: Referrers<String, RouteId>,
    pub(super) gateways_by_foreign_namespace: Referrers<String, NamespacedName>,
    pub(super) configs_by_foreign_namespace: Referrers<String, NamespacedName>,
    /// What a Gateway falls back to may name a Dataplane that nothing else names any more.
    pub(super) gateways_by_last_good_dataplane: Referrers<String, NamespacedName>,
    /// Services that are reached at nodes, so far as they are reached at all.
    pub(super) services_on_nodes: BTreeSet<NamespacedName>,
    /// Nodes that are reached from outside, those with an IP address before those with only a host name.
    pub(super) reachable_nodes: BTreeSet<(bool, String)>,
    /// Secrets of which it may be new that they are referred to, or that they are not.
    pub(super) changed_secrets: BTreeSet<NamespacedName>,
}

impl Index {
    /// Adds or removes what follows from an object.
    pub(super) fn set(&mut self, object: &Object, present: bool) {
        let name = NamespacedName::of(object.metadata());
        match object {
            Object::GatewayClass(class) => {
                if let Some(config) = config_of_class(class) {
                    self.classes_by_config.set(config, name.name, present);
                }
            }
            Object::GatewayConfig(config) => self.set_config(&name, config, present),
            Object::Gateway(gateway) => self.set_gateway(&name, gateway, present),
            Object::UdpRoute(route) => self.set_route(&name, &RouteView::own(route), present),
            Object::OfficialUdpRoute(route) => {
                let view = RouteView::official(RouteKind::OfficialUdp, route);
                self.set_route(&name, &view, present);
            }
            Object::OfficialTcpRoute(route) => {
                let view = RouteView::official(RouteKind::OfficialTcp, route);
                self.set_route(&name, &view, present);
            }
            Object::ReferenceGrant(_) => {
                self.grants_by_namespace
                    .set(name.namespace.clone(), name, present);
            }
            Object::EndpointSlice(slice) => {
                if let Some(service) = service_of_slice(slice) {
                    self.slices_by_service.set(service, name, present);
                }
            }
            Object::Service(service) => {
                if present && is_reached_at_nodes(service) {
                    self.services_on_nodes.insert(name);
                } else {
                    self.services_on_nodes.remove(&name);
                }
            }
            Object::Node(node) => {
                if let Some(address) = node_address(node) {
                    let entry = (address.hostname, name.name);
                    if present {
                        self.reachable_nodes.insert(entry);
                    } else {
                        self.reachable_nodes.remove(&entry);
                    }
                }
            }
            Object::StaticService(_)
            | Object::Dataplane(_)
            | Object::Secret(_)
            | Object::Endpoints(_)
            | Object::Namespace(_)
            | Object::Deployment(_)
            | Object::DaemonSet(_)
            | Object::ConfigMap(_) => {}
        }
    }

    pub(super) fn set_last_good(
        &mut self,
        gateway: &NamespacedName,
        last_good: &LastGood,
        present: bool,
    ) {
        let named = dataplane_of_config(last_good.config.spec.dataplane.as_deref());
        let kept = last_good.dataplane.iter().map(|(name, _)| name.as_str());
        for dataplane in kept.chain([named]) {
            self.gateways_by_last_good_dataplane.set(
                dataplane.to_owned(),
                gateway.clone(),
                present,
            );
        }
    }

    fn set_config(&mut self, name: &NamespacedName, config: &GatewayConfig, present: bool) {
        let spec = &config.spec;
        self.configs_by_dataplane.set(
            dataplane_of_config(spec.dataplane.as_deref()).to_owned(),
            name.clone(),
            present,
        );
        self.configs_by_config_map
            .set(config_map_of(name, config), name.clone(), present);
        let auth_ref = spec.auth_ref.as_ref();
        if let Some(secret) = auth_ref.and_then(|reference| secret_of(reference, &name.namespace)) {
            if secret.namespace != name.namespace {
                self.configs_by_foreign_namespace.set(
                    secret.namespace.clone(),
                    name.clone(),
                    present,
                );
            }
            self.changed_secrets.insert(secret.clone());
            self.configs_by_secret.set(secret, name.clone(), present);
        }
    }

    fn set_gateway(&mut self, name: &NamespacedName, gateway: &Gateway, present: bool) {
        self.gateways_by_class.set(
            gateway.spec.gateway_class_name.clone(),
            name.clone(),
            present,
        );
        let authority = derived_name(&name.name, names::cds::CONFIG_MAP_SUFFIX);
        let authority = NamespacedName::new(&name.namespace, authority);
        self.gateways_by_authority
            .set(authority, name.clone(), present);
        for secret in certificate_secrets(name, gateway) {
            if secret.namespace != name.namespace {
                self.gateways_by_foreign_namespace.set(
                    secret.namespace.clone(),
                    name.clone(),
                    present,
                );
            }
            self.changed_secrets.insert(secret.clone());
            self.gateways_by_secret.set(secret, name.clone(), present);
        }
    }

    fn set_route(&mut self, name: &NamespacedName, route: &RouteView<'_>, present: bool) {
        let id = (route.kind, name.clone());
        self.routes_by_namespace
            .set(name.namespace.clone(), id.clone(), present);
        for parent in route.parents {
            if let Some(gateway) = parent_gateway(&name.namespace, parent) {
                self.routes_by_gateway.set(gateway, id.clone(), present);
            }
        }
        for backend in &route.backends {
            let (referrers, backend) = match target(&name.namespace, backend) {
                Some(BackendTarget::Service(name)) => (&mut self.routes_by_service, name),
                Some(BackendTarget::StaticService(name)) => {
                    (&mut self.routes_by_static_service, name)
                }
                None => continue,
            };
            if backend.namespace != name.namespace {
                self.routes_by_foreign_namespace.set(
                    backend.namespace.clone(),
                    id.clone(),
                    present,
                );
            }
            referrers.set(backend, id.clone(), present);
        }
    }
}

/// The GatewayConfig that a class names. Whether group and kind are right is for the class's translation to say.
pub(super) fn config_of_class(class: &GatewayClass) -> Option<NamespacedName> {
    let parameters = class.spec.parameters_ref.as_ref()?;
    Some(NamespacedName::new(
        parameters.namespace.clone().unwrap_or_default(),
        parameters.name.clone(),
    ))
}

/// The ConfigMap that legacy mode writes for a GatewayConfig.
pub(super) fn config_map_of(name: &NamespacedName, config: &GatewayConfig) -> NamespacedName {
    let config_map = config.spec.stunner_config.as_deref();
    let config_map = config_map
        .filter(|name| !name.is_empty())
        .unwrap_or(names::LEGACY_CONFIG_MAP);
    NamespacedName::new(&name.namespace, config_map)
}

fn dataplane_of_config(name: Option<&str>) -> &str {
    name.filter(|name| !name.is_empty())
        .unwrap_or(names::DEFAULT_DATAPLANE)
}

/// `None` for what is no Secret: nothing is read then.
fn secret_of(reference: &SecretRef, namespace: &str) -> Option<NamespacedName> {
    secret::is_secret(reference).then(|| secret::name(reference, namespace))
}

/// The Secrets that a Gateway's listeners name.
pub(super) fn certificate_secrets(
    name: &NamespacedName,
    gateway: &Gateway,
) -> impl Iterator<Item = NamespacedName> {
    gateway
        .spec
        .listeners
        .iter()
        .filter_map(|listener| listener.tls.as_ref())
        .flat_map(|tls| &tls.certificate_refs)
        .filter_map(|reference| secret_of(reference, &name.namespace))
}

pub(super) fn service_of_slice(slice: &EndpointSlice) -> Option<NamespacedName> {
    let labels = slice.metadata.labels.as_ref()?;
    let service = labels.get(names::label::SERVICE_NAME)?;
    let namespace = slice.metadata.namespace.clone().unwrap_or_default();
    Some(NamespacedName::new(namespace, service.clone()))
}

/// Node ports, and no load balancer that has an address.
fn is_reached_at_nodes(service: &Service) -> bool {
    let has_node_port = service
        .spec
        .iter()
        .flat_map(|spec| spec.ports.iter().flatten())
        .any(|port| port.node_port.is_some_and(|port| port > 0));
    let is_balanced = service
        .spec
        .as_ref()
        .is_some_and(|spec| spec.type_.as_deref() == Some("LoadBalancer"));
    let has_ingress = service
        .status
        .iter()
        .filter_map(|status| status.load_balancer.as_ref())
        .flat_map(|balancer| balancer.ingress.iter().flatten())
        .any(|ingress| ingress.ip.is_some() || ingress.hostname.is_some());
    has_node_port && !(is_balanced && has_ingress)
}
