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

#[cfg(test)]
mod tests {
    use stunner_config::{PeerTransport, parse};

    use super::*;

    fn config(listeners: &[(&str, u16)]) -> Config {
        let listeners: Vec<String> = listeners
            .iter()
            .map(|(name, port)| {
                format!(
                    r#"{{"name":"ns/gw/{name}","protocol":"turn-udp","address":"127.0.0.1","port":{port},"routes":[]}}"#
                )
            })
            .collect();
        let text = format!(
            r#"{{"version":"v1","admin":{{"name":"ns/gw"}},"auth":{{"type":"static","credentials":{{"username":"u","password":"p"}}}},"listeners":[{}],"clusters":[]}}"#,
            listeners.join(",")
        );
        parse(&text, &|_| None).expect("a config").config
    }

    fn ports(target: &Target) -> Vec<u16> {
        let listeners = target.config.listeners.iter();
        listeners.map(|listener| listener.port).collect()
    }

    fn udp(port: u16) -> Socket {
        (PeerTransport::Udp, port)
    }

    /// The target of `ns/gw`, which wants and has these, while `ns/a` is given a port.
    fn of(wanted: &[(&str, u16)], had: &[(&str, u16)], others: u16) -> Target {
        let (name, other) = (
            NamespacedName::new("ns", "gw"),
            NamespacedName::new("ns", "a"),
        );
        let localised = Localised {
            config: config(wanted),
            troubles: BTreeMap::new(),
        };
        let mut given: BTreeMap<Socket, &NamespacedName> = BTreeMap::new();
        for (_, port) in wanted {
            given.insert(udp(*port), &name);
        }
        given.insert(udp(others), &other);
        let holders = had.iter().map(|(_, port)| (udp(*port), name.clone()));
        let before = config(had);
        target(&name, &localised, &given, &holders.collect(), Some(&before))
    }

    #[test]
    fn a_listener_whose_port_is_another_s_is_left_out() {
        let target = of(&[("one", 1), ("two", 2)], &[], 2);
        assert_eq!(ports(&target), [1]);
        assert!(matches!(
            &target.troubles["two"],
            Trouble::TakenBy {
                port: 2,
                stays_at: None,
                ..
            }
        ));
    }

    #[test]
    fn a_listener_that_wants_to_move_there_stays_where_it_was() {
        let target = of(&[("one", 2)], &[("one", 1)], 2);
        assert_eq!(ports(&target), [1]);
        assert!(matches!(
            &target.troubles["one"],
            Trouble::TakenBy {
                port: 2,
                stays_at: Some(1),
                ..
            }
        ));
    }

    #[test]
    fn but_not_in_the_place_of_another_listener() {
        let target = of(&[("one", 2), ("two", 1)], &[("one", 1)], 2);
        assert_eq!(ports(&target), [1], "the second has the port now");
        assert_eq!(target.config.listeners[0].name, "ns/gw/two");
    }
}
