//! Whether an object may refer to one of another namespace: ReferenceGrants (GEP-709).

use stunner_api::gateway::{ReferenceGrantFrom, ReferenceGrantTo};
use stunner_api::{NamespacedName, names};

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

impl<'a> Referent<'a> {
    pub(crate) fn secret(name: &'a NamespacedName) -> Self {
        Referent {
            group: "",
            kind: names::SECRET_KIND,
            namespace: &name.namespace,
            name: &name.name,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::manifest::snapshot;

    const FROM: Referrer<'_> = Referrer {
        group: "stunner.l7mp.io",
        kind: "UDPRoute",
        namespace: "stunner",
    };
    const TO: Referent<'_> = Referent {
        group: "",
        kind: "Service",
        namespace: "other",
        name: "media",
    };

    fn answers(namespace: &str, from: &str, to: &str) -> (Permission, Permission) {
        let snapshot = snapshot(&format!(
            "{{kind: ReferenceGrant, metadata: {{namespace: {namespace}, name: grant}},
               spec: {{from: [{from}], to: [{to}]}}}}"
        ));
        let under = |reference_grants| {
            let settings = Settings {
                reference_grants,
                ..Settings::default()
            };
            permitted(&snapshot, &settings, FROM, TO)
        };
        (
            under(ReferenceGrants::Allow),
            under(ReferenceGrants::Enforce),
        )
    }

    const YES: (Permission, Permission) = (Permission::Yes, Permission::Yes);
    const NO: (Permission, Permission) = (Permission::OnlyBecauseAllowed, Permission::No);
    const ROUTES: &str = "{group: stunner.l7mp.io, kind: UDPRoute, namespace: stunner}";
    const SERVICES: &str = "{group: '', kind: Service}";

    #[test]
    fn a_grant_of_the_referents_namespace_permits() {
        assert_eq!(answers("other", ROUTES, SERVICES), YES);
        let one = "{group: '', kind: Service, name: media}";
        assert_eq!(answers("other", ROUTES, one), YES);
        let unnamed = "{group: '', kind: Service, name: ''}";
        assert_eq!(answers("other", ROUTES, unnamed), YES);
    }

    #[test]
    fn a_grant_for_something_else_does_not() {
        assert_eq!(answers("stunner", ROUTES, SERVICES), NO);
        for from in [
            "{group: gateway.networking.k8s.io, kind: UDPRoute, namespace: stunner}",
            "{group: stunner.l7mp.io, kind: TCPRoute, namespace: stunner}",
            "{group: stunner.l7mp.io, kind: UDPRoute, namespace: third}",
        ] {
            assert_eq!(answers("other", from, SERVICES), NO, "{from}");
        }
        for to in [
            "{group: stunner.l7mp.io, kind: StaticService}",
            "{group: '', kind: Secret}",
            "{group: '', kind: Service, name: chat}",
        ] {
            assert_eq!(answers("other", ROUTES, to), NO, "{to}");
        }
    }

    #[test]
    fn nothing_is_needed_within_a_namespace() {
        let settings = Settings {
            reference_grants: ReferenceGrants::Enforce,
            ..Settings::default()
        };
        let to = Referent {
            namespace: "stunner",
            ..TO
        };
        let answer = permitted(&Snapshot::default(), &settings, FROM, to);
        assert_eq!(answer, Permission::Yes);
    }
}
