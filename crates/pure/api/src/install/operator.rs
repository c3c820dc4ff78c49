//! The operator's own objects, and the default Dataplane.

use serde_json::json;

use super::deployment::{Deployment, Labels};
use super::{Document, in_operator_namespace, metadata};
use crate::names::install::{NAMESPACE, OPERATOR};
use crate::names::{self, cds, env, label, port};
use crate::v1;

pub(super) fn namespace_and_accounts() -> Vec<Document> {
    let account = |name: &str| {
        Document::of(json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": in_operator_namespace(name),
        }))
    };
    vec![
        Document::of(
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(NAMESPACE, None)}),
        ),
        account(OPERATOR),
        // May list every configuration: the authentication service makes credentials for all Gateways.
        account(cds::READER_SERVICE_ACCOUNT),
    ]
}

pub(super) fn workload(watched_namespaces: Option<&str>) -> Vec<Document> {
    vec![config_discovery(), deployment(watched_namespaces)]
}

fn selector() -> Labels {
    [(label::CONTROL_PLANE, label::CONTROL_PLANE_VALUE)].into()
}

fn config_discovery() -> Document {
    let mut metadata = in_operator_namespace(cds::SERVICE);
    metadata.labels.get_or_insert_default().insert(
        label::CONFIG_DISCOVERY.to_owned(),
        label::CONFIG_DISCOVERY_SERVICE_VALUE.to_owned(),
    );
    Document::of(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "selector": selector(),
            "ports": [
                {"name": "cds", "port": port::CDS, "protocol": "TCP", "targetPort": port::CDS},
                {"name": "cds-tls", "port": port::CDS_TLS, "protocol": "TCP", "targetPort": port::CDS_TLS},
            ],
        },
    }))
}

fn deployment(watched_namespaces: Option<&str>) -> Document {
    let mut args = vec![
        "--leader-elect".to_owned(),
        format!("--health-probe-bind-address=:{}", port::OPERATOR_HEALTH),
        format!("--metrics-bind-address=:{}", port::METRICS),
        // The plain port tells every secret to whoever asks: reached by port-forward only.
        format!("--config-discovery-address=127.0.0.1:{}", port::CDS),
        format!("--config-discovery-tls-address=:{}", port::CDS_TLS),
    ];
    args.extend(watched_namespaces.map(|namespaces| format!("--watch-namespaces={namespaces}")));
    let mut pod_labels = selector();
    pod_labels.insert(label::CONFIG_DISCOVERY, label::CONFIG_DISCOVERY_POD_VALUE);
    let probe = |path: &str, initial_delay: u32, period: u32| {
        json!({
            "httpGet": {"path": path, "port": port::OPERATOR_HEALTH},
            "initialDelaySeconds": initial_delay,
            "periodSeconds": period,
        })
    };
    let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    Deployment {
        name: OPERATOR,
        // One of the two writes, both serve configurations.
        selector: selector(),
        pod_labels,
        pod: json!({"serviceAccountName": OPERATOR}),
        container: json!({
            "name": "manager",
            "image": names::OPERATOR_IMAGE,
            "args": args,
            "env": [
                field(env::POD_NAMESPACE, "metadata.namespace"),
                field(env::POD_NAME, "metadata.name"),
            ],
            "ports": [
                {"name": "cds-tls", "containerPort": port::CDS_TLS, "protocol": "TCP"},
                {"name": "metrics", "containerPort": port::METRICS, "protocol": "TCP"},
                {"name": "health", "containerPort": port::OPERATOR_HEALTH, "protocol": "TCP"},
            ],
            "livenessProbe": probe("/healthz", 15, 20),
            "readinessProbe": probe("/readyz", 5, 10),
            "resources": {
                "limits": {"cpu": "1", "memory": "512Mi"},
                "requests": {"cpu": "250m", "memory": "128Mi"},
            },
        }),
    }
    .document()
}

/// The Dataplane of Gateways that name no other, as an installation has it.
pub fn default_dataplane() -> v1::Dataplane {
    let quantities = |cpu: &str, memory: &str| {
        let quantity =
            |text: &str| k8s_openapi::apimachinery::pkg::api::resource::Quantity(text.to_owned());
        Some(
            [
                ("cpu".to_owned(), quantity(cpu)),
                ("memory".to_owned(), quantity(memory)),
            ]
            .into(),
        )
    };
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    v1::Dataplane {
        metadata: metadata(names::DEFAULT_DATAPLANE, None),
        spec: v1::DataplaneSpec {
            image: Some(names::INSTALLED_DATAPLANE_IMAGE.to_owned()),
            command: owned(names::DATAPLANE_COMMAND),
            args: owned(names::DATAPLANE_ARGS),
            resources: Some(k8s_openapi::api::core::v1::ResourceRequirements {
                limits: quantities("2", "512Mi"),
                requests: quantities("500m", "128Mi"),
                ..Default::default()
            }),
            // Calls go on for up to an hour on a pod that is being replaced.
            termination_grace_period_seconds: Some(3600),
            ..Default::default()
        },
    }
}
