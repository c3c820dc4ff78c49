//! Dataplane configurations for tests, kept as JSON so that a test can bend any field, also wrongly.

use serde_json::{Value, json};

use crate::pki::Identity;
use crate::ports::free_port;

pub const REALM: &str = "stunner.test";
pub const USER: &str = "interop-user";
pub const PASSWORD: &str = "interop-pass";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    Udp,
    Tcp,
    Tls,
    Dtls,
}

impl Transport {
    pub const ALL: [Self; 4] = [Self::Udp, Self::Tcp, Self::Tls, Self::Dtls];

    pub fn protocol(self) -> &'static str {
        match self {
            Self::Udp => "TURN-UDP",
            Self::Tcp => "TURN-TCP",
            Self::Tls => "TURN-TLS",
            Self::Dtls => "TURN-DTLS",
        }
    }

    /// The listener's name in [`Config::standard`], and the word that most tools use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Dtls => "dtls",
        }
    }

    pub fn is_stream(self) -> bool {
        matches!(self, Self::Tcp | Self::Tls)
    }

    pub fn is_secure(self) -> bool {
        matches!(self, Self::Tls | Self::Dtls)
    }
}

/// A configuration in the `v1` schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Config(pub Value);

impl Config {
    /// Static auth, no listeners; clusters `udp` and `tcp` admit both loopback addresses by name. Health
    /// and metrics get ports of their own.
    pub fn empty() -> Self {
        Self(json!({
            "version": "v1",
            "admin": {
                "name": "interop/gateway",
                "loglevel": "all:INFO",
                "healthcheck_endpoint": format!("http://127.0.0.1:{}", free_port()),
                "metrics_endpoint": format!("http://127.0.0.1:{}/metrics", free_port()),
            },
            "auth": {
                "type": "static",
                "realm": REALM,
                "credentials": { "username": USER, "password": PASSWORD },
            },
            "listeners": [],
            "clusters": [
                { "name": "udp", "type": "STATIC", "protocol": "UDP", "endpoints": ["127.0.0.1", "127.0.0.2", "::1"] },
                { "name": "tcp", "type": "STATIC", "protocol": "TCP", "endpoints": ["127.0.0.1", "127.0.0.2", "::1"] },
            ],
        }))
    }

    /// One listener per transport, named after it, each on a free port, all routed to both clusters.
    pub fn standard(identity: &Identity) -> Self {
        let mut config = Self::empty();
        for transport in Transport::ALL {
            config.add_listener(transport.name(), transport, free_port(), Some(identity));
        }
        config
    }

    pub fn add_listener(
        &mut self,
        name: &str,
        transport: Transport,
        port: u16,
        identity: Option<&Identity>,
    ) -> &mut Value {
        let mut listener = json!({
            "name": name,
            "protocol": transport.protocol(),
            "address": if crate::skip::ipv6().is_ok() { "127.0.0.1,::1" } else { "127.0.0.1" },
            "port": port,
            "routes": ["udp", "tcp"],
        });
        if let (true, Some(identity)) = (transport.is_secure(), identity) {
            listener["cert"] = identity.cert_base64().into();
            listener["key"] = identity.key_base64().into();
        }
        let list = self.0["listeners"]
            .as_array_mut()
            .expect("listeners is a list");
        list.push(listener);
        list.last_mut().expect("just pushed")
    }

    /// Relays from `address`, which the clusters admit by name, instead of from loopback.
    pub fn move_to(&mut self, address: &str) {
        for listener in self.0["listeners"].as_array_mut().into_iter().flatten() {
            listener["address"] = address.into();
        }
        for cluster in self.0["clusters"].as_array_mut().into_iter().flatten() {
            cluster["endpoints"] = json!([address]);
        }
    }

    pub fn listener(&mut self, name: &str) -> &mut Value {
        self.0["listeners"]
            .as_array_mut()
            .expect("listeners is a list")
            .iter_mut()
            .find(|listener| listener["name"] == name)
            .unwrap_or_else(|| panic!("no listener {name}"))
    }

    pub fn remove_listener(&mut self, name: &str) {
        self.0["listeners"]
            .as_array_mut()
            .expect("listeners is a list")
            .retain(|listener| listener["name"] != name);
    }

    pub fn cluster(&mut self, name: &str) -> &mut Value {
        self.0["clusters"]
            .as_array_mut()
            .expect("clusters is a list")
            .iter_mut()
            .find(|cluster| cluster["name"] == name)
            .unwrap_or_else(|| panic!("no cluster {name}"))
    }

    pub fn port(&self, name: &str) -> u16 {
        let listeners = self.0["listeners"].as_array().expect("listeners is a list");
        let listener = listeners.iter().find(|listener| listener["name"] == name);
        let port = listener.and_then(|listener| listener["port"].as_u64());
        port.unwrap_or_else(|| panic!("no listener {name}")) as u16
    }

    /// `HOST:PORT` of an admin endpoint such as `healthcheck_endpoint`, and its path.
    pub fn endpoint(&self, key: &str) -> Option<(String, String)> {
        let url = self.0["admin"][key].as_str()?.strip_prefix("http://")?;
        let (host, path) = url.split_once('/').unwrap_or((url, ""));
        Some((host.to_owned(), format!("/{path}")))
    }

    pub fn text(&self) -> String {
        serde_json::to_string_pretty(&self.0).expect("JSON")
    }
}
