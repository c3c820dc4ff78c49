//! Reading `listeners`.

use std::collections::{HashMap, HashSet};

use crate::model::{Cluster, Listener, Protocol, RelayAddresses, defaults};

use super::admin::sorted;
use super::fields::{Fields, Text};
use super::{At, Reader};

const KEYS: &[&str] = &[
    "name",
    "protocol",
    "public_address",
    "public_port",
    "address",
    "port",
    "cert",
    "key",
    "routes",
];

impl Reader<'_> {
    pub(super) fn listeners(&mut self, root: &Fields<'_>) -> Vec<Listener> {
        let mut listeners: Vec<(Listener, At)> = Vec::new();
        for (node, at) in root.list(self, "listeners") {
            let Some(fields) = Fields::of(self, node, at, KEYS) else {
                continue;
            };
            let listener = self.listener(&fields);
            listeners.push((listener, fields.at().clone()));
        }
        self.listener_conflicts(&listeners);
        listeners
            .into_iter()
            .map(|(listener, _)| listener)
            .collect()
    }

    fn listener(&mut self, fields: &Fields<'_>) -> Listener {
        let (addresses, address_text) = self.relay_addresses(fields);
        let mut listener = Listener {
            name: self.required_name(fields, "a listener"),
            protocol: self.protocol(fields),
            addresses,
            address_text,
            port: match fields.port(self, "port") {
                0 => defaults::TURN_PORT,
                port => port,
            },
            public_address: fields.text_or(self, "public_address", ""),
            public_port: fields.port(self, "public_port"),
            cert: None,
            key: None,
            routes: self.routes(fields),
        };
        self.identity(fields, &mut listener);
        listener
    }

    pub(super) fn required_name(&mut self, fields: &Fields<'_>, what: &str) -> String {
        let name = fields.text_or(self, "name", "");
        if name.is_empty() && !matches!(fields.node("name"), Some((node, _)) if !node.is_scalar()) {
            self.error(
                &fields.place_of("name"),
                format!("{what} needs a name"),
                "add `name`",
            );
        }
        name
    }

    fn protocol(&mut self, fields: &Fields<'_>) -> Protocol {
        let Some(text) = fields.text(self, "protocol") else {
            return Protocol::TurnUdp;
        };
        match text.value.to_ascii_uppercase().as_str() {
            "" | "TURN-UDP" | "UDP" => Protocol::TurnUdp,
            "TURN-TCP" | "TCP" => Protocol::TurnTcp,
            "TURN-TLS" | "TLS" => Protocol::TurnTls,
            "TURN-DTLS" | "DTLS" => Protocol::TurnDtls,
            _ => {
                let hint = "write `TURN-UDP`, `TURN-TCP`, `TURN-TLS` or `TURN-DTLS`";
                self.error(
                    &text.at,
                    format!("unknown listener protocol {}", text.shown()),
                    hint,
                );
                Protocol::TurnUdp
            }
        }
    }

    /// `address`: one address, or a comma list with at most one of each family.
    fn relay_addresses(&mut self, fields: &Fields<'_>) -> (RelayAddresses, String) {
        let wildcard = (
            RelayAddresses::WILDCARD,
            defaults::LISTENER_ADDRESS.to_owned(),
        );
        let Some(text) = fields.text(self, "address") else {
            return wildcard;
        };
        let items: Vec<&str> = text
            .value
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .collect();
        if items.is_empty() {
            return wildcard;
        }
        let mut addresses = RelayAddresses::default();
        let mut texts = Vec::new();
        for item in items {
            let Some(address) = RelayAddresses::parse_one(item) else {
                if self.options.judge_listeners {
                    let hint = "write an IP address, `localhost`, or an IPv4 and an IPv6 address separated by a comma";
                    self.error(
                        &text.at,
                        format!("{} is no relay address", text.shown()),
                        hint,
                    );
                }
                return (RelayAddresses::WILDCARD, text.value.clone());
            };
            if !addresses.add(address) {
                let message = format!("{} has two addresses of one family", text.shown());
                self.error(
                    &text.at,
                    message,
                    "give at most one IPv4 and one IPv6 address",
                );
                return wildcard;
            }
            texts.push(address.to_string());
        }
        self.add_other_family(&text, &mut addresses, &mut texts);
        (addresses, texts.join(","))
    }

    /// `$STUNNER_ADDR` is one address; `STUNNER_ADDRS` tells the pod's addresses of both families.
    fn add_other_family(
        &mut self,
        text: &Text,
        addresses: &mut RelayAddresses,
        texts: &mut Vec<String>,
    ) {
        if addresses.wildcard || !text.variables.iter().any(|name| name == "STUNNER_ADDR") {
            return;
        }
        let Some(all) = (self.env)("STUNNER_ADDRS") else {
            return;
        };
        for item in all
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            match RelayAddresses::parse_one(item) {
                Some(address) if !address.is_unspecified() => {
                    if addresses.add(address) {
                        texts.push(address.to_string());
                    }
                }
                _ => {
                    let message =
                        "environment variable `STUNNER_ADDRS` holds something that is no address";
                    self.warn(&text.at, message, "set it to a comma list of IP addresses");
                }
            }
        }
    }

    /// Names must differ, and so must the sockets.
    fn listener_conflicts(&mut self, listeners: &[(Listener, At)]) {
        let mut by_name: HashMap<&str, &At> = HashMap::new();
        let mut by_socket = HashMap::new();
        for (listener, at) in listeners {
            if !listener.name.is_empty() {
                if let Some(first) = by_name.get(listener.name.as_str()) {
                    let message =
                        format!("the name `{}` is taken by {}", listener.name, first.path);
                    self.error(at, message, "give each listener a name of its own");
                    continue;
                }
                by_name.insert(&listener.name, at);
            }
            let socket = (listener.protocol.socket(), listener.port);
            if let Some(first) = by_socket.insert(socket, &listener.name) {
                let message = format!(
                    "listeners `{first}` and `{}` both want {} port {}",
                    listener.name, socket.0, listener.port
                );
                let hint = "change one `port`; TURN-UDP and TURN-DTLS share UDP ports, TURN-TCP and TURN-TLS share TCP ports";
                self.error(at, message, hint);
            }
        }
    }

    fn routes(&mut self, fields: &Fields<'_>) -> Vec<String> {
        let texts = fields.texts(self, "routes");
        let routes = sorted(&texts);
        self.routes.extend(texts);
        routes
    }

    /// A route to a cluster that does not exist is legal and admits nothing.
    pub(super) fn dangling_routes(&mut self, clusters: &[Cluster]) {
        let names: HashSet<&str> = clusters
            .iter()
            .map(|cluster| cluster.name.as_str())
            .collect();
        for route in std::mem::take(&mut self.routes) {
            if !route.value.is_empty() && !names.contains(route.value.as_str()) {
                let message = format!(
                    "there is no cluster {}, so this route admits nothing",
                    route.shown()
                );
                self.warn(&route.at, message, "add the cluster, or remove the route");
            }
        }
    }
}
