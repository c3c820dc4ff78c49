//! Which units depend on an object.
//!
//! A class's translation looks at the class, its GatewayConfig and Dataplane, and in legacy mode at all its Gateways,
//! whose configurations share one ConfigMap. So the class of a touched Gateway is always touched too: in managed mode
//! that costs one small status, whatever the number of Gateways, and the snapshot need not know the mode.

use stunner_api::NamespacedName;

use super::index::{config_map_of, config_of_class, service_of_slice};
use super::read::parent_gateway;
use super::relevance::{
    backend_part_differs, config_map_differs, controller_differs, own_part_differs,
    route_part_differs,
};
use super::{Dirty, Snapshot};
use crate::attach::has_selector;
use crate::key::{Object, ObjectKey, ObjectKind, RouteId, RouteKind, Unit};

impl Snapshot {
    /// Adds the units that see a change of an object, as far as the world as it is now tells: asked once before the
    /// change and once after it, the answers together are complete.
    pub(super) fn touch_dependents(
        &self,
        key: &ObjectKey,
        old: Option<&Object>,
        new: Option<&Object>,
        dirty: &mut Dirty,
    ) {
        let name = &key.name;
        match key.kind {
            ObjectKind::GatewayClass => {
                dirty.insert(Unit::Class(name.name.clone()));
                let with_routes = controller_differs(old, new);
                for gateway in self.index.gateways_by_class.of(&name.name) {
                    self.touch_gateway(gateway, dirty);
                    if with_routes {
                        self.touch_routes_of_gateway(gateway, dirty);
                    }
                }
                for object in [old, new].into_iter().flatten() {
                    if let Object::GatewayClass(class) = object
                        && let Some(config) = config_of_class(class)
                    {
                        self.touch_rivals(&config, dirty);
                    }
                }
            }
            ObjectKind::GatewayConfig => {
                self.touch_config(name, dirty);
                if config_map_differs(old, new) {
                    self.touch_rivals(name, dirty);
                }
            }
            ObjectKind::Dataplane => {
                for config in self.index.configs_by_dataplane.of(&name.name) {
                    self.touch_config(config, dirty);
                }
                for gateway in self.index.gateways_by_last_good_dataplane.of(&name.name) {
                    self.touch_gateway(gateway, dirty);
                }
            }
            ObjectKind::Secret => {
                for config in self.index.configs_by_secret.of(name) {
                    self.touch_config(config, dirty);
                }
                for gateway in self.index.gateways_by_secret.of(name) {
                    self.touch_gateway(gateway, dirty);
                }
            }
            ObjectKind::Gateway => {
                self.touch_gateway(name, dirty);
                if route_part_differs(old, new) {
                    self.touch_routes_of_gateway(name, dirty);
                }
            }
            ObjectKind::Route(kind) => {
                dirty.insert(Unit::Route(kind, name.clone()));
                self.touch_gateways_of_route(kind, name, dirty);
                if old.is_none() || new.is_none() {
                    self.touch_namesakes(kind, name, dirty);
                }
            }
            ObjectKind::StaticService => {
                self.touch_routes(self.index.routes_by_static_service.of(name), dirty);
            }
            ObjectKind::Endpoints => {
                self.touch_routes(self.index.routes_by_service.of(name), dirty);
            }
            ObjectKind::EndpointSlice => {
                for object in [old, new].into_iter().flatten() {
                    if let Object::EndpointSlice(slice) = object
                        && let Some(service) = service_of_slice(slice)
                    {
                        self.touch_routes(self.index.routes_by_service.of(&service), dirty);
                    }
                }
            }
            ObjectKind::Service => self.touch_service(name, old, new, dirty),
            ObjectKind::ReferenceGrant => self.touch_referrers_into(&name.namespace, dirty),
            ObjectKind::Namespace => self.touch_selected(&name.name, dirty),
            // Only which node is chosen counts: see `touch_reached_at_nodes`.
            ObjectKind::Node => {}
            ObjectKind::Deployment | ObjectKind::DaemonSet => self.touch_gateway(name, dirty),
            ObjectKind::ConfigMap => {
                for gateway in self.index.gateways_by_authority.of(name) {
                    self.touch_gateway(gateway, dirty);
                }
                for config in self.index.configs_by_config_map.of(name) {
                    self.touch_config(config, dirty);
                }
            }
        }
    }

    /// A Gateway, if it exists, with its class.
    pub(super) fn touch_gateway(&self, name: &NamespacedName, dirty: &mut Dirty) {
        let Some(gateway) = self.gateways.get(name) else {
            return;
        };
        dirty.insert(Unit::Gateway(name.clone()));
        let class = &gateway.spec.gateway_class_name;
        if self.classes.contains_key(class) {
            dirty.insert(Unit::Class(class.clone()));
        }
    }

    /// The Gateways that are reached at the node that was chosen for it: another one was, or its address changed.
    pub(super) fn touch_reached_at_nodes(&self, dirty: &mut Dirty) {
        for service in &self.index.services_on_nodes {
            self.touch_gateway(service, dirty);
        }
    }

    /// The classes that use a GatewayConfig, with their Gateways.
    fn touch_config(&self, config: &NamespacedName, dirty: &mut Dirty) {
        for class in self.index.classes_by_config.of(config) {
            dirty.insert(Unit::Class(class.clone()));
            for gateway in self.index.gateways_by_class.of(class) {
                self.touch_gateway(gateway, dirty);
            }
        }
    }

    /// In legacy mode, where several classes want one ConfigMap, the first gets it. Classes and the ConfigMaps of their
    /// GatewayConfigs change too seldom for managed mode to mind.
    fn touch_rivals(&self, config: &NamespacedName, dirty: &mut Dirty) {
        if let Some(found) = self.gateway_configs.get(config) {
            let config_map = config_map_of(config, found);
            for rival in self.index.configs_by_config_map.of(&config_map) {
                self.touch_config(rival, dirty);
            }
        }
    }

    fn touch_service(
        &self,
        name: &NamespacedName,
        old: Option<&Object>,
        new: Option<&Object>,
        dirty: &mut Dirty,
    ) {
        if backend_part_differs(old, new) {
            self.touch_routes(self.index.routes_by_service.of(name), dirty);
        }
        if own_part_differs(old, new)
            && let Some(gateway) = self.gateways.get(name)
        {
            self.touch_gateway(name, dirty);
            // Once the class is gone, its Service is what tells that a Gateway was ours.
            if !self.classes.contains_key(&gateway.spec.gateway_class_name) {
                self.touch_routes_of_gateway(name, dirty);
            }
        }
    }

    /// Routes, and the Gateways that they may be attached to.
    fn touch_routes<'a>(&self, routes: impl Iterator<Item = &'a RouteId>, dirty: &mut Dirty) {
        for (kind, name) in routes {
            dirty.insert(Unit::Route(*kind, name.clone()));
            self.touch_gateways_of_route(*kind, name, dirty);
        }
    }

    /// The routes themselves: what their status says about the Gateway. Other Gateways do not see it.
    fn touch_routes_of_gateway(&self, gateway: &NamespacedName, dirty: &mut Dirty) {
        for (kind, name) in self.index.routes_by_gateway.of(gateway) {
            dirty.insert(Unit::Route(*kind, name.clone()));
        }
    }

    fn touch_gateways_of_route(&self, kind: RouteKind, name: &NamespacedName, dirty: &mut Dirty) {
        let Some(route) = self.route(kind, name) else {
            return;
        };
        for parent in route.parents {
            if let Some(gateway) = parent_gateway(&name.namespace, parent) {
                self.touch_gateway(&gateway, dirty);
            }
        }
    }

    /// Routes of other kinds with the same name: our UDPRoute masks the official one, and the cluster of a TCPRoute
    /// gives way to that of a UDPRoute.
    fn touch_namesakes(&self, kind: RouteKind, name: &NamespacedName, dirty: &mut Dirty) {
        if kind == RouteKind::Udp && self.has_route(RouteKind::OfficialUdp, name) {
            dirty.insert(Unit::Route(RouteKind::OfficialUdp, name.clone()));
            self.touch_gateways_of_route(RouteKind::OfficialUdp, name, dirty);
        }
        if kind != RouteKind::OfficialTcp {
            self.touch_gateways_of_route(RouteKind::OfficialTcp, name, dirty);
        }
    }

    /// Everything that refers into a namespace from another one.
    fn touch_referrers_into(&self, namespace: &str, dirty: &mut Dirty) {
        self.touch_routes(self.index.routes_by_foreign_namespace.of(namespace), dirty);
        for gateway in self.index.gateways_by_foreign_namespace.of(namespace) {
            self.touch_gateway(gateway, dirty);
        }
        for config in self.index.configs_by_foreign_namespace.of(namespace) {
            self.touch_config(config, dirty);
        }
    }

    /// The routes of a namespace whose Gateways choose by the namespace's labels, and these Gateways.
    fn touch_selected(&self, namespace: &str, dirty: &mut Dirty) {
        for (kind, name) in self.index.routes_by_namespace.of(namespace) {
            let Some(route) = self.route(*kind, name) else {
                continue;
            };
            for parent in route.parents {
                let Some(gateway) = parent_gateway(namespace, parent) else {
                    continue;
                };
                if self
                    .gateways
                    .get(&gateway)
                    .is_some_and(|gateway| has_selector(gateway))
                {
                    dirty.insert(Unit::Route(*kind, name.clone()));
                    self.touch_gateway(&gateway, dirty);
                }
            }
        }
    }
}
