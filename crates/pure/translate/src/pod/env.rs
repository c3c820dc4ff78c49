//! Environment variables of a dataplane.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, ObjectFieldSelector};
use stunner_api::names::{CONFIG_CACHE_PATH, cds, env};
use stunner_api::v1::DataplaneSpec;

use super::{grace_period, uses_tls};
use crate::context::GatewayContext;

/// Ours, then those of the Dataplane, which win. A name occurs once: server-side apply refuses it twice.
pub(super) fn variables(context: &GatewayContext<'_>, dataplane: &DataplaneSpec) -> Vec<EnvVar> {
    // Where the Dataplane itself has a name twice, Kubernetes takes the last.
    let last: BTreeMap<&str, usize> = dataplane
        .env
        .iter()
        .enumerate()
        .map(|(index, variable)| (variable.name.as_str(), index))
        .collect();
    let given = dataplane
        .env
        .iter()
        .enumerate()
        .filter(|(index, variable)| last.get(variable.name.as_str()) == Some(index))
        .map(|(_, variable)| variable.clone());
    ours(context, dataplane)
        .into_iter()
        .filter(|variable| !last.contains_key(variable.name.as_str()))
        .chain(given)
        .collect()
}

fn ours(context: &GatewayContext<'_>, dataplane: &DataplaneSpec) -> Vec<EnvVar> {
    let access = &context.settings.cds;
    let tls = uses_tls(context, dataplane);
    let origin = match &access.tls_origin {
        Some(origin) if tls => origin,
        _ => &access.plain_origin,
    };
    let mut variables = vec![
        from_field(env::STUNNER_ADDR, "status.podIP"),
        plain(env::STUNNER_NAME, &context.name.name),
        plain(env::STUNNER_NAMESPACE, &context.name.namespace),
        from_field(env::STUNNER_NODENAME, "spec.nodeName"),
        plain(env::STUNNER_CONFIG_ORIGIN, origin),
        from_field(env::STUNNER_ADDRS, "status.podIPs"),
        plain(env::STUNNER_READY_WHILE_DRAINING, "true"),
        plain(env::STUNNER_DRAIN_TIMEOUT, &drain_timeout(dataplane)),
    ];
    if tls {
        variables.extend([
            plain(env::STUNNER_CDS_TOKEN_FILE, cds::TOKEN_FILE),
            plain(env::STUNNER_CDS_CA_FILE, cds::CA_FILE),
            plain(env::STUNNER_CONFIG_CACHE, CONFIG_CACHE_PATH),
        ]);
    }
    if dataplane.host_network == Some(true) {
        // The loopback of a node is everybody's on that node.
        variables.push(plain(env::STUNNER_ADMIN_ADDRESS, "off"));
    }
    variables
}

/// A little less than the pod gets, so that clients are told before the kubelet ends it.
fn drain_timeout(dataplane: &DataplaneSpec) -> String {
    let grace = grace_period(dataplane).max(0);
    format!("{}s", grace - (grace / 5).min(5))
}

fn plain(name: &str, value: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        value_from: None,
    }
}

fn from_field(name: &str, path: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: None,
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                api_version: Some("v1".to_owned()),
                field_path: path.to_owned(),
            }),
            ..EnvVarSource::default()
        }),
    }
}
