//! The pods of a Gateway's dataplane.
//!
//! Made from the Dataplane alone and from names: nothing that changes in daily life (listeners, routes, credentials,
//! annotations of the Gateway, addresses of the operator) is in the template, since any change of it replaces the pods.

mod env;
mod image;
mod security;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    ConfigMapProjection, Container, ContainerPort, EmptyDirVolumeSource, HTTPGetAction, KeyToPath,
    LocalObjectReference, PodSpec, PodTemplateSpec, Probe, ProjectedVolumeSource,
    ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use stunner_api::names::{self, cds, port};
use stunner_api::v1::DataplaneSpec;

use crate::context::GatewayContext;
use crate::metadata;

/// How often the kubelet asks for a token anew; it does so at four fifths of this.
const TOKEN_SECONDS: i64 = 3600;

/// The configuration holds secrets, so that its cache is kept in memory; it needs little.
const CONFIG_CACHE_LIMIT: &str = "64Mi";

pub(crate) fn template(context: &GatewayContext<'_>, dataplane: &DataplaneSpec) -> PodTemplateSpec {
    let mut labels = dataplane.labels.clone();
    labels.extend(metadata::pod_labels(context));
    let mut annotations = dataplane.annotations.clone();
    annotations.extend(metadata::mandatory_annotations(context));
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        }),
        spec: Some(spec(context, dataplane)),
    }
}

/// Config discovery over TLS with a token of its own: for our image, which speaks it.
pub(crate) fn uses_tls(context: &GatewayContext<'_>, dataplane: &DataplaneSpec) -> bool {
    context.settings.cds.tls_origin.is_some()
        && image::same_program(image(context, dataplane), &context.settings.dataplane_image)
}

/// The name of the ConfigMap with the certificate authority of config discovery.
pub(crate) fn authority_name(context: &GatewayContext<'_>) -> String {
    metadata::derived_name(&context.name.name, cds::CONFIG_MAP_SUFFIX)
}

fn image<'a>(context: &GatewayContext<'a>, dataplane: &'a DataplaneSpec) -> &'a str {
    dataplane
        .image
        .as_deref()
        .filter(|image| !image.is_empty())
        .unwrap_or(&context.settings.dataplane_image)
}

fn spec(context: &GatewayContext<'_>, dataplane: &DataplaneSpec) -> PodSpec {
    let host_network = dataplane.host_network == Some(true);
    let volumes = volumes(context, dataplane);
    PodSpec {
        containers: vec![container(context, dataplane)],
        volumes: some_unless_empty(volumes),
        host_network: host_network.then_some(true),
        // Pods in the network of their node do not find Services by name otherwise.
        dns_policy: host_network.then(|| "ClusterFirstWithHostNet".to_owned()),
        // A dataplane asks nothing of the API server.
        automount_service_account_token: Some(false),
        termination_grace_period_seconds: Some(grace_period(dataplane)),
        security_context: Some(security::pod(dataplane)),
        image_pull_secrets: some_unless_empty(pull_secrets(dataplane)),
        affinity: dataplane.affinity.clone(),
        tolerations: some_unless_empty(dataplane.tolerations.clone()),
        topology_spread_constraints: some_unless_empty(
            dataplane.topology_spread_constraints.clone(),
        ),
        ..PodSpec::default()
    }
}

fn container(context: &GatewayContext<'_>, dataplane: &DataplaneSpec) -> Container {
    let probed = dataplane.disable_health_check != Some(true);
    Container {
        name: names::DATAPLANE_CONTAINER.to_owned(),
        image: Some(image(context, dataplane).to_owned()),
        image_pull_policy: dataplane.image_pull_policy.clone(),
        command: Some(or_default(&dataplane.command, names::DATAPLANE_COMMAND)),
        args: Some(or_default(&dataplane.args, names::DATAPLANE_ARGS)),
        env: Some(env::variables(context, dataplane)),
        env_from: some_unless_empty(dataplane.env_from.clone()),
        // Also while there are no metrics, so that switching them on replaces no pods.
        ports: Some(vec![ContainerPort {
            name: Some(names::METRICS_PORT_NAME.to_owned()),
            container_port: port::METRICS.into(),
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        resources: dataplane.resources.clone(),
        liveness_probe: probed.then(|| probe("/live")),
        readiness_probe: probed.then(|| probe("/ready")),
        security_context: Some(security::container(dataplane, uses_tls(context, dataplane))),
        volume_mounts: some_unless_empty(volume_mounts(context, dataplane)),
        ..Container::default()
    }
}

fn probe(path: &str) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::Int(port::HEALTH.into()),
            scheme: Some("HTTP".to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(15),
        timeout_seconds: Some(1),
        success_threshold: Some(1),
        failure_threshold: Some(3),
        ..Probe::default()
    }
}

fn volumes(context: &GatewayContext<'_>, dataplane: &DataplaneSpec) -> Vec<Volume> {
    if !uses_tls(context, dataplane) {
        return Vec::new();
    }
    let token = VolumeProjection {
        service_account_token: Some(ServiceAccountTokenProjection {
            audience: Some(cds::gateway_audience(context.name)),
            expiration_seconds: Some(TOKEN_SECONDS),
            path: cds::TOKEN_PATH.to_owned(),
        }),
        ..VolumeProjection::default()
    };
    let authority = VolumeProjection {
        config_map: Some(ConfigMapProjection {
            name: authority_name(context),
            items: Some(vec![KeyToPath {
                key: cds::CA_CERTIFICATE_KEY.to_owned(),
                path: cds::CA_CERTIFICATE_KEY.to_owned(),
                mode: None,
            }]),
            optional: None,
        }),
        ..VolumeProjection::default()
    };
    vec![
        Volume {
            name: cds::VOLUME.to_owned(),
            projected: Some(ProjectedVolumeSource {
                sources: Some(vec![token, authority]),
                default_mode: None,
            }),
            ..Volume::default()
        },
        Volume {
            name: names::CONFIG_CACHE_VOLUME.to_owned(),
            empty_dir: Some(EmptyDirVolumeSource {
                medium: Some("Memory".to_owned()),
                size_limit: Some(Quantity(CONFIG_CACHE_LIMIT.to_owned())),
            }),
            ..Volume::default()
        },
    ]
}

fn volume_mounts(context: &GatewayContext<'_>, dataplane: &DataplaneSpec) -> Vec<VolumeMount> {
    if !uses_tls(context, dataplane) {
        return Vec::new();
    }
    vec![
        VolumeMount {
            name: cds::VOLUME.to_owned(),
            mount_path: cds::MOUNT_PATH.to_owned(),
            read_only: Some(true),
            ..VolumeMount::default()
        },
        VolumeMount {
            name: names::CONFIG_CACHE_VOLUME.to_owned(),
            mount_path: names::CONFIG_CACHE_PATH.to_owned(),
            ..VolumeMount::default()
        },
    ]
}

fn grace_period(dataplane: &DataplaneSpec) -> i64 {
    dataplane
        .termination_grace_period_seconds
        .unwrap_or(names::DATAPLANE_GRACE_PERIOD_SECONDS)
}

/// Unique by name, as server-side apply demands.
fn pull_secrets(dataplane: &DataplaneSpec) -> Vec<LocalObjectReference> {
    let by_name: BTreeMap<&str, &LocalObjectReference> = dataplane
        .image_pull_secrets
        .iter()
        .map(|secret| (secret.name.as_str(), secret))
        .collect();
    by_name.into_values().cloned().collect()
}

fn or_default(given: &[String], default: &[&str]) -> Vec<String> {
    if given.is_empty() {
        default.iter().map(|&word| word.to_owned()).collect()
    } else {
        given.to_vec()
    }
}

fn some_unless_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}
