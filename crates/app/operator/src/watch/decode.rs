//! From what the API server sent to what translation reads.

use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_translate::{Object, ObjectKind};

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
    Object::read(kind, value).map_err(|error| Unreadable {
        why: match kind {
            // The library's words may repeat a value.
            ObjectKind::Secret | ObjectKind::GatewayConfig => {
                format!("its fields are not those of a {kind}")
            }
            _ => error.to_string(),
        },
        kind,
        name,
    })
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
