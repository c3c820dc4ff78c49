//! References to objects that no file has.

use std::collections::BTreeSet;

use stunner_api::gateway::ReferenceGrant;
use stunner_api::names;
use stunner_document::nearest;
use stunner_translate::{ObjectKey, ObjectKind};

use super::findings::Findings;
use super::world::World;
use crate::problem::{Fault, Problem};
use crate::reading::Manifest;

/// What a reference names, the field with the name, and whether the reference can name a namespace.
pub(super) struct Reference<'r> {
    pub(super) to: &'r ObjectKey,
    pub(super) field: &'r str,
    pub(super) names_namespace: bool,
}

/// Reports a reference to an object that is in no file. True when the object is there.
pub(super) fn resolve(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    from: &Manifest,
    reference: &Reference<'_>,
) -> bool {
    let Reference { to, field, .. } = *reference;
    if world.has(to) {
        return true;
    }
    let kind = to.kind;
    let place = from.place_of(field);
    let field = from.as_written(field);
    let message = format!("there is no {kind} `{}` in the files", shown(to));
    let problem = match world.obscure {
        None => Problem::error(
            &from.file,
            place,
            Fault::DanglingReference,
            &*field,
            message,
        )
        .hint(hint(world, findings, from, reference)),
        Some(file) => Problem::warning(
            &from.file,
            place,
            Fault::DanglingReference,
            &*field,
            message,
        )
        .hint(format!(
            "it may be in the part of {file} that cannot be read; mend that first"
        )),
    };
    findings.push(from, problem);
    false
}

/// `namespace/name`, or only the name of what is in no namespace.
pub(super) fn shown(key: &ObjectKey) -> String {
    if key.name.namespace.is_empty() {
        key.name.name.clone()
    } else {
        key.name.to_string()
    }
}

fn hint(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    from: &Manifest,
    reference: &Reference<'_>,
) -> String {
    let Reference { to, .. } = *reference;
    let kind = to.kind;
    let (namespace, name) = (&to.name.namespace, &to.name.name);
    let keys = || world.of_kind(kind).map(|manifest| &manifest.key.name);
    if findings.may_compare() {
        let beside: Vec<&str> = keys()
            .filter(|key| key.namespace == *namespace)
            .map(|key| key.name.as_str())
            .collect();
        if let Some(near) = nearest(name, &beside) {
            return format!("did you mean `{near}`?");
        }
    }
    let is_static = ObjectKey {
        kind: ObjectKind::StaticService,
        name: to.name.clone(),
    };
    if kind == ObjectKind::Service && world.has(&is_static) {
        return format!(
            "there is a StaticService of that name: add `group: {}` and `kind: StaticService`",
            names::GROUP
        );
    }
    let elsewhere: BTreeSet<&str> = keys()
        .filter(|key| key.name == *name)
        .map(|key| key.namespace.as_str())
        .collect();
    if let Some(other) = elsewhere.first() {
        return if reference.names_namespace {
            format!("there is one in namespace `{other}`: set `namespace: {other}`")
        } else {
            format!(
                "there is one in namespace `{other}`: move it, or this {}, so that they are in the same one",
                from.key.kind
            )
        };
    }
    if namespace.is_empty() {
        format!("add a {kind} manifest named `{name}`, or correct the name")
    } else {
        format!(
            "add a {kind} manifest named `{name}` in namespace `{namespace}`, or correct the name"
        )
    }
}

/// A ReferenceGrant that names one object means one that is beside it.
pub(super) fn grant(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    grant: &ReferenceGrant,
) {
    for (number, to) in grant.spec.to.iter().enumerate() {
        let kind = match (to.group.as_str(), to.kind.as_str()) {
            ("", names::SECRET_KIND) => ObjectKind::Secret,
            ("", names::SERVICE_KIND) => ObjectKind::Service,
            (names::GROUP, names::STATIC_SERVICE_KIND) => ObjectKind::StaticService,
            _ => continue,
        };
        let Some(name) = to.name.as_deref().filter(|name| !name.is_empty()) else {
            continue;
        };
        let reference = Reference {
            to: &ObjectKey::new(kind, &manifest.key.name.namespace, name),
            field: &format!("spec.to[{number}].name"),
            names_namespace: false,
        };
        resolve(world, findings, manifest, &reference);
    }
}
