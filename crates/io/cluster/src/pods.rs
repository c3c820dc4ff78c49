//! Who is who in a cluster: pods by what they do.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use kube::Api;
use stunner_api::NamespacedName;
use stunner_api::names::label;
use stunner_cds::server::Scope;

use crate::SCOPE;
use crate::cluster::Cluster;
use crate::error::{Asked, ClusterError};
use crate::objects::{Kind, Selection};
use crate::place::Place;

/// A pod, and how it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodPlace {
    pub name: NamespacedName,
    /// Whose dataplane it is: `None` for pods of other kinds, and for dataplanes that no operator made.
    pub gateway: Option<NamespacedName>,
    /// What made it, such as `Deployment ns/name`; `None` for a pod of its own.
    pub owner: Option<String>,
    pub ready: bool,
    /// It has been started, so that it can be asked.
    pub running: bool,
    /// Being deleted: a dataplane drains.
    pub terminating: bool,
    pub host_network: bool,
    pub node: Option<String>,
    /// The pod's own addresses.
    pub addresses: Vec<String>,
}

impl PodPlace {
    /// A port of it.
    pub fn port(&self, cluster: &Cluster, port: u16) -> Place {
        Place::pod(cluster, &self.name, port)
    }

    /// `None` for a pod that has come to its end.
    pub fn of(pod: &Pod) -> Option<PodPlace> {
        let name = NamespacedName::of(&pod.metadata);
        let label = |key: &str| pod.metadata.labels.as_ref()?.get(key).cloned();
        let gateway = label(label::RELATED_GATEWAY_NAMESPACE)
            .zip(label(label::RELATED_GATEWAY_NAME))
            .map(|(namespace, name)| NamespacedName { namespace, name })
            // Whoever may label pods elsewhere must not speak for this Gateway.
            .filter(|gateway| gateway.namespace == name.namespace);
        let status = pod.status.as_ref();
        let phase = status.and_then(|status| status.phase.as_deref());
        if matches!(phase, Some("Succeeded" | "Failed")) {
            return None;
        }
        let conditions = status.and_then(|status| status.conditions.as_deref());
        let is_ready =
            |condition: &PodCondition| condition.type_ == "Ready" && condition.status == "True";
        let spec = pod.spec.as_ref();
        let addresses = status.and_then(|status| status.pod_ips.as_ref());
        Some(PodPlace {
            gateway,
            owner: owner(pod, &name.namespace),
            ready: conditions.unwrap_or_default().iter().any(is_ready),
            running: phase == Some("Running"),
            terminating: pod.metadata.deletion_timestamp.is_some(),
            host_network: spec.is_some_and(|spec| spec.host_network == Some(true)),
            node: spec.and_then(|spec| spec.node_name.clone()),
            addresses: addresses
                .map(|list| list.iter().map(|it| it.ip.clone()).collect())
                .unwrap_or_default(),
            name,
        })
    }
}

/// The controller of a pod. Two ReplicaSets of one Deployment, as there are during a rollout, are one owner: the
/// Deployment, whose name is theirs without the hash that the pods carry as a label.
fn owner(pod: &Pod, namespace: &str) -> Option<String> {
    let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
    let owner = owners.iter().find(|owner| owner.controller == Some(true));
    let owner = owner.or(owners.first())?;
    let labels = pod.metadata.labels.as_ref();
    let hash = labels.and_then(|labels| labels.get("pod-template-hash"));
    let deployment = hash.and_then(|hash| owner.name.strip_suffix(&format!("-{hash}")));
    Some(match deployment {
        Some(name) if owner.kind == "ReplicaSet" => format!("Deployment {namespace}/{name}"),
        _ => format!("{} {namespace}/{}", owner.kind, owner.name),
    })
}

impl Cluster {
    /// A pod by its name.
    pub async fn pod(&self, name: &NamespacedName) -> Result<PodPlace, ClusterError> {
        let asked = Asked {
            verb: "get",
            resource: "pods",
            namespace: Some(&name.namespace),
            name: Some(&name.name),
        };
        let pods: Api<Pod> = Api::namespaced(self.client().clone(), &name.namespace);
        let pod = self.patiently(&asked, pods.get(&name.name)).await?;
        PodPlace::of(&pod).ok_or_else(|| ClusterError::NotReady {
            what: format!("pod {name}"),
            names: vec!["it has come to its end".to_owned()],
        })
    }

    /// The pod of the config discovery service: any ready one of its owner. Without `namespace` all are looked into.
    pub async fn cds_pod(&self, namespace: Option<&str>) -> Result<PodPlace, ClusterError> {
        let selector = format!(
            "{}={}",
            label::CONFIG_DISCOVERY,
            label::CONFIG_DISCOVERY_POD_VALUE
        );
        let pods = self.pods(namespace, &selector).await?;
        choose(
            pods,
            &Wanted {
                one: "config discovery service",
                several: "config discovery services",
                selector: &selector,
                namespace,
                namespace_flag: "--cds-server-namespace",
                address_flag: "--cds-server-address",
            },
        )
    }

    /// The pod of the authentication service: any ready one of its owner.
    pub async fn auth_pod(&self, namespace: Option<&str>) -> Result<PodPlace, ClusterError> {
        let selector = format!("{}={}", label::APP, label::AUTH_APP_VALUE);
        let pods = self.pods(namespace, &selector).await?;
        choose(
            pods,
            &Wanted {
                one: "authentication service",
                several: "authentication services",
                selector: &selector,
                namespace,
                namespace_flag: "--auth-service-namespace",
                address_flag: "--auth-server-address",
            },
        )
    }

    /// The pods of all dataplanes, of those of a namespace, or of one Gateway, sorted by name. Pods that are not ready
    /// are among them.
    pub async fn dataplane_pods(&self, scope: &Scope) -> Result<Vec<PodPlace>, ClusterError> {
        let app = format!("{}={}", label::APP, label::APP_VALUE);
        let (namespace, selector) = match scope {
            Scope::All => (None, app),
            Scope::Namespace(namespace) => (Some(namespace.as_str()), app),
            Scope::One(id) => {
                let selector = format!(
                    "{app},{}={},{}={}",
                    label::RELATED_GATEWAY_NAME,
                    id.name,
                    label::RELATED_GATEWAY_NAMESPACE,
                    id.namespace
                );
                (Some(id.namespace.as_str()), selector)
            }
        };
        self.pods(namespace, &selector).await
    }

    /// The pods with these labels that have not come to their end, sorted by name.
    pub async fn pods(
        &self,
        namespace: Option<&str>,
        selector: &str,
    ) -> Result<Vec<PodPlace>, ClusterError> {
        let selection = Selection::labels(selector);
        let pods: Vec<Pod> = self
            .objects()
            .list(&Kind::of::<Pod>(), namespace, selection)
            .await?;
        let mut found: Vec<PodPlace> = pods.iter().filter_map(PodPlace::of).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        let names: Vec<String> = found.iter().map(|pod| pod.name.to_string()).collect();
        tracing::debug!(
            scope = SCOPE,
            "pods with {selector}: [{}]",
            names.join(", ")
        );
        Ok(found)
    }
}

/// What is looked for, to say it in errors.
struct Wanted<'a> {
    one: &'static str,
    several: &'static str,
    selector: &'a str,
    namespace: Option<&'a str>,
    namespace_flag: &'static str,
    address_flag: &'static str,
}

/// Any ready pod of the only owner.
fn choose(pods: Vec<PodPlace>, wanted: &Wanted<'_>) -> Result<PodPlace, ClusterError> {
    let Wanted {
        one,
        namespace_flag,
        address_flag,
        ..
    } = wanted;
    let identity = |pod: &PodPlace| match &pod.owner {
        Some(owner) => owner.clone(),
        None => format!("Pod {}", pod.name),
    };
    let owners: BTreeSet<String> = pods.iter().map(identity).collect();
    if owners.len() > 1 {
        return Err(ClusterError::Ambiguous {
            what: wanted.several,
            names: owners.into_iter().collect(),
            hint: format!(
                "choose one with {namespace_flag}, or name its address in {address_flag}"
            ),
        });
    }
    if pods.is_empty() {
        let place = match wanted.namespace {
            Some(namespace) => format!("in namespace `{namespace}`"),
            None => "in the cluster".to_owned(),
        };
        return Err(ClusterError::NotFound {
            what: format!("pod of the {one} {place}"),
            hint: format!(
                "install it, or say where it is with {namespace_flag} or {address_flag}; \
                 its pods carry the label `{}`",
                wanted.selector
            ),
        });
    }
    let usable = |pod: &&PodPlace| pod.ready && !pod.terminating;
    match pods.iter().find(usable) {
        Some(pod) => Ok(pod.clone()),
        None => Err(ClusterError::NotReady {
            what: format!("the {one}"),
            names: pods.iter().map(|pod| format!("pod {}", pod.name)).collect(),
        }),
    }
}

#[cfg(test)]
mod tests;
