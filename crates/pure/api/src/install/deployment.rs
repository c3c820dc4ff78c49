//! What the Deployments of an installation have in common.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Document, in_operator_namespace};

pub(super) type Labels = BTreeMap<&'static str, &'static str>;

/// A Deployment of our own: two pods, on different nodes where there are two, without any privilege.
pub(super) struct Deployment {
    pub name: &'static str,
    pub selector: Labels,
    /// Those of the selector among them.
    pub pod_labels: Labels,
    /// What the pods have beside what all have.
    pub pod: Value,
    /// The same for their one container.
    pub container: Value,
}

impl Deployment {
    pub(super) fn document(self) -> Document {
        let container = merged(
            self.container,
            json!({
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]},
                },
            }),
        );
        let pod = merged(
            self.pod,
            json!({
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "terminationGracePeriodSeconds": 10,
                "securityContext": {
                    "runAsNonRoot": true,
                    "runAsUser": 65532,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "topologySpreadConstraints": [{
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": self.selector},
                }],
                "containers": [container],
            }),
        );
        Document::of(json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": in_operator_namespace(self.name),
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": self.selector},
                "template": {"metadata": {"labels": self.pod_labels}, "spec": pod},
            },
        }))
    }
}

/// The fields of both, in that order: people read them.
fn merged(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}
