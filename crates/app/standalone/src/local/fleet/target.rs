//! What a Gateway is to run among the others.

use std::collections::BTreeMap;

use stunner_api::NamespacedName;
use stunner_config::{Config, Listener};

use crate::local::localise::{Localised, short_name};
use crate::local::ports::{Socket, Trouble, socket};

/// A configuration without listeners whose ports are others'.
#[derive(Debug, PartialEq)]
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) troubles: BTreeMap<String, Trouble>,
}

/// `given` and `holders` say who gets a port and who has it; `before` is what the Gateway runs now.
pub(super) fn target(
    name: &NamespacedName,
    localised: &Localised,
    given: &BTreeMap<Socket, &NamespacedName>,
    holders: &BTreeMap<Socket, NamespacedName>,
    before: Option<&Config>,
) -> Target {
    let mut target = Target {
        config: Config {
            listeners: Vec::new(),
            ..localised.config.clone()
        },
        troubles: localised.troubles.clone(),
    };
    let mut losers = Vec::new();
    for listener in &localised.config.listeners {
        match given.get(&socket(listener)) {
            Some(winner) if *winner != name => losers.push((listener, *winner)),
            _ => target.config.listeners.push(listener.clone()),
        }
    }
    for (listener, winner) in losers {
        // What it has it keeps, also when another has been given it meanwhile: sessions come first.
        let stays = fallback(listener, &target.config, before)
            .filter(|stays| holders.get(&socket(stays)) == Some(name));
        let trouble = Trouble::TakenBy {
            gateway: winner.clone(),
            protocol: listener.protocol,
            port: listener.port,
            stays_at: stays.as_ref().map(|stays| stays.port),
        };
        let short = short_name(name, listener).to_owned();
        target.troubles.insert(short, trouble);
        target.config.listeners.extend(stays);
    }
    target
}

/// The listener as it was, with the routes it has now: where it cannot be as specified, its sessions are to go on.
/// `None` when it was not, or when what it had is another listener's in `config`.
pub(super) fn fallback(
    listener: &Listener,
    config: &Config,
    before: Option<&Config>,
) -> Option<Listener> {
    let was = before?.listener(&listener.name)?;
    let stays = Listener {
        routes: listener.routes.clone(),
        ..was.clone()
    };
    let is_free = (config.listeners.iter()).all(|other| socket(other) != socket(&stays));
    (is_free && stays != *listener).then_some(stays)
}
