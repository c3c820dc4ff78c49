//! Routes: to which listeners they attach, and to which backends they lead.

use stunner_api::gateway::{BackendRef, Gateway, ParentRef};
use stunner_api::{NamespacedName, names};
use stunner_document::nearest;
use stunner_translate::{ObjectKind, RouteKind};

use super::findings::Findings;
use super::reference::{Reference, resolve};
use super::world::{Owner, RouteFields, World, backend_key, key, parent_gateway, route};
use crate::problem::Fault;
use crate::reading::Manifest;

pub(super) fn check(world: &World<'_>, findings: &mut Findings<'_>, manifest: &Manifest) {
    let Some(route) = route(manifest) else {
        return;
    };
    if !world.is_our_route(manifest) {
        return;
    }
    parents(world, findings, manifest, &route);
    for (rule, backends) in route.backends.iter().enumerate() {
        for (number, backend) in backends.iter().enumerate() {
            let field = format!("spec.rules[{rule}].backendRefs[{number}]");
            check_backend(world, findings, manifest, &field, backend);
        }
    }
    let is_empty = route.backends.iter().all(|backends| backends.is_empty());
    if is_empty && !findings.is_told(manifest, "spec") {
        findings.warning(
            manifest,
            Fault::Suspicious,
            "spec.rules",
            "a route without backends admits nothing",
            "name a Service or a StaticService: `backendRefs: [{name: NAME}]`",
        );
    }
}

fn parents(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    route: &RouteFields<'_>,
) {
    if route.parents.is_empty() && !findings.is_told(manifest, "spec") {
        findings.warning(
            manifest,
            Fault::Suspicious,
            "spec.parentRefs",
            "a route without `parentRefs` is attached to no Gateway",
            "name the Gateway: `parentRefs: [{name: NAME}]`",
        );
    }
    for (number, parent) in route.parents.iter().enumerate() {
        let at = format!("spec.parentRefs[{number}]");
        let namespace = &manifest.key.name.namespace;
        let Some(name) = parent_gateway(namespace, parent) else {
            other_parent(findings, manifest, &at, parent, route.kind);
            continue;
        };
        let reference = Reference {
            to: &key(ObjectKind::Gateway, &name),
            field: &format!("{at}.name"),
            names_namespace: true,
        };
        if !resolve(world, findings, manifest, &reference) {
            continue;
        }
        let Some((gateway_manifest, gateway)) = world.gateway(&name) else {
            continue;
        };
        let is_ours = !matches!(world.owner(gateway), Owner::SomebodyElse);
        // A listener that seems to be missing may have been left out for being broken.
        if is_ours && !findings.is_told(gateway_manifest, "spec.listeners") {
            listener(findings, manifest, &at, parent, &name, gateway);
        }
    }
}

/// Official routes may have parents of other controllers' kinds; ours attach to Gateways.
fn other_parent(
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    at: &str,
    parent: &ParentRef,
    kind: RouteKind,
) {
    if kind != RouteKind::Udp {
        return;
    }
    let given = parent.kind.as_deref().unwrap_or(names::GATEWAY_KIND);
    let (field, given, wanted) = if given == names::GATEWAY_KIND {
        let group = parent.group.as_deref().unwrap_or_default();
        ("group", group, names::GATEWAY_GROUP)
    } else {
        ("kind", given, names::GATEWAY_KIND)
    };
    findings.error(
        manifest,
        Fault::WrongValue,
        &format!("{at}.{field}"),
        format!("`{given}` is not the {field} of a Gateway, and a route attaches to Gateways"),
        format!("write `{wanted}`, or leave out `{field}`"),
    );
}

/// `sectionName` and `port` of a parentRef must both be those of one listener.
fn listener(
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    at: &str,
    parent: &ParentRef,
    name: &NamespacedName,
    gateway: &Gateway,
) {
    let listeners = &gateway.spec.listeners;
    let section = parent
        .section_name
        .as_deref()
        .filter(|section| !section.is_empty());
    let listed = || {
        let listed: Vec<String> = listeners
            .iter()
            .map(|listener| format!("`{}` on port {}", listener.name, listener.port))
            .collect();
        match listed.as_slice() {
            [] => "add a listener to the Gateway".to_owned(),
            listed => format!("it has {}", listed.join(", ")),
        }
    };
    let names: Vec<&str> = listeners
        .iter()
        .map(|listener| listener.name.as_str())
        .collect();
    if let Some(section) = section
        && !names.contains(&section)
    {
        let hint = match nearest(section, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => listed(),
        };
        findings.error(
            manifest,
            Fault::DanglingReference,
            &format!("{at}.sectionName"),
            format!("Gateway `{name}` has no listener `{section}`"),
            hint,
        );
        return;
    }
    let Some(port) = parent.port else {
        return;
    };
    let fits = |listener: &&stunner_api::gateway::Listener| {
        listener.port == port && section.is_none_or(|section| section == listener.name)
    };
    if !listeners.iter().any(|listener| fits(&listener)) {
        let which = match section {
            Some(section) => {
                format!("listener `{section}` of Gateway `{name}` is not on port {port}")
            }
            None => format!("Gateway `{name}` has no listener on port {port}"),
        };
        findings.error(
            manifest,
            Fault::DanglingReference,
            &format!("{at}.port"),
            which,
            listed(),
        );
    }
}

fn check_backend(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    field: &str,
    backend: &BackendRef,
) {
    match backend_key(&manifest.key.name.namespace, backend) {
        Some(to) => {
            let reference = Reference {
                to: &to,
                field: &format!("{field}.name"),
                names_namespace: true,
            };
            resolve(world, findings, manifest, &reference);
        }
        None => other_backend(findings, manifest, field, backend),
    }
}

fn other_backend(
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    field: &str,
    backend: &BackendRef,
) {
    const KINDS: &[&str] = &[names::SERVICE_KIND, names::STATIC_SERVICE_KIND];
    let group = backend.group.as_deref().unwrap_or_default();
    let kind = backend.kind.as_deref().unwrap_or(names::SERVICE_KIND);
    let (key, message, hint) = match kind {
        names::STATIC_SERVICE_KIND if backend.group.is_none() => (
            "kind",
            format!("a StaticService is of group `{}`", names::GROUP),
            format!("add `group: {}`", names::GROUP),
        ),
        names::STATIC_SERVICE_KIND => (
            "group",
            format!(
                "a StaticService is of group `{}`, not `{group}`",
                names::GROUP
            ),
            format!("write `group: {}`", names::GROUP),
        ),
        names::SERVICE_KIND => (
            "group",
            format!("a Service is of the core group, not `{group}`"),
            match group == names::GROUP {
                true => "leave out `group`, or set `kind: StaticService`".to_owned(),
                false => "leave out `group`".to_owned(),
            },
        ),
        other => (
            "kind",
            format!("a `{other}` cannot be a backend"),
            match nearest(other, KINDS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "name a Service, or a StaticService of group `{}`",
                    names::GROUP
                ),
            },
        ),
    };
    findings.error(
        manifest,
        Fault::WrongValue,
        &format!("{field}.{key}"),
        message,
        hint,
    );
}
