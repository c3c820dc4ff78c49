//! From what the API server sent to what translation reads.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_translate::{Object, ObjectKind, RouteKind};

/// An object that cannot be understood, and why. Says nothing of values: it may be a Secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {name} cannot be understood: {why}")]
pub struct Unreadable {
    pub kind: ObjectKind,
    pub name: NamespacedName,
    pub why: String,
}

pub(super) fn decode(
    kind: ObjectKind,
    name: NamespacedName,
    value: Value,
) -> Result<Object, Unreadable> {
    let decoded = match kind {
        ObjectKind::GatewayClass => read(value).map(Object::GatewayClass),
        ObjectKind::GatewayConfig => read(value).map(Object::GatewayConfig),
        ObjectKind::Gateway => read(value).map(Object::Gateway),
        ObjectKind::Route(RouteKind::Udp) => read(value).map(Object::UdpRoute),
        ObjectKind::Route(RouteKind::OfficialUdp) => read(value).map(Object::OfficialUdpRoute),
        ObjectKind::Route(RouteKind::OfficialTcp) => read(value).map(Object::OfficialTcpRoute),
        ObjectKind::StaticService => read(value).map(Object::StaticService),
        ObjectKind::Dataplane => read(value).map(Object::Dataplane),
        ObjectKind::ReferenceGrant => read(value).map(Object::ReferenceGrant),
        ObjectKind::Secret => read(value).map(Object::Secret),
        ObjectKind::Service => read(value).map(Object::Service),
        ObjectKind::EndpointSlice => read(value).map(Object::EndpointSlice),
        ObjectKind::Endpoints => read(value).map(Object::Endpoints),
        ObjectKind::Namespace => read(value).map(Object::Namespace),
        ObjectKind::Node => read(value).map(Object::Node),
        ObjectKind::Deployment => read(value).map(Object::Deployment),
        ObjectKind::DaemonSet => read(value).map(Object::DaemonSet),
        ObjectKind::ConfigMap => read(value).map(Object::ConfigMap),
    };
    decoded.map_err(|error| Unreadable {
        why: match kind {
            // The library's words may repeat a value.
            ObjectKind::Secret => "its fields are not those of a Secret".to_owned(),
            _ => error.to_string(),
        },
        kind,
        name,
    })
}

fn read<T: DeserializeOwned>(value: Value) -> Result<Arc<T>, serde_json::Error> {
    serde_json::from_value(value).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn name() -> NamespacedName {
        NamespacedName::new("ns", "n")
    }

    #[test]
    fn objects_are_read_as_their_kind() {
        let value =
            json!({"metadata": {"namespace": "ns", "name": "n"}, "spec": {"type": "ClusterIP"}});
        let object = decode(ObjectKind::Service, name(), value).expect("a Service");
        assert!(
            matches!(object, Object::Service(service) if service.metadata.name.as_deref() == Some("n"))
        );
    }

    #[test]
    fn what_cannot_be_understood_is_named_without_its_secrets() {
        let value = json!({"metadata": {"name": "n"}, "data": {"password": "?hush?"}});
        let error = decode(ObjectKind::Secret, name(), value).expect_err("not base64");
        assert_eq!(
            error.to_string(),
            "Secret ns/n cannot be understood: its fields are not those of a Secret"
        );
        let value = json!({"metadata": {"name": "n"}, "spec": {"ports": 3}});
        let error = decode(ObjectKind::Service, name(), value).expect_err("no list");
        assert!(
            error
                .to_string()
                .starts_with("Service ns/n cannot be understood: ")
        );
    }
}
