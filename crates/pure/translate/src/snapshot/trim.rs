//! Dropping what translation never looks at, so that a large cluster fits into little memory.

use std::sync::Arc;

use k8s_openapi::api::core::v1::NodeStatus;
use k8s_openapi::api::discovery::v1::Endpoint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use stunner_api::names::label;

use crate::key::Object;

impl Object {
    /// The object without what only its writers need, such as managed fields. It is copied where it is shared.
    #[must_use]
    pub fn trimmed(mut self) -> Self {
        match &mut self {
            Object::GatewayClass(object) => drop_history(&mut Arc::make_mut(object).metadata),
            Object::GatewayConfig(object) => drop_history(&mut Arc::make_mut(object).metadata),
            Object::Gateway(object) => drop_history(&mut Arc::make_mut(object).metadata),
            Object::UdpRoute(object) => drop_history(&mut Arc::make_mut(object).metadata),
            Object::OfficialUdpRoute(object) | Object::OfficialTcpRoute(object) => {
                drop_history(&mut Arc::make_mut(object).metadata);
            }
            Object::StaticService(object) => drop_history(&mut Arc::make_mut(object).metadata),
            Object::Dataplane(object) => drop_history(&mut Arc::make_mut(object).metadata),
            Object::ReferenceGrant(object) => drop_history(&mut Arc::make_mut(object).metadata),
            Object::Secret(object) => drop_history(&mut Arc::make_mut(object).metadata),
            Object::Service(object) => drop_history(&mut Arc::make_mut(object).metadata),
            Object::ConfigMap(object) => drop_history(&mut Arc::make_mut(object).metadata),
            Object::EndpointSlice(slice) => {
                let slice = Arc::make_mut(slice);
                let labels = slice.metadata.labels.as_mut();
                if let Some(labels) = labels {
                    labels.retain(|key, _| key == label::SERVICE_NAME);
                }
                slice.metadata.annotations = None;
                slice.metadata.owner_references = None;
                drop_history(&mut slice.metadata);
                slice.ports = None;
                for endpoint in &mut slice.endpoints {
                    *endpoint = Endpoint {
                        addresses: std::mem::take(&mut endpoint.addresses),
                        ..Endpoint::default()
                    };
                }
            }
            Object::Endpoints(endpoints) => {
                let endpoints = Arc::make_mut(endpoints);
                endpoints.metadata.labels = None;
                endpoints.metadata.annotations = None;
                drop_history(&mut endpoints.metadata);
                for subset in endpoints.subsets.iter_mut().flatten() {
                    subset.ports = None;
                    let ready = subset.addresses.iter_mut().flatten();
                    for address in ready.chain(subset.not_ready_addresses.iter_mut().flatten()) {
                        address.hostname = None;
                        address.node_name = None;
                        address.target_ref = None;
                    }
                }
            }
            Object::Namespace(namespace) => {
                let namespace = Arc::make_mut(namespace);
                namespace.metadata.annotations = None;
                drop_history(&mut namespace.metadata);
                namespace.spec = None;
                namespace.status = None;
            }
            Object::Node(node) => {
                let node = Arc::make_mut(node);
                node.metadata.annotations = None;
                drop_history(&mut node.metadata);
                node.spec = None;
                node.status = node.status.take().map(|status| NodeStatus {
                    addresses: status.addresses,
                    ..NodeStatus::default()
                });
            }
            Object::Deployment(deployment) => {
                let deployment = Arc::make_mut(deployment);
                drop_history(&mut deployment.metadata);
                deployment.spec = None;
                deployment.status = None;
            }
            Object::DaemonSet(daemon_set) => {
                let daemon_set = Arc::make_mut(daemon_set);
                drop_history(&mut daemon_set.metadata);
                daemon_set.spec = None;
                daemon_set.status = None;
            }
        }
        self
    }
}

fn drop_history(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
}
