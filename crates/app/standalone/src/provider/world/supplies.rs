//! What a cluster makes of the objects it is given, and what it has by itself: namespaces for those that live in one,
//! endpoints for Services, the Dataplane of an installation.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Endpoints, Namespace, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use stunner_api::install::default_dataplane;
use stunner_api::{NamespacedName, names};
use stunner_translate::{Object, ObjectKey, ObjectKind};

use super::dress::{dress, same};
use super::{Change, Happened, Served, Source};

/// The label by which an EndpointSlice belongs to a Service.
const SERVICE_NAME_LABEL: &str = "kubernetes.io/service-name";

#[derive(Debug, Default)]
pub(super) struct Supplies {
    /// How many objects live in a namespace.
    objects_by_namespace: BTreeMap<String, usize>,
    /// The EndpointSlices of the files, by Service, and the other way round.
    slices_by_service: BTreeMap<NamespacedName, BTreeSet<NamespacedName>>,
    service_by_slice: BTreeMap<NamespacedName, NamespacedName>,
    supplied: BTreeMap<ObjectKey, Object>,
    touched_namespaces: BTreeSet<String>,
    touched_services: BTreeSet<NamespacedName>,
    /// A class, a Gateway or a Dataplane came or went.
    touched_dataplane: bool,
}

impl Supplies {
    /// Takes notice of a change of the files' objects.
    pub(super) fn note(&mut self, change: &Change) {
        let name = &change.key.name;
        match change.key.kind {
            ObjectKind::Namespace => drop(self.touched_namespaces.insert(name.name.clone())),
            ObjectKind::Service | ObjectKind::Endpoints => {
                self.touched_services.insert(name.clone());
            }
            ObjectKind::EndpointSlice => self.note_slice(name, change.object.as_ref()),
            ObjectKind::GatewayClass | ObjectKind::Gateway | ObjectKind::Dataplane => {
                self.touched_dataplane |= change.happened != Happened::Changed;
            }
            _ => {}
        }
        if change.key.kind == ObjectKind::Namespace || name.namespace.is_empty() {
            return;
        }
        let count = self
            .objects_by_namespace
            .entry(name.namespace.clone())
            .or_default();
        match change.happened {
            Happened::Added => *count += 1,
            Happened::Removed => *count = count.saturating_sub(1),
            Happened::Changed => return,
        }
        self.touched_namespaces.insert(name.namespace.clone());
    }

    fn note_slice(&mut self, name: &NamespacedName, object: Option<&Object>) {
        if let Some(service) = self.service_by_slice.remove(name) {
            if let Some(slices) = self.slices_by_service.get_mut(&service) {
                slices.remove(name);
            }
            self.touched_services.insert(service);
        }
        let labels = object.and_then(|object| object.metadata().labels.as_ref());
        if let Some(service) = labels.and_then(|labels| labels.get(SERVICE_NAME_LABEL)) {
            let service = NamespacedName::new(&name.namespace, service);
            let slices = self.slices_by_service.entry(service.clone()).or_default();
            slices.insert(name.clone());
            self.service_by_slice.insert(name.clone(), service.clone());
            self.touched_services.insert(service);
        }
    }

    pub(super) fn take_changes(&mut self, served: &BTreeMap<ObjectKey, Served>) -> Vec<Change> {
        let mut changes = Vec::new();
        for name in std::mem::take(&mut self.touched_namespaces) {
            let key = ObjectKey::new(ObjectKind::Namespace, "", &name);
            let is_used = self.objects_by_namespace.get(&name).is_some_and(|&n| n > 0);
            let wanted = (is_used && !served.contains_key(&key)).then(|| namespace(&name));
            // One that a file defines from now on is a change of that file's.
            let is_taken_over = served.contains_key(&key);
            changes.extend(self.settle(key, wanted, is_taken_over));
        }
        if std::mem::take(&mut self.touched_dataplane) {
            let key = ObjectKey::new(ObjectKind::Dataplane, "", names::DEFAULT_DATAPLANE);
            // A Gateway whose class is gone may serve on, with what it had.
            let is_used = served
                .keys()
                .any(|key| matches!(key.kind, ObjectKind::GatewayClass | ObjectKind::Gateway));
            let is_taken_over = served.contains_key(&key);
            let wanted = (is_used && !is_taken_over).then(dataplane);
            changes.extend(self.settle(key, wanted, is_taken_over));
        }
        for service in std::mem::take(&mut self.touched_services) {
            let wanted = self.slices(&service, served);
            for (key, slice) in wanted {
                changes.extend(self.settle(key, slice, false));
            }
        }
        changes
    }

    fn settle(
        &mut self,
        key: ObjectKey,
        wanted: Option<Object>,
        is_taken_over: bool,
    ) -> Option<Change> {
        let happened = match (self.supplied.get(&key), &wanted) {
            (None, None) => return None,
            (Some(old), Some(new)) if same(old, new) => return None,
            (None, Some(_)) => Happened::Added,
            (Some(_), Some(_)) => Happened::Changed,
            (Some(_), None) => Happened::Removed,
        };
        match &wanted {
            Some(object) => drop(self.supplied.insert(key.clone(), object.clone())),
            None => drop(self.supplied.remove(&key)),
        }
        (!is_taken_over).then_some(Change {
            key,
            happened,
            source: Source::Supplied,
            object: wanted,
        })
    }

    /// The endpoints of a Service, where no EndpointSlice gives them: those of Endpoints (which a cluster mirrors into
    /// EndpointSlices), else the external addresses, where whatever the Service stands for is reached.
    fn slices(
        &self,
        service: &NamespacedName,
        served: &BTreeMap<ObjectKey, Served>,
    ) -> Vec<(ObjectKey, Option<Object>)> {
        let object = |kind| {
            let key = ObjectKey::new(kind, &service.namespace, &service.name);
            served.get(&key).map(|served| &served.object)
        };
        let slices = self.slices_by_service.get(service);
        let has_slices = slices.is_some_and(|slices| !slices.is_empty());
        let addresses = match (object(ObjectKind::Service), object(ObjectKind::Endpoints)) {
            _ if has_slices => Vec::new(),
            (Some(Object::Service(_)), Some(Object::Endpoints(endpoints))) => listed(endpoints),
            (Some(Object::Service(service)), _) => external(service),
            _ => Vec::new(),
        };
        [("IPv4", true), ("IPv6", false)]
            .into_iter()
            .map(|(family, is_v4)| {
                // No object of the files can have such a name.
                let name = format!("{}~{family}", service.name);
                let key = ObjectKey::new(ObjectKind::EndpointSlice, &service.namespace, &name);
                let of_family = addresses
                    .iter()
                    .filter(|address| address.is_ipv4() == is_v4);
                let of_family: Vec<String> = of_family.map(IpAddr::to_string).collect();
                let slice = (!of_family.is_empty())
                    .then(|| slice(&key.name, &service.name, family, of_family));
                (key, slice)
            })
            .collect()
    }
}

fn namespace(name: &str) -> Object {
    let object = Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    dress(Object::Namespace(Arc::new(object)), 1, 1)
}

/// Comes with every installation.
fn dataplane() -> Object {
    dress(Object::Dataplane(Arc::new(default_dataplane())), 1, 1)
}

fn slice(name: &NamespacedName, service: &str, family: &str, addresses: Vec<String>) -> Object {
    let endpoint = |address| Endpoint {
        addresses: vec![address],
        ..Endpoint::default()
    };
    let object = EndpointSlice {
        address_type: family.to_owned(),
        endpoints: addresses.into_iter().map(endpoint).collect(),
        metadata: ObjectMeta {
            namespace: Some(name.namespace.clone()),
            name: Some(name.name.clone()),
            labels: Some([(SERVICE_NAME_LABEL.to_owned(), service.to_owned())].into()),
            ..ObjectMeta::default()
        },
        ports: None,
    };
    dress(Object::EndpointSlice(Arc::new(object)), 1, 1)
}

/// Ready or not, as translation takes those of EndpointSlices.
fn listed(endpoints: &Endpoints) -> Vec<IpAddr> {
    let subsets = endpoints.subsets.iter().flatten();
    let addresses = subsets.flat_map(|subset| {
        let ready = subset.addresses.iter().flatten();
        ready.chain(subset.not_ready_addresses.iter().flatten())
    });
    addresses
        .filter_map(|address| address.ip.parse().ok())
        .collect()
}

fn external(service: &Service) -> Vec<IpAddr> {
    let spec = service.spec.as_ref();
    let addresses = spec.and_then(|spec| spec.external_ips.as_ref());
    let addresses = addresses.into_iter().flatten();
    addresses
        .filter_map(|address| address.parse().ok())
        .collect()
}
