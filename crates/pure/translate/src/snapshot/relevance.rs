//! What of an object translation can see. Heartbeats, status ticks and our own writes of statuses are not among it.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::index::service_of_slice;
use crate::key::Object;

/// Kubernetes counts rollouts here.
const REVISION_ANNOTATION: &str = "deployment.kubernetes.io/revision";

pub(super) fn same_where_it_counts(old: &Object, new: &Object) -> bool {
    match (old, new) {
        (Object::GatewayClass(old), Object::GatewayClass(new)) => {
            same_life(&old.metadata, &new.metadata) && old.spec == new.spec
        }
        (Object::Gateway(old), Object::Gateway(new)) => {
            same_life(&old.metadata, &new.metadata)
                && same_marks(&old.metadata, &new.metadata)
                && old.spec == new.spec
        }
        (Object::UdpRoute(old), Object::UdpRoute(new)) => {
            same_life(&old.metadata, &new.metadata) && old.spec == new.spec
        }
        (Object::OfficialUdpRoute(old), Object::OfficialUdpRoute(new))
        | (Object::OfficialTcpRoute(old), Object::OfficialTcpRoute(new)) => {
            same_life(&old.metadata, &new.metadata) && old.spec == new.spec
        }
        (Object::GatewayConfig(old), Object::GatewayConfig(new)) => old.spec == new.spec,
        (Object::StaticService(old), Object::StaticService(new)) => {
            old.spec.prefixes == new.spec.prefixes
        }
        (Object::Dataplane(old), Object::Dataplane(new)) => old.spec == new.spec,
        (Object::ReferenceGrant(old), Object::ReferenceGrant(new)) => old.spec == new.spec,
        (Object::Secret(old), Object::Secret(new)) => {
            old.data == new.data && old.string_data == new.string_data && old.type_ == new.type_
        }
        (Object::Service(old), Object::Service(new)) => same_service(old, new),
        (Object::EndpointSlice(old), Object::EndpointSlice(new)) => same_slice(old, new),
        (Object::Endpoints(old), Object::Endpoints(new)) => {
            endpoint_addresses(old) == endpoint_addresses(new)
        }
        (Object::Namespace(old), Object::Namespace(new)) => {
            old.metadata.labels == new.metadata.labels
        }
        (Object::Node(old), Object::Node(new)) => {
            let addresses = |status: &Option<k8s_openapi::api::core::v1::NodeStatus>| {
                status.as_ref().and_then(|status| status.addresses.clone())
            };
            addresses(&old.status) == addresses(&new.status)
        }
        // The generation tells that somebody changed the spec, which is then to be put right.
        (Object::Deployment(old), Object::Deployment(new)) => {
            same_workload(&old.metadata, &new.metadata)
        }
        (Object::DaemonSet(old), Object::DaemonSet(new)) => {
            same_workload(&old.metadata, &new.metadata)
        }
        (Object::ConfigMap(old), Object::ConfigMap(new)) => {
            same_workload(&old.metadata, &new.metadata)
                && old.data == new.data
                && old.binary_data == new.binary_data
        }
        _ => false,
    }
}

/// A class began or ceased to exist, or to name another controller: its Gateways may be somebody else's.
pub(super) fn controller_differs(old: Option<&Object>, new: Option<&Object>) -> bool {
    match (old, new) {
        (Some(Object::GatewayClass(old)), Some(Object::GatewayClass(new))) => {
            old.spec.controller_name != new.spec.controller_name
        }
        _ => true,
    }
}

/// A GatewayConfig began or ceased to exist, or to name another ConfigMap.
pub(super) fn config_map_differs(old: Option<&Object>, new: Option<&Object>) -> bool {
    match (old, new) {
        (Some(Object::GatewayConfig(old)), Some(Object::GatewayConfig(new))) => {
            old.spec.stunner_config != new.spec.stunner_config
        }
        _ => true,
    }
}

/// What the status of a route tells about a Gateway differs.
pub(super) fn route_part_differs(old: Option<&Object>, new: Option<&Object>) -> bool {
    match (old, new) {
        (Some(Object::Gateway(old)), Some(Object::Gateway(new))) => {
            old.metadata.uid != new.metadata.uid
                || old.spec.gateway_class_name != new.spec.gateway_class_name
                || old.spec.listeners != new.spec.listeners
        }
        _ => true,
    }
}

/// What a Service is as a backend differs.
pub(super) fn backend_part_differs(old: Option<&Object>, new: Option<&Object>) -> bool {
    match (old, new) {
        (Some(Object::Service(old)), Some(Object::Service(new))) => {
            let part = |service: &Service| {
                service.spec.as_ref().map(|spec| {
                    (
                        spec.type_.clone(),
                        spec.cluster_ip.clone(),
                        spec.cluster_ips.clone(),
                        spec.external_name.clone(),
                    )
                })
            };
            part(old) != part(new)
        }
        _ => true,
    }
}

/// What a Service is to the Gateway of its name differs.
pub(super) fn own_part_differs(old: Option<&Object>, new: Option<&Object>) -> bool {
    match (old, new) {
        (Some(Object::Service(old)), Some(Object::Service(new))) => !same_service(old, new),
        _ => true,
    }
}

/// The same object at the same generation, as alive as before.
fn same_life(old: &ObjectMeta, new: &ObjectMeta) -> bool {
    old.uid == new.uid
        && old.generation == new.generation
        && old.deletion_timestamp.is_some() == new.deletion_timestamp.is_some()
}

fn same_marks(old: &ObjectMeta, new: &ObjectMeta) -> bool {
    old.labels == new.labels && old.annotations == new.annotations
}

fn same_workload(old: &ObjectMeta, new: &ObjectMeta) -> bool {
    let annotations = |metadata: &ObjectMeta| {
        let mut annotations = metadata.annotations.clone().unwrap_or_default();
        annotations.remove(REVISION_ANNOTATION);
        annotations
    };
    same_life(old, new)
        && old.labels == new.labels
        && old.owner_references == new.owner_references
        && annotations(old) == annotations(new)
}

/// Services have no generation.
fn same_service(old: &Service, new: &Service) -> bool {
    let balancer = |service: &Service| {
        let status = service.status.as_ref();
        status.and_then(|status| status.load_balancer.clone())
    };
    same_life(&old.metadata, &new.metadata)
        && same_marks(&old.metadata, &new.metadata)
        && old.metadata.owner_references == new.metadata.owner_references
        && old.spec == new.spec
        && balancer(old) == balancer(new)
}

/// Readiness does not count: all addresses are admitted.
fn same_slice(old: &EndpointSlice, new: &EndpointSlice) -> bool {
    let addresses = |slice: &EndpointSlice| -> BTreeSet<String> {
        let endpoints = slice.endpoints.iter();
        endpoints
            .flat_map(|endpoint| endpoint.addresses.iter().cloned())
            .collect()
    };
    service_of_slice(old) == service_of_slice(new)
        && old.address_type == new.address_type
        && addresses(old) == addresses(new)
}

fn endpoint_addresses(endpoints: &Endpoints) -> BTreeSet<&str> {
    let subsets = endpoints.subsets.iter().flatten();
    subsets
        .flat_map(|subset| {
            let ready = subset.addresses.iter().flatten();
            ready.chain(subset.not_ready_addresses.iter().flatten())
        })
        .map(|address| address.ip.as_str())
        .collect()
}
