//! What is served, as it is told: Gateways, where clients reach them, and with which credentials.

mod certificate;

use std::net::IpAddr;

use serde::Serialize;
use stunner_api::gateway::{GatewayStatus, ListenerStatus};
use stunner_api::names::condition as kind;
use stunner_config::{Auth, AuthMethod, ClusterKind, Config, Listener};
use stunner_credentials::{Credential, mint_bare};

use super::engine::{Engine, Flip};
use super::servers::Urls;

/// How long a minted credential is good for where nothing is said, as `authd` has it.
const LIFETIME: u64 = 24 * 3600;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub gateways: Vec<GatewaySummary>,
    /// Conditions of classes, routes and unattended Gateways that are not as they should be.
    pub unmet: Vec<Flip>,
    pub ice_servers: Vec<IceServer>,
    #[serde(flatten)]
    pub urls: Urls,
    #[serde(skip)]
    pub trial: Option<Trial>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySummary {
    pub namespace: String,
    pub name: String,
    pub class: String,
    pub addresses: Vec<String>,
    pub conditions: Vec<Condition>,
    pub listeners: Vec<ListenerSummary>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListenerSummary {
    pub name: String,
    pub protocol: String,
    /// `None` while it does not listen.
    pub uri: Option<String>,
    pub attached_routes: i32,
    pub conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub reason: String,
    pub message: String,
}

/// An `RTCIceServer` of the WebRTC specification, to be pasted into a page.
#[derive(Clone, Serialize)]
pub struct IceServer {
    pub urls: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
}

impl std::fmt::Debug for IceServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IceServer({:?})", self.urls)
    }
}

/// A command line that tries the first listener.
#[derive(Clone)]
pub struct Trial {
    /// For `turncat`, with credentials.
    pub server: String,
    /// A peer that a route admits.
    pub peer: Option<String>,
    /// A client that checks the certificate would not connect.
    pub insecure: bool,
}

/// Without the credentials.
impl std::fmt::Debug for Trial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trial({:?})", self.peer)
    }
}

impl Summary {
    pub fn of(engine: &Engine, urls: &Urls, unix_seconds: u64) -> Summary {
        let mut gateways = Vec::new();
        for (name, plan) in &engine.plan().gateways {
            let unsaid = GatewayStatus::default();
            let status = plan.status.as_ref().unwrap_or(&unsaid);
            let spec = engine.gateway(name).map(|gateway| &gateway.spec);
            let protocol = |listener: &str| {
                let mut listeners = spec.into_iter().flat_map(|spec| &spec.listeners);
                let found = listeners.find(|found| found.name == listener);
                found.map_or_else(String::new, |found| found.protocol.clone())
            };
            let listener = |listener: &ListenerStatus| {
                let id = format!("{name}/{}", listener.name);
                let open = plan.config.as_ref().and_then(|config| config.listener(&id));
                ListenerSummary {
                    name: listener.name.clone(),
                    protocol: protocol(&listener.name),
                    uri: open.map(Listener::turn_uri),
                    attached_routes: listener.attached_routes,
                    conditions: listener.conditions.iter().map(condition).collect(),
                }
            };
            let addresses = status.addresses.iter();
            gateways.push(GatewaySummary {
                namespace: name.namespace.clone(),
                name: name.name.clone(),
                class: spec.map_or_else(String::new, |spec| spec.gateway_class_name.clone()),
                addresses: addresses.map(|address| address.value.clone()).collect(),
                conditions: status.conditions.iter().map(condition).collect(),
                listeners: status.listeners.iter().map(listener).collect(),
            });
        }
        let configs = || engine.plan().configs().map(|(_, config)| config);
        let mint = Mint {
            now: unix_seconds,
            max_lifetime: engine.max_ephemeral_lifetime(),
        };
        Summary {
            gateways,
            unmet: engine.unmet(),
            ice_servers: configs()
                .filter(|config| !config.listeners.is_empty())
                .map(|config| ice_server(config, mint))
                .collect(),
            urls: urls.clone(),
            trial: configs().find_map(|config| trial(config, mint)),
        }
    }
}

fn condition(said: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition) -> Condition {
    Condition {
        kind: said.type_.clone(),
        status: said.status.clone(),
        reason: said.reason.clone(),
        message: said.message.clone(),
    }
}

impl Condition {
    /// The status of a condition of a kind, `Unknown` where nothing is said.
    pub fn status<'a>(conditions: &'a [Condition], wanted: &str) -> &'a str {
        let mut conditions = conditions.iter();
        let found = conditions.find(|condition| condition.kind == wanted);
        found.map_or(kind::UNKNOWN, |condition| condition.status.as_str())
    }
}

/// How credentials are made.
#[derive(Debug, Clone, Copy)]
struct Mint {
    /// In UNIX seconds.
    now: u64,
    /// Those that live longer are refused.
    max_lifetime: Option<u64>,
}

impl Mint {
    /// User name and password for a client, unless there are none. Nobody in particular pastes them, so a minted name
    /// has no user in it.
    fn credential(self, auth: &Auth) -> Option<Credential> {
        let lifetime = auth.lifetime.unwrap_or(LIFETIME);
        let lifetime = lifetime.min(self.max_lifetime.unwrap_or(u64::MAX));
        match &auth.method {
            AuthMethod::Ephemeral { secret } => Some(mint_bare(secret, self.now, lifetime)),
            fixed => Credential::of(fixed, self.now, lifetime, ""),
        }
    }
}

fn ice_server(config: &Config, mint: Mint) -> IceServer {
    let credential = mint.credential(&config.auth);
    let (username, credential) = credential.map(|one| (one.username, one.password)).unzip();
    let url = |uri: String| {
        match (&username, uri.split_once('?')) {
            (Some(_), _) => uri,
            // Without credentials there is only STUN, whose URIs have no transport (RFC 7064).
            (None, Some((uri, _))) => uri.replacen("turn", "stun", 1),
            (None, None) => uri.replacen("turn", "stun", 1),
        }
    };
    IceServer {
        urls: config.listeners.iter().flat_map(uris).map(url).collect(),
        username,
        credential,
    }
}

/// The URI of a listener; where clients are told an address of this host, that of the other family too.
fn uris(listener: &Listener) -> Vec<String> {
    let told = listener.public_address.parse::<IpAddr>().ok();
    let mut others: Vec<IpAddr> = listener.addresses.fixed().collect();
    match told {
        Some(told) if others.contains(&told) => others.retain(|address| *address != told),
        _ => others.clear(),
    }
    let of_other = others
        .into_iter()
        .map(|address| listener.turn_uri_at(&address.to_string()));
    std::iter::once(listener.turn_uri())
        .chain(of_other)
        .collect()
}

fn trial(config: &Config, mint: Mint) -> Option<Trial> {
    let listener = config.listeners.first()?;
    let credential = mint.credential(&config.auth)?;
    let uri = listener.turn_uri();
    let (_, place) = uri.split_once(':')?;
    let (place, _) = place.split_once('?')?;
    let transport = match listener.protocol {
        stunner_config::Protocol::TurnUdp => "udp",
        stunner_config::Protocol::TurnTcp => "tcp",
        stunner_config::Protocol::TurnTls => "tls",
        stunner_config::Protocol::TurnDtls => "dtls",
    };
    let routes = &listener.routes;
    let mut clusters = config
        .clusters
        .iter()
        .filter(|one| routes.contains(&one.name));
    Some(Trial {
        server: format!(
            "turn://{}:{}@{place}?transport={transport}",
            percent(&credential.username),
            percent(&credential.password)
        ),
        peer: clusters.find_map(|cluster| peer(&cluster.kind)),
        insecure: listener.cert.as_ref().is_some_and(|chain| {
            certificate::is_for_trials_only(chain.as_bytes(), listener.host())
        }),
    })
}

/// An address that clients may reach, as far as one can be named; the port is the user's to know.
fn peer(cluster: &ClusterKind) -> Option<String> {
    match cluster {
        ClusterKind::Static(endpoints) => endpoints.iter().find_map(|endpoint| {
            let prefix = endpoint.net;
            let host = prefix.addr();
            let host = match host {
                std::net::IpAddr::V4(host) => host.to_string(),
                std::net::IpAddr::V6(host) => format!("[{host}]"),
            };
            (prefix.prefix_len() == prefix.max_prefix_len()).then_some(host)
        }),
        ClusterKind::StrictDns(endpoints) => {
            endpoints.first().map(|endpoint| endpoint.name.clone())
        }
    }
}

/// For the user part of a URI (RFC 3986 §3.2.1).
fn percent(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
