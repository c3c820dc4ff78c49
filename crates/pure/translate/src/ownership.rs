//! Whose a Gateway is.

use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, GatewayClass};
use stunner_api::names::label;

use crate::last_good::LastGood;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Ownership<'a> {
    /// Its class names our controller.
    Ours(&'a GatewayClass),
    /// Its class does not exist, and it was served by us: it stays up, since nobody said that it should go.
    ClassGone,
    NotOurs,
}

impl Ownership<'_> {
    pub(crate) fn is_ours(&self) -> bool {
        !matches!(self, Ownership::NotOurs)
    }
}

pub(crate) fn ownership<'a>(
    snapshot: &'a Snapshot,
    settings: &Settings,
    gateway: &Gateway,
) -> Ownership<'a> {
    match snapshot.classes.get(&gateway.spec.gateway_class_name) {
        Some(class) if class_is_ours(settings, class) => Ownership::Ours(class),
        Some(_) => Ownership::NotOurs,
        None if last_good(snapshot, gateway).is_some() || has_our_service(snapshot, gateway) => {
            Ownership::ClassGone
        }
        None => Ownership::NotOurs,
    }
}

pub(crate) fn class_is_ours(settings: &Settings, class: &GatewayClass) -> bool {
    class.spec.controller_name == settings.controller_name
}

/// What the Gateway ran on before. One that was deleted and made anew under the same name does not inherit.
pub(crate) fn last_good<'a>(snapshot: &'a Snapshot, gateway: &Gateway) -> Option<&'a LastGood> {
    let name = NamespacedName::of(&gateway.metadata);
    let last_good = snapshot.last_good.get(&name)?;
    (gateway.metadata.uid.as_deref() == Some(last_good.gateway_uid.as_str()))
        .then_some(last_good.as_ref())
}

/// A Service that was made for this very Gateway, by us or by the Go operator before us.
fn has_our_service(snapshot: &Snapshot, gateway: &Gateway) -> bool {
    let name = NamespacedName::of(&gateway.metadata);
    let Some(uid) = gateway.metadata.uid.as_deref() else {
        return false;
    };
    snapshot.services.get(&name).is_some_and(|service| {
        let labelled = service
            .metadata
            .labels
            .iter()
            .flatten()
            .any(|(key, value)| key == label::OWNED_BY && value == label::OWNED_BY_VALUE);
        let owners = service.metadata.owner_references.iter().flatten();
        labelled && owners.into_iter().any(|owner| owner.uid == uid)
    })
}
