//! All manifests together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use stunner_api::gateway::{BackendRef, Gateway, GatewayClass, ParentRef};
use stunner_api::v1::GatewayConfig;
use stunner_api::{NamespacedName, names};
use stunner_translate::{Object, ObjectKey, ObjectKind, RouteKind};

use crate::reading::{Manifest, Reading};

/// Label of an EndpointSlice with the name of its Service.
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Manifests by what they are. Of those that are there twice the first one counts.
pub(super) struct World<'a> {
    readings: &'a [Reading],
    by_key: BTreeMap<&'a ObjectKey, &'a Manifest>,
    by_kind: HashMap<ObjectKind, Vec<&'a Manifest>>,
    slices_by_service: HashMap<NamespacedName, Vec<&'a Manifest>>,
    /// Objects that a file has and that could not be read.
    broken: BTreeSet<&'a ObjectKey>,
    /// The first file with a part of which not even that can be told.
    pub(super) obscure: Option<&'a str>,
    /// What routes that are our business name as backends.
    backends: BTreeSet<ObjectKey>,
}

/// Whose a Gateway is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner<'a> {
    Us(&'a GatewayClass),
    /// There is no readable class. Whoever checks its Gateway here means it to be ours.
    Unknown,
    SomebodyElse,
}

/// A route of any kind.
pub(super) struct RouteFields<'a> {
    pub(super) kind: RouteKind,
    pub(super) parents: &'a [ParentRef],
    /// By rule.
    pub(super) backends: Vec<&'a [BackendRef]>,
}

impl<'a> World<'a> {
    pub(super) fn new(readings: &'a [Reading]) -> Self {
        let mut by_key = BTreeMap::new();
        for manifest in readings.iter().flat_map(|reading| &reading.manifests) {
            by_key.entry(&manifest.key).or_insert(manifest);
        }
        let mut by_kind: HashMap<ObjectKind, Vec<&Manifest>> = HashMap::new();
        let mut slices_by_service: HashMap<NamespacedName, Vec<&Manifest>> = HashMap::new();
        for &manifest in by_key.values() {
            by_kind.entry(manifest.key.kind).or_default().push(manifest);
            if let Some(service) = service_of_slice(manifest) {
                slices_by_service.entry(service).or_default().push(manifest);
            }
        }
        let unreadable = || readings.iter().flat_map(|reading| &reading.unreadable);
        let mut world = World {
            readings,
            by_key,
            by_kind,
            slices_by_service,
            broken: unreadable().flatten().collect(),
            obscure: readings
                .iter()
                .find(|reading| reading.unreadable.contains(&None))
                .map(|reading| reading.file.as_str()),
            backends: BTreeSet::new(),
        };
        world.backends = world
            .manifests()
            .filter(|manifest| world.is_our_route(manifest))
            .filter_map(|manifest| Some((manifest, route(manifest)?)))
            .flat_map(|(manifest, route)| {
                let namespace = &manifest.key.name.namespace;
                route
                    .backends
                    .into_iter()
                    .flatten()
                    .filter_map(|backend| backend_key(namespace, backend))
            })
            .collect();
        world
    }

    pub(super) fn manifests(&self) -> impl Iterator<Item = &'a Manifest> + use<'a> {
        self.readings.iter().flat_map(|reading| &reading.manifests)
    }

    /// The manifests of a kind that count.
    pub(super) fn of_kind(&self, kind: ObjectKind) -> impl Iterator<Item = &'a Manifest> {
        self.by_kind.get(&kind).into_iter().flatten().copied()
    }

    /// The EndpointSlices of a Service.
    pub(super) fn slices_of(&self, service: &NamespacedName) -> &[&'a Manifest] {
        self.slices_by_service
            .get(service)
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn counting(&self) -> impl Iterator<Item = &'a Manifest> {
        self.by_key.values().copied()
    }

    /// The manifest of the same object that counts instead of this one.
    pub(super) fn earlier(&self, manifest: &Manifest) -> Option<&'a Manifest> {
        let first = self.by_key.get(&manifest.key).copied()?;
        (!std::ptr::eq(first, manifest)).then_some(first)
    }

    pub(super) fn find(&self, key: &ObjectKey) -> Option<&'a Manifest> {
        self.by_key.get(key).copied()
    }

    /// The files have such an object, though perhaps a broken one.
    pub(super) fn has(&self, key: &ObjectKey) -> bool {
        self.by_key.contains_key(key) || self.broken.contains(key)
    }

    /// Something of that kind could not be read, or something of which the kind cannot be told.
    pub(super) fn may_miss(&self, kind: ObjectKind) -> bool {
        self.obscure.is_some() || self.broken.iter().any(|key| key.kind == kind)
    }

    pub(super) fn gateway(&self, name: &NamespacedName) -> Option<(&'a Manifest, &'a Gateway)> {
        let manifest = self.find(&key(ObjectKind::Gateway, name))?;
        match &manifest.object {
            Object::Gateway(gateway) => Some((manifest, gateway)),
            _ => None,
        }
    }

    pub(super) fn owner(&self, gateway: &Gateway) -> Owner<'a> {
        let name = &gateway.spec.gateway_class_name;
        let found = self.find(&ObjectKey::new(ObjectKind::GatewayClass, "", name));
        match found.map(|manifest| &manifest.object) {
            Some(Object::GatewayClass(class)) if is_ours(class) => Owner::Us(class),
            Some(_) => Owner::SomebodyElse,
            None => Owner::Unknown,
        }
    }

    /// The GatewayConfig of a Gateway, if it is there.
    pub(super) fn config(&self, gateway: &Gateway) -> Option<&'a GatewayConfig> {
        let Owner::Us(class) = self.owner(gateway) else {
            return None;
        };
        let reference = class.spec.parameters_ref.as_ref()?;
        let namespace = reference.namespace.as_deref().unwrap_or_default();
        let key = ObjectKey::new(ObjectKind::GatewayConfig, namespace, &reference.name);
        match &self.find(&key)?.object {
            Object::GatewayConfig(config) => Some(config),
            _ => None,
        }
    }

    /// A route is somebody else's when all its parents are.
    pub(super) fn is_our_route(&self, manifest: &Manifest) -> bool {
        let Some(route) = route(manifest) else {
            return false;
        };
        let is_foreign = |parent: &ParentRef| {
            let Some(name) = parent_gateway(&manifest.key.name.namespace, parent) else {
                return true;
            };
            self.gateway(&name)
                .is_some_and(|(_, gateway)| matches!(self.owner(gateway), Owner::SomebodyElse))
        };
        route.parents.is_empty() || !route.parents.iter().all(is_foreign)
    }

    pub(super) fn routes(&self) -> impl Iterator<Item = &'a Manifest> {
        RouteKind::ALL
            .into_iter()
            .flat_map(|kind| self.of_kind(ObjectKind::Route(kind)))
    }

    /// Some route that is our business has this object as a backend.
    pub(super) fn is_backend(&self, key: &ObjectKey) -> bool {
        self.backends.contains(key)
    }
}

pub(super) fn key(kind: ObjectKind, name: &NamespacedName) -> ObjectKey {
    ObjectKey {
        kind,
        name: name.clone(),
    }
}

pub(super) fn is_ours(class: &GatewayClass) -> bool {
    class.spec.controller_name == names::CONTROLLER_NAME
}

/// The fields of a route; `None` for anything else.
pub(super) fn route(manifest: &Manifest) -> Option<RouteFields<'_>> {
    Some(match &manifest.object {
        Object::UdpRoute(route) => RouteFields {
            kind: RouteKind::Udp,
            parents: route.spec.parent_refs.as_deref().unwrap_or_default(),
            backends: route
                .spec
                .rules
                .iter()
                .map(|rule| rule.backend_refs.as_deref().unwrap_or_default())
                .collect(),
        },
        Object::OfficialUdpRoute(route) | Object::OfficialTcpRoute(route) => RouteFields {
            kind: match manifest.key.kind {
                ObjectKind::Route(kind) => kind,
                _ => return None,
            },
            parents: route.spec.parent_refs.as_deref().unwrap_or_default(),
            backends: route
                .spec
                .rules
                .iter()
                .map(|rule| rule.backend_refs.as_deref().unwrap_or_default())
                .collect(),
        },
        _ => return None,
    })
}

fn service_of_slice(manifest: &Manifest) -> Option<NamespacedName> {
    let Object::EndpointSlice(slice) = &manifest.object else {
        return None;
    };
    let namespace = &manifest.key.name.namespace;
    Some(NamespacedName::new(namespace, service_name(slice)?))
}

/// The Service that an EndpointSlice belongs to.
pub(super) fn service_name(slice: &EndpointSlice) -> Option<&str> {
    let labels = slice.metadata.labels.as_ref()?;
    labels.get(SERVICE_NAME).map(String::as_str)
}

/// A namespace that a reference names, or that of the object which refers.
pub(super) fn namespace_or<'n>(given: Option<&'n str>, own: &'n str) -> &'n str {
    given.filter(|given| !given.is_empty()).unwrap_or(own)
}

/// The Gateway that a parentRef names; `None` for parents of other kinds.
pub(super) fn parent_gateway(namespace: &str, parent: &ParentRef) -> Option<NamespacedName> {
    let group = parent.group.as_deref().unwrap_or(names::GATEWAY_GROUP);
    let kind = parent.kind.as_deref().unwrap_or(names::GATEWAY_KIND);
    (group == names::GATEWAY_GROUP && kind == names::GATEWAY_KIND).then(|| {
        let namespace = namespace_or(parent.namespace.as_deref(), namespace);
        NamespacedName::new(namespace, &parent.name)
    })
}

/// The object that a backendRef names; `None` for kinds that cannot be a backend.
pub(super) fn backend_key(namespace: &str, backend: &BackendRef) -> Option<ObjectKey> {
    let group = backend.group.as_deref().unwrap_or_default();
    let kind = backend.kind.as_deref().filter(|kind| !kind.is_empty());
    let kind = match (group, kind.unwrap_or(names::SERVICE_KIND)) {
        ("", names::SERVICE_KIND) => ObjectKind::Service,
        (names::GROUP, names::STATIC_SERVICE_KIND) => ObjectKind::StaticService,
        _ => return None,
    };
    let namespace = namespace_or(backend.namespace.as_deref(), namespace);
    Some(ObjectKey::new(kind, namespace, &backend.name))
}
