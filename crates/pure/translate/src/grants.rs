//! Whether an object may refer to one of another namespace: ReferenceGrants (GEP-709).

use stunner_api::gateway::{ReferenceGrantFrom, ReferenceGrantTo};

use crate::settings::{ReferenceGrants, Settings};
use crate::snapshot::Snapshot;

/// The kind of object that refers, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Referrer<'a> {
    pub(crate) group: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) namespace: &'a str,
}

/// The object that is referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Referent<'a> {
    pub(crate) group: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// The same namespace, or a ReferenceGrant says so.
    Yes,
    /// No ReferenceGrant says so, but none is asked for.
    OnlyBecauseAllowed,
    No,
}

/// A reference needs a grant in the namespace of what it refers to, unless it stays in its own namespace.
pub(crate) fn permitted(
    snapshot: &Snapshot,
    settings: &Settings,
    from: Referrer<'_>,
    to: Referent<'_>,
) -> Permission {
    if from.namespace == to.namespace || granted(snapshot, from, to) {
        return Permission::Yes;
    }
    match settings.reference_grants {
        ReferenceGrants::Allow => Permission::OnlyBecauseAllowed,
        ReferenceGrants::Enforce => Permission::No,
    }
}

fn granted(snapshot: &Snapshot, from: Referrer<'_>, to: Referent<'_>) -> bool {
    snapshot.grants_in(to.namespace).any(|grant| {
        grant.spec.from.iter().any(|entry| covers(entry, from))
            && grant.spec.to.iter().any(|entry| includes(entry, to))
    })
}

fn covers(entry: &ReferenceGrantFrom, from: Referrer<'_>) -> bool {
    entry.group == from.group && entry.kind == from.kind && entry.namespace == from.namespace
}

/// Without a name every object of the kind is meant; an empty name is none.
fn includes(entry: &ReferenceGrantTo, to: Referent<'_>) -> bool {
    let name = entry.name.as_deref().filter(|name| !name.is_empty());
    entry.group == to.group && entry.kind == to.kind && name.is_none_or(|name| name == to.name)
}
