//! What translation refuses for a reason that no rule has told yet.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use stunner_api::names::condition;
use stunner_translate::{Object, ObjectKey, ObjectKind, Settings, Snapshot, translate};

use super::config::auth_secret;
use super::findings::Findings;
use super::secret::named;
use super::world::{World, backend_key, key, parent_gateway, route};
use crate::problem::Fault;
use crate::reading::Manifest;

/// Reports conditions that are False, at the object, listener or parentRef that they are about. One broken object makes
/// conditions of many others False, so objects that depend on something that is wrong are passed over.
pub(super) fn check(world: &World<'_>, findings: &mut Findings<'_>) {
    let mut snapshot = Snapshot::default();
    for manifest in world.counting() {
        snapshot.apply(manifest.object.clone());
    }
    let plan = translate(&snapshot, &Settings::default());
    for manifest in world.counting() {
        if is_explained(world, findings, manifest) {
            continue;
        }
        let name = &manifest.key.name;
        let mut said = BTreeSet::new();
        let mut tell = |findings: &mut Findings<'_>, field: &str, conditions: &[Condition]| {
            for refused in conditions.iter().filter(|condition| is_refusal(condition)) {
                if said.insert(refused.message.clone()) {
                    let (message, hint) = split(&refused.message);
                    findings.warning(manifest, Fault::Suspicious, field, message, hint);
                }
            }
        };
        match manifest.key.kind {
            ObjectKind::GatewayClass => {
                if let Some(plan) = plan.classes.get(&name.name) {
                    tell(findings, "spec", &plan.status.conditions);
                }
            }
            ObjectKind::Gateway => {
                let status = plan
                    .gateways
                    .get(name)
                    .and_then(|plan| plan.status.as_ref());
                if let Some(status) = status {
                    tell(findings, "spec", &status.conditions);
                    for (number, listener) in status.listeners.iter().enumerate() {
                        let field = format!("spec.listeners[{number}]");
                        tell(findings, &field, &listener.conditions);
                    }
                }
            }
            ObjectKind::Route(kind) => {
                let parents = route(manifest).map_or(&[] as &[_], |route| route.parents);
                let Some(plan) = plan.routes.get(&(kind, name.clone())) else {
                    continue;
                };
                for status in &plan.status.parents {
                    let is_meant = |parent: &&stunner_api::gateway::ParentRef| {
                        parent.name == status.parent_ref.name
                            && parent.namespace == status.parent_ref.namespace
                            && parent.section_name == status.parent_ref.section_name
                            && parent.port == status.parent_ref.port
                    };
                    let number = parents.iter().position(|parent| is_meant(&parent));
                    let (accepted, others): (Vec<_>, Vec<_>) = status
                        .conditions
                        .iter()
                        .cloned()
                        .partition(|found| found.type_ == condition::ACCEPTED);
                    let number = number.unwrap_or_default();
                    tell(findings, &format!("spec.parentRefs[{number}]"), &accepted);
                    tell(findings, "spec.rules", &others);
                }
            }
            _ => {}
        }
    }
}

/// `Programmed` waits for what only a cluster or a host can give.
fn is_refusal(found: &Condition) -> bool {
    let is_asked = [condition::ACCEPTED, condition::RESOLVED_REFS].contains(&found.type_.as_str());
    is_asked && found.status == condition::FALSE
}

/// Sentences in the form of a diagnostic: the last one ends in what to change.
fn split(sentences: &str) -> (String, String) {
    let text = sentences.trim_end_matches('.');
    let cut = text.rfind(": ").max(text.rfind("; "));
    let (message, hint) = match cut {
        Some(at) => (&text[..at], &text[at + 2..]),
        None => (text, "correct what it names"),
    };
    // Diagnostics begin in lower case; names of kinds stay as they are.
    let message = match message.strip_prefix("The ") {
        Some(rest) => format!("the {rest}"),
        None => message.to_owned(),
    };
    (message, hint.to_owned())
}

fn is_explained(world: &World<'_>, findings: &Findings<'_>, manifest: &Manifest) -> bool {
    findings.is_touched(&manifest.key)
        || depends_on(world, manifest)
            .iter()
            .any(|key| findings.is_touched(key) || world.find(key).is_none())
}

/// What an object's conditions follow from.
fn depends_on(world: &World<'_>, manifest: &Manifest) -> Vec<ObjectKey> {
    let namespace = &manifest.key.name.namespace;
    match &manifest.object {
        Object::GatewayClass(class) => {
            let Some(reference) = &class.spec.parameters_ref else {
                return Vec::new();
            };
            let namespace = reference.namespace.as_deref().unwrap_or_default();
            vec![ObjectKey::new(
                ObjectKind::GatewayConfig,
                namespace,
                &reference.name,
            )]
        }
        Object::GatewayConfig(config) => auth_secret(&manifest.key.name, &config.spec)
            .map(|secret| key(ObjectKind::Secret, &secret))
            .into_iter()
            .collect(),
        Object::Gateway(gateway) => {
            let class = ObjectKey::new(
                ObjectKind::GatewayClass,
                "",
                &gateway.spec.gateway_class_name,
            );
            let mut keys = vec![class.clone()];
            if let Some(class) = world.find(&class) {
                let configs = depends_on(world, class);
                let configs = configs.iter().filter_map(|config| world.find(config));
                keys.extend(configs.flat_map(|config| {
                    let mut keys = depends_on(world, config);
                    keys.push(config.key.clone());
                    keys
                }));
            }
            let references = gateway
                .spec
                .listeners
                .iter()
                .filter_map(|listener| listener.tls.as_ref())
                .flat_map(|tls| &tls.certificate_refs);
            let secrets = references.filter_map(|reference| named(reference, namespace));
            keys.extend(secrets.map(|secret| key(ObjectKind::Secret, &secret)));
            keys
        }
        _ => {
            let Some(route) = route(manifest) else {
                return Vec::new();
            };
            let parents = route.parents.iter();
            let parents = parents.filter_map(|parent| parent_gateway(namespace, parent));
            let backends = route.backends.into_iter().flatten();
            let mut keys: Vec<ObjectKey> = parents
                .map(|name| key(ObjectKind::Gateway, &name))
                .chain(backends.filter_map(|backend| backend_key(namespace, backend)))
                .collect();
            let services = keys.iter().filter(|key| key.kind == ObjectKind::Service);
            let slices: Vec<ObjectKey> = services
                .flat_map(|service| world.slices_of(&service.name))
                .map(|slice| slice.key.clone())
                .collect();
            keys.extend(slices);
            keys
        }
    }
}
