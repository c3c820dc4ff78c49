//! Reading `listeners`.

use std::collections::{HashMap, HashSet};

use crate::model::{Cluster, Listener, Protocol, RelayAddresses, defaults};

use super::admin::sorted;
use super::fields::{Fields, Refused, Text};
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

/// A listener that has yet to be compared with the others.
struct Candidate {
    listener: Listener,
    at: At,
    /// Protocol and port are what the text says, not stand-ins for refused ones.
    is_socket_known: bool,
}

impl Reader<'_> {
    pub(super) fn listeners(&mut self, root: &Fields<'_>) -> Vec<Listener> {
        let mut candidates = Vec::new();
        for (node, at) in root.list(self, "listeners") {
            if let Some(fields) = Fields::of(self, node, at, KEYS) {
                candidates.push(self.listener(&fields));
            }
        }
        self.listener_conflicts(&candidates);
        candidates
            .into_iter()
            .map(|candidate| candidate.listener)
            .collect()
    }

    fn listener(&mut self, fields: &Fields<'_>) -> Candidate {
        let (addresses, address_text) = self.relay_addresses(fields);
        let protocol = self.protocol(fields);
        let port = match fields.port(self, "port") {
            Ok(0) => Ok(defaults::TURN_PORT),
            port => port,
        };
        let is_socket_known = protocol.is_ok() && port.is_ok();
        let mut listener = Listener {
            name: self.required_name(fields, "a listener"),
            protocol: protocol.unwrap_or(Protocol::TurnUdp),
            addresses,
            address_text,
            port: port.unwrap_or(defaults::TURN_PORT),
            public_address: fields.text_or(self, "public_address", ""),
            public_port: fields.port(self, "public_port").unwrap_or(0),
            cert: None,
            key: None,
            routes: self.routes(fields),
        };
        self.identity(fields, &mut listener);
        Candidate {
            listener,
            at: fields.at().clone(),
            is_socket_known,
        }
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

    fn protocol(&mut self, fields: &Fields<'_>) -> Result<Protocol, Refused> {
        if fields.node("protocol").is_none() {
            return Ok(Protocol::TurnUdp);
        }
        let text = fields.text(self, "protocol").ok_or(Refused)?;
        match text.value.to_ascii_uppercase().as_str() {
            "" | "TURN-UDP" | "UDP" => Ok(Protocol::TurnUdp),
            "TURN-TCP" | "TCP" => Ok(Protocol::TurnTcp),
            "TURN-TLS" | "TLS" => Ok(Protocol::TurnTls),
            "TURN-DTLS" | "DTLS" => Ok(Protocol::TurnDtls),
            _ => {
                let hint = "write `TURN-UDP`, `TURN-TCP`, `TURN-TLS` or `TURN-DTLS`";
                self.error(
                    &text.at,
                    format!("unknown listener protocol {}", text.shown()),
                    hint,
                );
                Err(Refused)
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

    /// Names must differ, and so must the sockets of who serves them.
    fn listener_conflicts(&mut self, candidates: &[Candidate]) {
        let mut by_name: HashMap<&str, &At> = HashMap::new();
        let mut by_socket = HashMap::new();
        for Candidate {
            listener,
            at,
            is_socket_known,
        } in candidates
        {
            if !listener.name.is_empty() {
                if let Some(first) = by_name.get(listener.name.as_str()) {
                    let message =
                        format!("the name `{}` is taken by {}", listener.name, first.path);
                    self.error(at, message, "give each listener a name of its own");
                    continue;
                }
                by_name.insert(&listener.name, at);
            }
            if !is_socket_known || !self.options.judge_listeners {
                continue;
            }
            let (transport, port) = (listener.protocol.socket(), listener.port);
            if let Some(first) = by_socket.insert((transport, port), &listener.name) {
                let name = &listener.name;
                let message =
                    format!("listeners `{first}` and `{name}` both want {transport} port {port}");
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
