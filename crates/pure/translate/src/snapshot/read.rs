//! Looking things up.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use stunner_api::gateway::{BackendRef, Gateway, L4Route, ParentRef, ReferenceGrant};
use stunner_api::v1::UdpRoute;
use stunner_api::{NamespacedName, names};

use super::index::certificate_secrets;
use super::{Dirty, Snapshot};
use crate::address::node_address;
use crate::key::{RouteId, RouteKind, Unit};
use crate::ownership::ownership;
use crate::settings::Settings;

/// A route of any kind.
#[derive(Debug, Clone)]
pub(crate) struct RouteView<'a> {
    pub(crate) kind: RouteKind,
    pub(crate) metadata: &'a ObjectMeta,
    pub(crate) parents: &'a [ParentRef],
    /// Of all rules, in order: access to one backend takes nothing from another.
    pub(crate) backends: Vec<&'a BackendRef>,
}

impl<'a> RouteView<'a> {
    pub(crate) fn own(route: &'a UdpRoute) -> Self {
        let rules = route.spec.rules.iter();
        RouteView {
            kind: RouteKind::Udp,
            metadata: &route.metadata,
            parents: route.spec.parent_refs.as_deref().unwrap_or_default(),
            backends: rules
                .flat_map(|rule| rule.backend_refs.iter().flatten())
                .collect(),
        }
    }

    pub(crate) fn official(kind: RouteKind, route: &'a L4Route) -> Self {
        let rules = route.spec.rules.iter();
        RouteView {
            kind,
            metadata: &route.metadata,
            parents: route.spec.parent_refs.as_deref().unwrap_or_default(),
            backends: rules
                .flat_map(|rule| rule.backend_refs.iter().flatten())
                .collect(),
        }
    }
}

/// The Gateway that a parent of a route in this namespace is; `None` for parents of other kinds.
pub(crate) fn parent_gateway(route_namespace: &str, parent: &ParentRef) -> Option<NamespacedName> {
    let group = parent.group.as_deref().unwrap_or(names::GATEWAY_GROUP);
    let kind = parent.kind.as_deref().unwrap_or(names::GATEWAY_KIND);
    if group != names::GATEWAY_GROUP || kind != names::GATEWAY_KIND {
        return None;
    }
    let namespace = parent
        .namespace
        .as_deref()
        .filter(|namespace| !namespace.is_empty())
        .unwrap_or(route_namespace);
    Some(NamespacedName::new(namespace, &parent.name))
}

impl Snapshot {
    /// Everything there is to translate.
    pub fn units(&self) -> Dirty {
        let classes = self.classes.keys().cloned().map(Unit::Class);
        let gateways = self.gateways.keys().cloned().map(Unit::Gateway);
        let routes = self
            .route_ids()
            .map(|(kind, name)| Unit::Route(kind, name.clone()));
        classes.chain(gateways).chain(routes).collect()
    }

    pub fn gateways(&self) -> impl Iterator<Item = (&NamespacedName, &Arc<Gateway>)> {
        self.gateways.iter()
    }

    /// The Secrets that GatewayConfigs and our own Gateways refer to: no others need be read.
    pub fn referenced_secrets(&self, settings: &Settings) -> BTreeSet<NamespacedName> {
        let by_gateways = self
            .index
            .gateways_by_secret
            .keys()
            .filter(|secret| self.references_secret(settings, secret));
        let by_configs = self.index.configs_by_secret.keys();
        by_configs.chain(by_gateways).cloned().collect()
    }

    pub fn references_secret(&self, settings: &Settings, secret: &NamespacedName) -> bool {
        self.index.configs_by_secret.of(secret).next().is_some()
            || self.index.gateways_by_secret.of(secret).any(|name| {
                self.gateways
                    .get(name)
                    .is_some_and(|gateway| ownership(self, settings, gateway).is_ours())
            })
    }

    /// The Secrets for which [`Snapshot::references_secret`] may have a new answer since this was last asked.
    pub fn take_changed_secrets(&mut self) -> BTreeSet<NamespacedName> {
        std::mem::take(&mut self.index.changed_secrets)
    }

    /// Where a node is reached from outside the cluster.
    pub fn node_external_address(&self, node: &str) -> Option<String> {
        node_address(self.nodes.get(node)?).map(|found| found.address)
    }

    /// The first node by name that has an IP address for the world outside, else the first that has a host name.
    pub(crate) fn reachable_node(&self) -> Option<&Node> {
        let (_, name) = self.index.reachable_nodes.first()?;
        self.nodes.get(name).map(AsRef::as_ref)
    }

    pub(crate) fn route(&self, kind: RouteKind, name: &NamespacedName) -> Option<RouteView<'_>> {
        match kind {
            RouteKind::Udp => self.udp_routes.get(name).map(|route| RouteView::own(route)),
            RouteKind::OfficialUdp => self
                .official_udp_routes
                .get(name)
                .map(|route| RouteView::official(kind, route)),
            RouteKind::OfficialTcp => self
                .official_tcp_routes
                .get(name)
                .map(|route| RouteView::official(kind, route)),
        }
    }

    pub(crate) fn has_route(&self, kind: RouteKind, name: &NamespacedName) -> bool {
        match kind {
            RouteKind::Udp => self.udp_routes.contains_key(name),
            RouteKind::OfficialUdp => self.official_udp_routes.contains_key(name),
            RouteKind::OfficialTcp => self.official_tcp_routes.contains_key(name),
        }
    }

    /// The names of all routes.
    pub(crate) fn route_ids(&self) -> impl Iterator<Item = (RouteKind, &NamespacedName)> {
        let own = self.udp_routes.keys().map(|name| (RouteKind::Udp, name));
        let udp = self.official_udp_routes.keys();
        let tcp = self.official_tcp_routes.keys();
        own.chain(udp.map(|name| (RouteKind::OfficialUdp, name)))
            .chain(tcp.map(|name| (RouteKind::OfficialTcp, name)))
    }

    /// The routes that name a Gateway as a parent, taken or not.
    pub(crate) fn routes_of_gateway(
        &self,
        gateway: &NamespacedName,
    ) -> impl Iterator<Item = &RouteId> {
        self.index.routes_by_gateway.of(gateway)
    }

    pub(crate) fn gateways_of_class(&self, class: &str) -> impl Iterator<Item = &NamespacedName> {
        self.index.gateways_by_class.of(class)
    }

    /// The EndpointSlices of a Service.
    pub(crate) fn slices_of(
        &self,
        service: &NamespacedName,
    ) -> impl Iterator<Item = &Arc<EndpointSlice>> {
        self.index
            .slices_by_service
            .of(service)
            .filter_map(|slice| self.endpoint_slices.get(slice))
    }

    /// The ReferenceGrants that sit in a namespace.
    pub(crate) fn grants_in(&self, namespace: &str) -> impl Iterator<Item = &Arc<ReferenceGrant>> {
        self.index
            .grants_by_namespace
            .of(namespace)
            .filter_map(|grant| self.reference_grants.get(grant))
    }

    /// Marks the Secrets of a Gateway that became ours, or stopped to be.
    pub(super) fn mark_secrets_of_gateways(&mut self, class: &str) {
        let secrets: Vec<NamespacedName> = self
            .index
            .gateways_by_class
            .of(class)
            .filter_map(|name| Some((name, self.gateways.get(name)?)))
            .flat_map(|(name, gateway)| certificate_secrets(name, gateway))
            .collect();
        self.index.changed_secrets.extend(secrets);
    }
}
