//! The authentication service, which hands out credentials for all Gateways.

use serde_json::json;

use super::deployment::{Deployment, Labels};
use super::{Document, in_operator_namespace};
use crate::names::install::{AUTH, NAMESPACE};
use crate::names::{self, cds, label, port};

pub(super) fn workload() -> Vec<Document> {
    vec![service(), deployment()]
}

fn selector() -> Labels {
    [(label::APP, label::AUTH_APP_VALUE)].into()
}

fn service() -> Document {
    Document::of(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": in_operator_namespace(AUTH),
        "spec": {
            "selector": selector(),
            "ports": [{"name": "http", "port": port::AUTH, "protocol": "TCP", "targetPort": port::AUTH}],
        },
    }))
}

fn deployment() -> Document {
    let discovery = format!("https://{}.{NAMESPACE}.svc:{}", cds::SERVICE, port::CDS_TLS);
    let probe = |path: &str, period: u32| json!({"httpGet": {"path": path, "port": port::AUTH}, "periodSeconds": period});
    Deployment {
        name: AUTH,
        // Each of the two knows everything; an application is never without.
        selector: selector(),
        pod_labels: selector(),
        pod: json!({
            "serviceAccountName": cds::READER_SERVICE_ACCOUNT,
            // It speaks with config discovery only, and for that has a token of its own.
            "automountServiceAccountToken": false,
            "volumes": [{
                "name": cds::VOLUME,
                "projected": {"sources": [
                    {"serviceAccountToken": {"path": cds::TOKEN_PATH, "audience": cds::READER_AUDIENCE}},
                    // Of the Secret only the certificate; the key stays with the operator.
                    {"secret": {
                        "name": cds::TLS_SECRET,
                        "items": [{"key": cds::CA_CERTIFICATE_KEY, "path": cds::CA_CERTIFICATE_KEY}],
                    }},
                ]},
            }],
        }),
        container: json!({
            "name": AUTH,
            "image": names::OPERATOR_IMAGE,
            "command": names::AUTH_COMMAND,
            "args": [
                format!("--port={}", port::AUTH),
                format!("--cds-server-address={discovery}"),
                format!("--cds-token-file={}", cds::TOKEN_FILE),
                format!("--cds-ca-file={}", cds::CA_FILE),
            ],
            "ports": [{"name": "http", "containerPort": port::AUTH, "protocol": "TCP"}],
            "livenessProbe": probe("/healthz", 20),
            "readinessProbe": probe("/readyz", 5),
            "volumeMounts": [{"name": cds::VOLUME, "mountPath": cds::MOUNT_PATH, "readOnly": true}],
            "resources": {
                "limits": {"cpu": "1", "memory": "128Mi"},
                "requests": {"cpu": "10m", "memory": "32Mi"},
            },
        }),
    }
    .document()
}
