//! What callers are told: known gateways, a query and the time in, credentials and URIs out.
//!
//! Nothing here waits, reads a clock or knows HTTP beyond the status of a [`Refusal`].

mod gateways;
mod query;
mod refusal;

use std::fmt;

use serde::Serialize;
use stunner_config::{Config, Listener};
use stunner_credentials::Credential;

pub use gateways::Gateways;
pub use query::{Endpoint, Host, IceTransportPolicy, Query};
pub use refusal::Refusal;

/// Seconds that a credential is good for where neither the caller nor the gateway says otherwise.
pub const DEFAULT_TTL: u64 = 24 * 3600;

/// What the operator of the service decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// No credential lives longer, in seconds.
    pub max_ttl: u64,
    /// Told instead of the addresses in configurations.
    pub public_address: Option<Host>,
}

/// The body of `GET /`, its keys in the order in which the original writes them.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct TurnAuth {
    pub password: String,
    pub ttl: u64,
    pub uris: Vec<String>,
    pub username: String,
}

/// The body of `GET /ice`: what a page hands to `RTCPeerConnection`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IceConfig {
    pub ice_servers: Vec<IceServer>,
    pub ice_transport_policy: IceTransportPolicy,
}

/// An `RTCIceServer` of the WebRTC specification.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct IceServer {
    pub credential: String,
    pub urls: Vec<String>,
    pub username: String,
}

impl fmt::Debug for TurnAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TurnAuth({:?})", self.uris)
    }
}

impl fmt::Debug for IceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IceServer({:?})", self.urls)
    }
}

/// Answers `GET /`: the credential of the first matching gateway, and the URIs of all that accept it.
pub fn turn_auth(
    gateways: &Gateways,
    query: &Query,
    settings: &Settings,
    now_unix: u64,
) -> Result<TurnAuth, Refusal> {
    let matches = matches(gateways, query, settings)?;
    let (first, _) = matches.first().ok_or(Refusal::NoListener)?;
    let method = &first.auth.method;
    let ttl = ttl(first, query, settings);
    let credential = credential(first, query, settings, now_unix).ok_or(Refusal::NoListener)?;
    let sharing = matches
        .iter()
        .filter(|(config, _)| config.auth.method == *method);
    Ok(TurnAuth {
        password: credential.password,
        ttl,
        uris: sharing.flat_map(|(_, uris)| uris.clone()).collect(),
        username: credential.username,
    })
}

/// Answers `GET /ice`: one entry for each matching gateway.
pub fn ice_config(
    gateways: &Gateways,
    query: &Query,
    settings: &Settings,
    now_unix: u64,
) -> Result<IceConfig, Refusal> {
    let matches = matches(gateways, query, settings)?;
    let servers = matches.into_iter().filter_map(|(config, urls)| {
        let credential = credential(config, query, settings, now_unix)?;
        Some(IceServer {
            credential: credential.password,
            urls,
            username: credential.username,
        })
    });
    Ok(IceConfig {
        ice_servers: servers.collect(),
        ice_transport_policy: query.policy,
    })
}

/// The gateways that the query asks for, in order, each with the URIs of its listeners; never an empty list.
fn matches<'g>(
    gateways: &'g Gateways,
    query: &Query,
    settings: &Settings,
) -> Result<Vec<(&'g Config, Vec<String>)>, Refusal> {
    if gateways.is_empty() {
        return Err(Refusal::NoConfig);
    }
    query.check_service()?;
    let mut matches = Vec::new();
    for config in gateways.iter() {
        // `service=turn` asks for relays: a gateway without authentication serves STUN only.
        if matches!(config.auth.method, stunner_config::AuthMethod::None) {
            continue;
        }
        let asked_for = config
            .listeners
            .iter()
            .filter(|listener| query.asks_for(&listener.name));
        let uris: Vec<String> = asked_for
            .filter_map(|listener| uri(listener, query, settings))
            .collect();
        if !uris.is_empty() {
            matches.push((config, uris));
        }
    }
    match matches.is_empty() {
        true => Err(Refusal::NoListener),
        false => Ok(matches),
    }
}

/// Where clients reach a listener: at the host that the caller says, else the one that this service was told, else the
/// one in the configuration. A listener that nobody knows a host of is left out.
fn uri(listener: &Listener, query: &Query, settings: &Settings) -> Option<String> {
    let said = query.public_address.as_ref();
    let host = match said.or(settings.public_address.as_ref()) {
        Some(host) => host.as_str(),
        None => listener.reachable_host()?,
    };
    Some(listener.turn_uri_at(host))
}

fn ttl(config: &Config, query: &Query, settings: &Settings) -> u64 {
    let wanted = query.ttl.or(config.auth.lifetime).unwrap_or(DEFAULT_TTL);
    wanted.min(settings.max_ttl)
}

fn credential(
    config: &Config,
    query: &Query,
    settings: &Settings,
    now_unix: u64,
) -> Option<Credential> {
    let ttl = ttl(config, query, settings);
    Credential::of(&config.auth.method, now_unix, ttl, &query.username)
}
