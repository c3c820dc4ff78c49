//! A Gateway's configuration on this host.

use std::collections::BTreeMap;

use stunner_api::NamespacedName;
use stunner_api::gateway::Gateway;
use stunner_config::{Config, Listener};

use super::{HostAddresses, Trouble};

/// A configuration that can run here, and the listeners that cannot, by their names in the Gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Localised {
    pub config: Config,
    pub troubles: BTreeMap<String, Trouble>,
}

/// Moves the listeners of a configuration to the host's addresses, and to the ports of the Gateway: in a cluster pods
/// may listen elsewhere, behind a Service, here clients come directly.
pub fn localise(
    gateway: &Gateway,
    config: &Config,
    host: &HostAddresses,
    port_offset: i32,
) -> Localised {
    let name = NamespacedName::of(&gateway.metadata);
    let mut troubles = BTreeMap::new();
    let mut listeners = Vec::with_capacity(config.listeners.len());
    for listener in &config.listeners {
        let short = short_name(&name, listener);
        let specified = gateway
            .spec
            .listeners
            .iter()
            .find(|specified| specified.name == short)
            .map_or(i32::from(listener.port), |specified| specified.port);
        let moved = specified.saturating_add(port_offset);
        match u16::try_from(moved).ok().filter(|&port| port > 0) {
            Some(port) => listeners.push(Listener {
                addresses: host.relay_addresses(),
                address_text: host.text(),
                port,
                public_address: match listener.public_address.as_str() {
                    // Here it is reached though a load balancer would not carry it.
                    "" => host.first.to_string(),
                    public => public.to_owned(),
                },
                public_port: port,
                ..listener.clone()
            }),
            None => {
                let trouble = Trouble::OutOfRange {
                    port: specified,
                    offset: port_offset,
                };
                troubles.insert(short.to_owned(), trouble);
            }
        }
    }
    Localised {
        config: Config {
            listeners,
            ..config.clone()
        },
        troubles,
    }
}

/// The name of a listener in its Gateway. In configurations it begins with the Gateway's.
pub(super) fn short_name<'a>(gateway: &NamespacedName, listener: &'a Listener) -> &'a str {
    listener
        .name
        .strip_prefix(&gateway.to_string())
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(&listener.name)
}
