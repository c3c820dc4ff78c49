//! Where the operator lives.

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, PostParams};
use stunner_api::names::{FIELD_MANAGER, install};

use super::Refusal;

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

/// Makes the operator's namespace where it is missing, as it is when the operator runs outside a cluster that nothing
/// was installed into. Where that is not permitted, the parts that need it say what they do without.
pub async fn make_namespace(client: &Client, namespace: &str) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    // Asked once: who may not even look, as in namespaced mode, lives in a namespace that is there.
    if !matches!(namespaces.get_metadata_opt(namespace).await, Ok(None)) {
        return;
    }
    let object = Namespace {
        metadata: ObjectMeta {
            name: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    match namespaces.create(&params, &object).await {
        Ok(_) => tracing::info!(
            scope = "operator",
            "made the namespace {namespace} for the operator's own Secrets and Lease"
        ),
        Err(error) => match Refusal::of(&error) {
            // Another replica was faster.
            Refusal::AlreadyExists => {}
            refusal => tracing::warn!(
                scope = "operator",
                "there is no namespace {namespace} for the operator's own Secrets and Lease, and it cannot be made: \
                 {refusal}; create it: kubectl create namespace {namespace}"
            ),
        },
    }
}
