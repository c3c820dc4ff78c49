//! The Deployment or DaemonSet of a Gateway.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec, Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use stunner_api::names::cds;
use stunner_api::v1::DataplaneSpec;

use crate::context::GatewayContext;
use crate::plan::{Workload, WorkloadKind};
use crate::settings::Mode;
use crate::{metadata, pod};

/// What runs the dataplane of a Gateway, and the kinds of which none is to run it any more.
///
/// Both are empty in legacy mode, and where there is no Dataplane to make pods from: what runs goes on running.
pub(crate) fn workloads(context: &GatewayContext<'_>) -> (Vec<Workload>, Vec<WorkloadKind>) {
    if context.settings.mode == Mode::Legacy {
        return (Vec::new(), Vec::new());
    }
    if context.options.managed_dataplane_disabled {
        return (
            Vec::new(),
            vec![WorkloadKind::Deployment, WorkloadKind::DaemonSet],
        );
    }
    let Some(dataplane) = context.dataplane else {
        return (Vec::new(), Vec::new());
    };
    let mut workloads = Vec::new();
    // First: pods do not start without it.
    workloads.extend(authority(context, dataplane));
    let retired = if is_daemon_set(dataplane) {
        workloads.push(Workload::DaemonSet(Box::new(daemon_set(
            context, dataplane,
        ))));
        WorkloadKind::Deployment
    } else {
        workloads.push(Workload::Deployment(Box::new(deployment(
            context, dataplane,
        ))));
        WorkloadKind::DaemonSet
    };
    (workloads, vec![retired])
}

fn is_daemon_set(dataplane: &DataplaneSpec) -> bool {
    dataplane
        .dataplane_resource
        .as_deref()
        .is_some_and(|resource| resource.eq_ignore_ascii_case("DaemonSet"))
}

fn deployment(context: &GatewayContext<'_>, dataplane: &DataplaneSpec) -> Deployment {
    Deployment {
        metadata: metadata::workload_metadata(context),
        spec: Some(DeploymentSpec {
            replicas: dataplane.replicas,
            selector: selector(context),
            template: pod::template(context, dataplane),
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn daemon_set(context: &GatewayContext<'_>, dataplane: &DataplaneSpec) -> DaemonSet {
    DaemonSet {
        metadata: metadata::workload_metadata(context),
        spec: Some(DaemonSetSpec {
            selector: selector(context),
            template: pod::template(context, dataplane),
            ..DaemonSetSpec::default()
        }),
        status: None,
    }
}

/// Immutable: it has to be, to the letter, what the Go operator wrote, so that its Deployments can be taken over.
fn selector(context: &GatewayContext<'_>) -> LabelSelector {
    let expressions = metadata::pod_labels(context)
        .into_iter()
        .map(|(key, value)| LabelSelectorRequirement {
            key,
            operator: "In".to_owned(),
            values: Some(vec![value]),
        })
        .collect();
    LabelSelector {
        match_expressions: Some(expressions),
        match_labels: None,
    }
}

/// The certificate authority of config discovery, where pods can mount it: in their own namespace.
fn authority(context: &GatewayContext<'_>, dataplane: &DataplaneSpec) -> Option<Workload> {
    let certificate = context.settings.cds.ca_certificate.as_ref()?;
    if !pod::uses_tls(context, dataplane) {
        return None;
    }
    let data = BTreeMap::from([(cds::CA_CERTIFICATE_KEY.to_owned(), certificate.clone())]);
    Some(Workload::ConfigMap(Box::new(ConfigMap {
        metadata: metadata::plain_metadata(context, pod::authority_name(context)),
        data: Some(data),
        ..ConfigMap::default()
    })))
}

#[cfg(test)]
mod tests;
