//! Where the operator lives.

use stunner_api::names::install;

const MOUNTED: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The namespace of the Lease, of our own Secrets and of the config discovery Service: what the environment says, else
/// that of the mounted ServiceAccount, else the usual one, also outside a cluster.
pub fn operator_namespace(pod_namespace: Option<&str>) -> String {
    if let Some(namespace) = pod_namespace {
        return namespace.to_owned();
    }
    match std::fs::read_to_string(MOUNTED) {
        Ok(text) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => install::NAMESPACE.to_owned(),
    }
}
