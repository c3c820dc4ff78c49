//! Kinds of object and where the API server has them.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;
use stunner_api::NamespacedName;
use stunner_api::names::cds;
use stunner_translate::{ObjectKind, WorkloadKind};

pub(super) fn object_kind(kind: WorkloadKind) -> ObjectKind {
    match kind {
        WorkloadKind::Service => ObjectKind::Service,
        WorkloadKind::ConfigMap => ObjectKind::ConfigMap,
        WorkloadKind::Deployment => ObjectKind::Deployment,
        WorkloadKind::DaemonSet => ObjectKind::DaemonSet,
    }
}

fn api_resource(kind: WorkloadKind) -> ApiResource {
    match kind {
        WorkloadKind::Service => ApiResource::erase::<Service>(&()),
        WorkloadKind::ConfigMap => ApiResource::erase::<ConfigMap>(&()),
        WorkloadKind::Deployment => ApiResource::erase::<Deployment>(&()),
        WorkloadKind::DaemonSet => ApiResource::erase::<DaemonSet>(&()),
    }
}

pub(super) fn api(client: &Client, kind: WorkloadKind, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &api_resource(kind))
}

/// The object of a kind that a Gateway has.
pub(super) fn name_for_gateway(kind: WorkloadKind, gateway: &NamespacedName) -> NamespacedName {
    match kind {
        WorkloadKind::ConfigMap => NamespacedName::new(
            gateway.namespace.clone(),
            format!("{}{}", gateway.name, cds::CONFIG_MAP_SUFFIX),
        ),
        WorkloadKind::Service | WorkloadKind::Deployment | WorkloadKind::DaemonSet => {
            gateway.clone()
        }
    }
}
