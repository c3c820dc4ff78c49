//! The rows of the live-reconcile table as changes of one running config.

use std::net::SocketAddr;
use std::time::Duration;

use interop_tests::client::Credentials;
use interop_tests::config::{Config, PASSWORD, REALM, Transport, USER};
use interop_tests::http;
use interop_tests::pki::{Identity, TestCa};
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use serde_json::json;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    Policy,
    Auth,
    Certificate,
    ListenerAdded,
    PortOrAddress,
    Protocol,
    ListenerRemoved,
    Endpoint,
}

impl Row {
    /// In the order they are made: a listener is added before it is removed.
    pub const ALL: [Self; 8] = [
        Self::Policy,
        Self::ListenerAdded,
        Self::Auth,
        Self::Certificate,
        Self::PortOrAddress,
        Self::Protocol,
        Self::Endpoint,
        Self::ListenerRemoved,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Policy => "clusters, endpoints, routes, public address, log level, quota",
            Self::Auth => "credentials, auth type, realm",
            Self::Certificate => "TLS/DTLS certificate and key",
            Self::ListenerAdded => "listener added",
            Self::PortOrAddress => "listener's port or address",
            Self::Protocol => "listener's protocol",
            Self::ListenerRemoved => "listener removed",
            Self::Endpoint => "health or metrics endpoint",
        }
    }
}

/// The listener that comes and goes.
pub const TEMPORARY: &str = "temporary";
/// The listener that moves from port to port.
pub const MOVER: &str = "mover";
/// The listeners that change between plain and encrypted.
pub const SHAPES: [(&str, Transport, Transport); 2] = [
    ("shape-datagram", Transport::Udp, Transport::Dtls),
    ("shape-stream", Transport::Tcp, Transport::Tls),
];

#[derive(Debug)]
pub struct Changes {
    config: Config,
    made: u64,
    by_row: [u64; 8],
    identities: Vec<Identity>,
    ports: Vec<u16>,
    credentials: Option<Credentials>,
}

impl Changes {
    pub fn new(ca: &TestCa) -> Self {
        let identities = vec![ca.ecdsa("storm 1"), ca.rsa("storm 2"), ca.ecdsa("storm 3")];
        let mut config = Config::standard(&identities[0]);
        config.add_listener(MOVER, Transport::Udp, free_port(), None);
        for (name, plain, _) in SHAPES {
            config.add_listener(name, plain, free_port(), None);
        }
        config.0["admin"]["name"] = "storm/0".into();
        // A pool for all that moves, taken before the storm so that nobody else gets them meanwhile.
        let ports = (0..12).map(|_| free_port()).collect();
        Self {
            config,
            made: 0,
            by_row: [0; 8],
            identities,
            ports,
            credentials: Some(Credentials::new(USER, PASSWORD)),
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn made(&self) -> u64 {
        self.made
    }

    /// How often `row` has been made.
    pub fn count(&self, row: Row) -> u64 {
        self.by_row[row as usize]
    }

    /// What opens new sessions now; `None` while authentication is off.
    pub fn credentials(&self) -> Option<Credentials> {
        self.credentials.clone()
    }

    pub fn address(&self, listener: &str) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.config.port(listener)))
    }

    /// What the changing listener speaks now.
    pub fn shape(&self, name: &str) -> Transport {
        let listeners = self.config.0["listeners"].as_array().expect("listeners");
        let protocol = listeners
            .iter()
            .find(|listener| listener["name"] == name)
            .map(|listener| &listener["protocol"]);
        let protocol = protocol.and_then(|text| text.as_str()).expect("a protocol");
        Transport::ALL
            .into_iter()
            .find(|transport| transport.protocol() == protocol)
            .expect("one of four")
    }

    /// Waits until the newest config runs.
    pub fn wait_applied(&self) {
        let (host, _) = self
            .config
            .endpoint("healthcheck_endpoint")
            .expect("health");
        let name = self.config.0["admin"]["name"].clone();
        let applied = wait_until(Duration::from_secs(30), || {
            let answer = http::get(&host, "/status").ok();
            let document = answer
                .and_then(|answer| serde_json::from_str::<serde_json::Value>(&answer.body).ok());
            document.is_some_and(|document| document["admin"]["name"] == name)
        });
        assert!(applied, "the config {name} was not applied");
    }

    /// Makes one change of the kind.
    pub fn make(&mut self, row: Row) {
        let turn = self.by_row[row as usize];
        self.by_row[row as usize] += 1;
        self.made += 1;
        self.config.0["admin"]["name"] = format!("storm/{}", self.made).into();
        match row {
            Row::Policy => self.policy(turn),
            Row::Auth => self.auth(turn),
            Row::Certificate => self.certificate(turn),
            Row::ListenerAdded => {
                let transport = Transport::ALL[(turn % 4) as usize];
                let (port, identity) = (self.next_port(), self.identities[0].clone());
                self.config
                    .add_listener(TEMPORARY, transport, port, Some(&identity));
            }
            Row::ListenerRemoved => self.config.remove_listener(TEMPORARY),
            Row::PortOrAddress => {
                let port = self.next_port();
                let mover = self.config.listener(MOVER);
                // Every third time the relayed address changes instead of the port.
                if turn % 3 == 2 {
                    let there = mover["address"] == "127.0.0.2";
                    mover["address"] = if there { "127.0.0.1" } else { "127.0.0.2" }.into();
                } else {
                    mover["port"] = port.into();
                }
            }
            Row::Protocol => {
                let (name, plain, encrypted) = SHAPES[(turn % 2) as usize];
                let next = if self.shape(name) == plain {
                    encrypted
                } else {
                    plain
                };
                let listener = self.config.listener(name);
                listener["protocol"] = next.protocol().into();
                if next.is_secure() {
                    listener["cert"] = self.identities[0].cert_base64().into();
                    listener["key"] = self.identities[0].key_base64().into();
                } else if let Some(fields) = listener.as_object_mut() {
                    fields.remove("cert");
                    fields.remove("key");
                }
            }
            Row::Endpoint => {
                let port = self.next_port();
                let (key, path) = if turn.is_multiple_of(2) {
                    ("metrics_endpoint", "/metrics")
                } else {
                    ("healthcheck_endpoint", "")
                };
                self.config.0["admin"][key] = format!("http://127.0.0.1:{port}{path}").into();
            }
        }
    }

    /// The ports in use by others rotate too, so a port is free again long before its next turn.
    fn next_port(&mut self) -> u16 {
        let used: Vec<u64> = self.used_ports();
        let free = self
            .ports
            .iter()
            .position(|port| !used.contains(&u64::from(*port)))
            .expect("a free port in the pool");
        let port = self.ports.remove(free);
        self.ports.push(port);
        port
    }

    fn used_ports(&self) -> Vec<u64> {
        let listeners = self.config.0["listeners"].as_array().expect("listeners");
        let endpoints = ["metrics_endpoint", "healthcheck_endpoint"].map(|key| {
            let (host, _) = self.config.endpoint(key).expect("an endpoint");
            host.rsplit(':')
                .next()
                .and_then(|port| port.parse().ok())
                .unwrap_or(0)
        });
        listeners
            .iter()
            .filter_map(|listener| listener["port"].as_u64())
            .chain(endpoints)
            .collect()
    }

    fn policy(&mut self, turn: u64) {
        let config = &mut self.config;
        match turn % 6 {
            0 => {
                config.cluster("udp")["endpoints"] = json!([
                    "127.0.0.1",
                    "127.0.0.2",
                    "::1",
                    format!("198.51.100.{}", turn % 200)
                ])
            }
            1 => {
                let clusters = config.0["clusters"].as_array_mut().expect("clusters");
                clusters.retain(|cluster| cluster["name"] != "extra");
                clusters.push(json!({ "name": "extra", "endpoints": [format!("203.0.113.0/24:<{}-{}>", 1000 + turn, 2000 + turn)] }));
            }
            2 => {
                for transport in Transport::ALL {
                    let with = json!(["extra", "tcp", "udp"]);
                    let routes = &mut config.listener(transport.name())["routes"];
                    *routes = if *routes == with {
                        json!(["udp", "tcp"])
                    } else {
                        with
                    };
                }
            }
            3 => {
                config.listener("tls")["public_address"] = format!("192.0.2.{}", turn % 200).into()
            }
            4 => {
                config.0["admin"]["loglevel"] = if turn.is_multiple_of(4) {
                    "all:WARN"
                } else {
                    "all:ERROR"
                }
                .into()
            }
            _ => config.0["admin"]["user_quota"] = (10_000 + turn).into(),
        }
    }

    fn auth(&mut self, turn: u64) {
        let realm = if turn % 6 == 5 { "other.test" } else { REALM };
        let (auth, credentials) = match turn % 4 {
            0 => {
                let credentials = Credentials::new("rotated", &format!("pass-{turn}"));
                let map = json!({ "username": credentials.user, "password": credentials.password });
                (
                    json!({ "type": "static", "realm": realm, "credentials": map }),
                    Some(credentials),
                )
            }
            1 => {
                let secret = format!("secret-{turn}");
                let expiry = std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .expect("now")
                    .as_secs()
                    + 3600;
                let credentials = Credentials::ephemeral(&format!("{expiry}:storm"), &secret);
                (
                    json!({ "type": "ephemeral", "realm": realm, "credentials": { "secret": secret } }),
                    Some(credentials),
                )
            }
            2 => (json!({ "type": "none", "realm": realm }), None),
            _ => {
                let map = json!({ "username": USER, "password": PASSWORD });
                (
                    json!({ "type": "static", "realm": realm, "credentials": map }),
                    Some(Credentials::new(USER, PASSWORD)),
                )
            }
        };
        self.config.0["auth"] = auth;
        self.credentials = credentials;
    }

    fn certificate(&mut self, turn: u64) {
        let identity = &self.identities[((turn + 1) % self.identities.len() as u64) as usize];
        for name in ["tls", "dtls"] {
            let listener = self.config.listener(name);
            listener["cert"] = identity.cert_base64().into();
            listener["key"] = identity.key_base64().into();
        }
    }
}
