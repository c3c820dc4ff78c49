//! Dataplane.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, EnvFromSource, EnvVar, LocalObjectReference, PodSecurityContext,
    ResourceRequirements, SecurityContext, Toleration, TopologySpreadConstraint,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::{null_as_default, optional_i32, optional_i64};
use crate::object::fixed_object;

fixed_object!(
    /// Template of the pods that serve Gateways.
    Dataplane, "Dataplane", "dataplanes", "stunner.l7mp.io", "v1", ClusterResourceScope,
    spec: DataplaneSpec
);

/// Template of the pods that serve Gateways.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct DataplaneSpec {
    /// Image of the dataplane. The one that the operator was built with when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// When nodes pull the image: `Always`, `Never` or `IfNotPresent`. When unset, Kubernetes
    /// decides by the image's tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<String>,
    /// Secrets for pulling the image, in the namespace of each Gateway.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::crd::schema::brief)]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// What runs the pods of a Gateway: a Deployment, or a DaemonSet with one pod on every node.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "Deployment", "enum" = ["Deployment", "DaemonSet"]))]
    pub dataplane_resource: Option<String>,
    /// Labels for the pods. A change replaces the pods.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub labels: BTreeMap<String, String>,
    /// Annotations for the pods. A change replaces the pods.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub annotations: BTreeMap<String, String>,
    /// Command of the container, instead of `stunnerd`.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub command: Vec<String>,
    /// Arguments of the command, instead of `-w --udp-thread-num=16`.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub args: Vec<String>,
    /// ConfigMaps and Secrets whose entries become environment variables of the container, in the
    /// namespace of each Gateway.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::crd::schema::brief)]
    pub env_from: Vec<EnvFromSource>,
    /// Environment variables of the container, after those that the operator sets.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::crd::schema::brief)]
    pub env: Vec<EnvVar>,
    /// Security settings of the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = crate::crd::schema::brief)]
    pub container_security_context: Option<SecurityContext>,
    /// How many pods a Gateway gets. Applied when its Deployment is created and when this number
    /// changes, so that an autoscaler or `kubectl scale` keeps what it has set. 1 when unset.
    #[serde(
        deserialize_with = "optional_i32",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// CPU and memory that a pod asks for and may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = crate::crd::schema::brief)]
    pub resources: Option<ResourceRequirements>,
    /// For how many seconds a pod that has to go may finish the calls it carries. 30 when unset.
    #[serde(
        deserialize_with = "optional_i64",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 0))]
    pub termination_grace_period_seconds: Option<i64>,
    /// Run the pods in the network of their nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = false))]
    pub host_network: Option<bool>,
    /// Which nodes and neighbours the pods prefer or need.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = crate::crd::schema::brief)]
    pub affinity: Option<Affinity>,
    /// Security settings of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = crate::crd::schema::brief)]
    pub security_context: Option<PodSecurityContext>,
    /// Taints of nodes that the pods put up with.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::crd::schema::brief)]
    pub tolerations: Vec<Toleration>,
    /// How the pods of a Gateway spread over zones and nodes.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::crd::schema::brief)]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// Turn off the liveness and readiness probes and the port 8086 that answers them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = false))]
    pub disable_health_check: Option<bool>,
    /// Serve Prometheus metrics on port 8080 of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = false))]
    pub enable_metrics_endpoint: Option<bool>,
    /// Kernel offload of relayed traffic: `None`, `XDP`, `TC` or `Auto`. Accepted; there is no
    /// engine yet, which the dataplane says in its log and on `/status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^(None|XDP|TC|Auto)$"), extend("x-default" = "None"))]
    pub offload_engine: Option<String>,
    /// Network interfaces to offload on; all when empty.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub offload_interfaces: Vec<String>,
    /// Accepted from old objects and not used: health checks are answered on port 8086.
    #[serde(
        deserialize_with = "optional_i32",
        skip_serializing_if = "Option::is_none"
    )]
    pub health_check_port: Option<i32>,
}
