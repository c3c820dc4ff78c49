//! A workload of a plan in the form in which it is sent.

use serde_json::{Map, Value};
use stunner_api::NamespacedName;
use stunner_api::names::annotation;
use stunner_translate::{Workload, WorkloadKind};

/// An object that is to exist.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Desired {
    pub(super) kind: WorkloadKind,
    pub(super) name: NamespacedName,
    /// What is applied: nothing but our own fields.
    pub(super) body: Value,
    /// Of a Deployment. It is not in the body: a scaler may own the number, see [`super::replicas`].
    pub(super) replicas: i32,
}

impl Desired {
    pub(super) fn of(workload: &Workload) -> Result<Self, serde_json::Error> {
        let (kind, metadata, mut body) = match workload {
            Workload::Service(object) => (
                WorkloadKind::Service,
                &object.metadata,
                serde_json::to_value(object)?,
            ),
            Workload::ConfigMap(object) => (
                WorkloadKind::ConfigMap,
                &object.metadata,
                serde_json::to_value(object)?,
            ),
            Workload::Deployment(object) => (
                WorkloadKind::Deployment,
                &object.metadata,
                serde_json::to_value(object)?,
            ),
            Workload::DaemonSet(object) => (
                WorkloadKind::DaemonSet,
                &object.metadata,
                serde_json::to_value(object)?,
            ),
        };
        let name = NamespacedName::of(metadata);
        remove(&mut body, "status", None);
        let mut replicas = 1;
        if kind == WorkloadKind::Deployment {
            let asked = remove(&mut body, "spec", Some("replicas"));
            // Kubernetes' own default.
            replicas = asked
                .and_then(|asked| asked.as_i64())
                .and_then(|asked| i32::try_from(asked).ok())
                .unwrap_or(1);
            if let Some(annotations) = body.pointer_mut("/metadata/annotations")
                && let Some(annotations) = annotations.as_object_mut()
            {
                annotations.shift_remove(annotation::DATAPLANE_REPLICAS);
            }
        }
        Ok(Desired {
            kind,
            name,
            body,
            replicas,
        })
    }

    pub(super) fn has_external_ips(&self) -> bool {
        let external_ips = self.body.pointer("/spec/externalIPs");
        external_ips
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    }

    pub(super) fn without_external_ips(&self) -> Self {
        let mut without = self.clone();
        remove(&mut without.body, "spec", Some("externalIPs"));
        without
    }
}

fn remove(body: &mut Value, key: &str, inner: Option<&str>) -> Option<Value> {
    let body = body.as_object_mut()?;
    let take = |map: &mut Map<String, Value>, key: &str| map.shift_remove(key);
    match inner {
        None => take(body, key),
        Some(inner) => take(body.get_mut(key)?.as_object_mut()?, inner),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::Service;
    use serde_json::json;

    use super::*;

    fn deployment(value: Value) -> Desired {
        let deployment: Deployment = serde_json::from_value(value).unwrap();
        Desired::of(&Workload::Deployment(Box::new(deployment))).unwrap()
    }

    #[test]
    fn the_number_of_replicas_is_not_applied_with_the_rest() {
        let desired = deployment(json!({
            "metadata": {
                "name": "gw", "namespace": "ns",
                "annotations": {"stunner.l7mp.io/dataplane-replicas": "7", "a": "b"}
            },
            "spec": {"replicas": 3, "selector": {}, "template": {}}
        }));
        assert_eq!(desired.replicas, 3);
        assert_eq!(desired.body.pointer("/spec/replicas"), None);
        assert_eq!(desired.body["metadata"]["annotations"], json!({"a": "b"}));
        assert_eq!(desired.body["apiVersion"], "apps/v1");
        assert_eq!(desired.body["kind"], "Deployment");
    }

    #[test]
    fn one_replica_is_meant_when_none_is_named() {
        let desired = deployment(json!({"spec": {"selector": {}, "template": {}}}));
        assert_eq!(desired.replicas, 1);
    }

    #[test]
    fn external_ips_can_be_left_out() {
        let service: Service = serde_json::from_value(
            json!({"spec": {"type": "LoadBalancer", "externalIPs": ["192.0.2.1"]}}),
        )
        .unwrap();
        let desired = Desired::of(&Workload::Service(Box::new(service))).unwrap();
        assert!(desired.has_external_ips());
        let without = desired.without_external_ips();
        assert!(!without.has_external_ips());
        assert_eq!(without.body["spec"], json!({"type": "LoadBalancer"}));
    }
}
