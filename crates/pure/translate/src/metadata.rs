//! Labels, annotations and owners of what is made for a Gateway.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use stunner_api::names::{GATEWAY_GROUP, GATEWAY_KIND, annotation, label};

use crate::context::GatewayContext;

/// The longest value of a label, and the longest DNS label.
const LABEL_LIMIT: usize = 63;

/// The longest name of most objects.
const NAME_LIMIT: usize = 253;

/// Of the Service.
pub(crate) fn service_metadata(context: &GatewayContext<'_>) -> ObjectMeta {
    let mut labels = infrastructure_labels(context);
    labels.extend(mandatory_labels(context));
    ObjectMeta {
        annotations: Some(annotations(context)),
        labels: Some(labels),
        ..named(context, context.name.name.clone())
    }
}

/// Of the Deployment or DaemonSet. Labels of the Gateway are copied too, but for those by which GitOps tools find what
/// is theirs.
pub(crate) fn workload_metadata(context: &GatewayContext<'_>) -> ObjectMeta {
    let mut labels: BTreeMap<String, String> = context
        .gateway
        .metadata
        .labels
        .iter()
        .flatten()
        .filter(|(key, _)| !context.settings.label_filter.contains(*key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    labels.extend(infrastructure_labels(context));
    labels.extend(mandatory_labels(context));
    ObjectMeta {
        annotations: Some(annotations(context)),
        labels: Some(labels),
        ..named(context, context.name.name.clone())
    }
}

/// Of what else is made for a Gateway: nothing but what marks it as ours.
pub(crate) fn plain_metadata(context: &GatewayContext<'_>, name: String) -> ObjectMeta {
    ObjectMeta {
        annotations: Some(mandatory_annotations(context)),
        labels: Some(mandatory_labels(context)),
        ..named(context, name)
    }
}

fn named(context: &GatewayContext<'_>, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: Some(context.name.namespace.clone()),
        owner_references: owner_reference(context).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

/// The Gateway owns what is made for it, so that Kubernetes deletes it with the Gateway. One from a file has no UID and
/// owns nothing.
fn owner_reference(context: &GatewayContext<'_>) -> Option<OwnerReference> {
    let uid = context.gateway.metadata.uid.clone();
    Some(OwnerReference {
        api_version: format!("{GATEWAY_GROUP}/v1"),
        kind: GATEWAY_KIND.to_owned(),
        name: context.name.name.clone(),
        uid: uid.filter(|uid| !uid.is_empty())?,
        block_owner_deletion: None,
        controller: None,
    })
}

fn mandatory_labels(context: &GatewayContext<'_>) -> BTreeMap<String, String> {
    let mut labels = gateway_labels(context);
    labels.insert(label::OWNED_BY.to_owned(), label::OWNED_BY_VALUE.to_owned());
    labels
}

/// By which pods of a Gateway are told from those of another.
fn gateway_labels(context: &GatewayContext<'_>) -> BTreeMap<String, String> {
    BTreeMap::from([
        (
            label::RELATED_GATEWAY_NAME.to_owned(),
            gateway_label_value(&context.name.name),
        ),
        (
            label::RELATED_GATEWAY_NAMESPACE.to_owned(),
            context.name.namespace.clone(),
        ),
    ])
}

/// Labels of the dataplane pods, and the selector that finds them.
pub(crate) fn pod_labels(context: &GatewayContext<'_>) -> BTreeMap<String, String> {
    let mut labels = gateway_labels(context);
    labels.insert(label::APP.to_owned(), label::APP_VALUE.to_owned());
    labels
}

pub(crate) fn mandatory_annotations(context: &GatewayContext<'_>) -> BTreeMap<String, String> {
    BTreeMap::from([(
        annotation::RELATED_GATEWAY.to_owned(),
        context.name.to_string(),
    )])
}

fn infrastructure_labels(context: &GatewayContext<'_>) -> BTreeMap<String, String> {
    context
        .gateway
        .spec
        .infrastructure
        .as_ref()
        .map(|infrastructure| infrastructure.labels.clone())
        .unwrap_or_default()
}

/// Of the GatewayConfig, then the Gateway, then its `spec.infrastructure`; the later wins.
///
/// What `kubectl apply` left on the Gateway is not copied: it would make kubectl take the copy for its own. Nor is
/// what the filter holds, which some GitOps tools use as annotations too.
fn annotations(context: &GatewayContext<'_>) -> BTreeMap<String, String> {
    let of_config = &context.config.spec.load_balancer_service_annotations;
    let mut annotations: BTreeMap<String, String> = of_config
        .iter()
        .filter(|(key, _)| is_annotation_key(key))
        .chain(context.gateway.metadata.annotations.iter().flatten())
        .filter(|(key, _)| {
            *key != annotation::LAST_APPLIED && !context.settings.label_filter.contains(*key)
        })
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if let Some(infrastructure) = &context.gateway.spec.infrastructure {
        annotations.extend(infrastructure.annotations.clone());
    }
    // Whoever writes the Deployment keeps the number of replicas there.
    annotations.remove(annotation::DATAPLANE_REPLICAS);
    annotations.extend(mandatory_annotations(context));
    annotations
}

/// A GatewayConfig may hold any text as key; one that is no key would make the API server refuse the object.
pub(crate) fn is_annotation_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_name = !name.is_empty()
        && name.len() <= LABEL_LIMIT
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    is_name && prefix.is_none_or(is_dns_subdomain)
}

fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= NAME_LIMIT
        && text.split('.').all(|part| {
            !part.is_empty()
                && !part.starts_with('-')
                && !part.ends_with('-')
                // Annotation keys are compared in lower case.
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        })
}

/// The name of a Gateway as value of a label. Names of Gateways may be longer than values of labels.
pub(crate) fn gateway_label_value(gateway: &str) -> String {
    shortened(gateway, LABEL_LIMIT)
}

/// A name made from the Gateway's for an object that cannot have the same name.
pub(crate) fn derived_name(gateway: &str, suffix: &str) -> String {
    format!("{}{suffix}", shortened(gateway, NAME_LIMIT - suffix.len()))
}

/// A listener's name as name of a Service port, which is a DNS label; names of listeners may have dots and be longer.
pub(crate) fn port_name(listener: &str, reserved: &str) -> String {
    let is_label = listener.len() <= LABEL_LIMIT
        && !listener.starts_with('-')
        && !listener.ends_with('-')
        && !listener.is_empty()
        && listener.chars().all(is_label_char);
    if is_label && listener != reserved {
        return listener.to_owned();
    }
    let plain: String = listener
        .chars()
        .map(|c| {
            let c = c.to_ascii_lowercase();
            if is_label_char(c) { c } else { '-' }
        })
        .collect();
    with_hash(plain.trim_matches('-'), listener, LABEL_LIMIT)
}

fn is_label_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

fn shortened(name: &str, limit: usize) -> String {
    if name.len() <= limit {
        return name.to_owned();
    }
    with_hash(name, name, limit)
}

/// The beginning of `text` and a hash of `whole`, by which names that begin alike stay apart.
fn with_hash(text: &str, whole: &str, limit: usize) -> String {
    let hash = format!("{:016x}", fnv1a(whole.as_bytes()));
    let room = limit.saturating_sub(hash.len() + 1);
    let mut beginning = String::new();
    for c in text.chars() {
        if beginning.len() + c.len_utf8() > room {
            break;
        }
        beginning.push(c);
    }
    let beginning = beginning.trim_end_matches(['-', '.', '_']);
    if beginning.is_empty() {
        return format!("l-{hash}");
    }
    format!("{beginning}-{hash}")
}

/// FNV-1a: the same on every machine and in every version, which names of objects have to be.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
