//! What an installation consists of, beside the definitions of our kinds.
//!
//! Two forms: one operator for the whole cluster, or one for some namespaces (`--watch-namespaces`)
//! with no right to write anything outside them. Names are those of the Go system's chart, so that
//! an installation takes the place of one of the other.

mod auth;
mod deployment;
mod operator;
pub mod rights;
mod roles;

use serde::Serialize;
use serde_json::Value;

use crate::names::install::NAMESPACE;

pub use operator::default_dataplane;

/// A namespace to watch, as an example: a folder of manifests cannot know better.
pub const WATCHED_NAMESPACE: &str = "stunner";

/// A file of objects.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Below `deploy/manifests/`.
    pub path: &'static str,
    /// What it is for, in lines.
    pub comment: &'static str,
    pub documents: Vec<Document>,
}

/// An object with what there is to say about it.
#[derive(Clone, Debug)]
pub struct Document {
    pub object: Value,
    /// Why each of its rules is there; empty where an object has none.
    pub rules: Vec<&'static str>,
}

impl Document {
    fn of(object: impl Serialize) -> Self {
        let object = serde_json::to_value(object).expect("objects of Kubernetes are JSON");
        Self {
            object,
            rules: Vec::new(),
        }
    }
}

/// All files.
pub fn manifests() -> Vec<Manifest> {
    vec![
        Manifest {
            path: "stunner.yaml",
            comment: "The operator, serving the whole cluster, and the authentication service. Needs the definitions in\n\
                      deploy/crds and those of the Gateway API.",
            documents: [
                operator::namespace_and_accounts(),
                roles::cluster_wide(),
                roles::own_namespace(),
                operator::workload(None),
                auth::workload(),
            ]
            .concat(),
        },
        Manifest {
            path: "dataplane.yaml",
            comment: "Template of the pods that serve Gateways, used where a GatewayConfig names no other.",
            documents: vec![Document::of(operator::default_dataplane())],
        },
        Manifest {
            path: "namespaced/stunner.yaml",
            comment: "The operator, serving only the namespaces of --watch-namespaces, and the authentication service.\n\
                      In each of the namespaces the operator needs watched-namespace.yaml.",
            documents: [
                operator::namespace_and_accounts(),
                roles::cluster_reader(),
                roles::own_namespace(),
                operator::workload(Some(WATCHED_NAMESPACE)),
                auth::workload(),
            ]
            .concat(),
        },
        Manifest {
            path: "namespaced/watched-namespace.yaml",
            comment: "Rights of the operator in one namespace that it serves: apply it once for each, with that\n\
                      namespace in place of `stunner`.",
            documents: roles::watched_namespace(WATCHED_NAMESPACE),
        },
        Manifest {
            path: "namespaced/optional.yaml",
            comment: "Rights on objects of the whole cluster that the operator can do without. Without Nodes, Gateways\n\
                      of type NodePort get no address, and relay address discovery finds none. Without Namespaces,\n\
                      `allowedRoutes` with a selector admits no route. Without the status of GatewayClasses, what is\n\
                      wrong with one is told only in the log and on its Gateways.",
            documents: roles::cluster_optional(),
        },
    ]
}

fn in_operator_namespace(name: &str) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
    metadata(name, Some(NAMESPACE))
}

fn metadata(
    name: &str,
    namespace: Option<&str>,
) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
    k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
        name: Some(name.to_owned()),
        namespace: namespace.map(ToOwned::to_owned),
        labels: Some([("app.kubernetes.io/name".to_owned(), "stunner".to_owned())].into()),
        ..Default::default()
    }
}
