//! Where a peer can be reached.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use stunner_client::{AllocateOptions, ClientError, Connect, Relay, ServerUri, UriError};
use stunner_net::host;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

use crate::candidate::{CandidateKind, LocalCandidate};
use crate::path::{Path, Way};
use crate::server::{IceServer, TransportPolicy};

/// More URLs than this say nothing new.
const MAX_SERVERS: usize = 16;
/// Addresses of a name that are tried.
const MAX_ADDRESSES: usize = 4;
/// More addresses than this no host needs for one connection.
const MAX_HOST: usize = 16;

/// What to gather.
#[derive(Debug, Clone)]
pub struct Gather {
    pub servers: Vec<IceServer>,
    pub policy: TransportPolicy,
    /// Whether loopback addresses count even where there are others.
    pub loopback: bool,
    /// Whether TURN servers may show any certificate.
    pub insecure: bool,
    /// How long a TURN server may take.
    pub timeout: Duration,
}

impl Default for Gather {
    fn default() -> Self {
        Gather {
            servers: Vec::new(),
            policy: TransportPolicy::All,
            loopback: false,
            insecure: false,
            timeout: Duration::from_secs(10),
        }
    }
}

/// The candidates of a peer, with the sockets and allocations behind them.
#[derive(Debug)]
pub struct Gathered {
    pub(crate) paths: Vec<Path>,
    /// Servers that gave nothing.
    pub failures: Vec<GatherFailure>,
}

/// A server that gave no candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatherFailure {
    /// The URL, without credentials.
    pub server: String,
    pub problem: String,
    pub hint: String,
}

/// Why there is no candidate at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatherError {
    #[error("the policy is `relay` and there is no TURN server")]
    NoServer,
    #[error("{}", first(.0))]
    NoRelay(Vec<GatherFailure>),
    #[error("this host has no address")]
    NoAddress,
}

fn first(failures: &[GatherFailure]) -> String {
    match failures.first() {
        Some(failure) => format!("no relay at `{}`: {}", failure.server, failure.problem),
        None => "no relay".to_owned(),
    }
}

impl GatherError {
    pub fn hint(&self) -> String {
        match self {
            GatherError::NoServer => "name a TURN server, or use the policy `all`".to_owned(),
            GatherError::NoRelay(failures) => failures
                .first()
                .map(|failure| failure.hint.clone())
                .unwrap_or_default(),
            GatherError::NoAddress => "bring a network interface up".to_owned(),
        }
    }
}

impl Gather {
    /// Opens sockets and allocates relays, all servers at the same time.
    pub async fn candidates(&self) -> Result<Gathered, GatherError> {
        let mut gathered = self.relays().await;
        if self.policy == TransportPolicy::All {
            gathered.paths.extend(self.hosts().await);
        }
        if !gathered.paths.is_empty() {
            return Ok(gathered);
        }
        Err(match self.policy {
            TransportPolicy::All => GatherError::NoAddress,
            TransportPolicy::Relay if gathered.failures.is_empty() => GatherError::NoServer,
            TransportPolicy::Relay => GatherError::NoRelay(gathered.failures),
        })
    }

    async fn relays(&self) -> Gathered {
        let mut tasks = JoinSet::new();
        let servers = self.servers.iter();
        let urls = servers.flat_map(|server| server.urls.iter().map(move |url| (server, url)));
        // A STUN server tells an address that relays and host candidates make up for.
        let urls = urls.filter(|(_, url)| !is_stun(url));
        for (place, (server, url)) in urls.take(MAX_SERVERS).enumerate() {
            let (server, url) = (server.clone(), url.clone());
            let (insecure, timeout) = (self.insecure, self.timeout);
            tasks.spawn(async move {
                let relay = allocate(&server, &url, insecure, timeout).await;
                (place, relay)
            });
        }
        let mut done = tasks.join_all().await;
        done.sort_by_key(|(place, _)| *place);
        let mut gathered = Gathered {
            paths: Vec::new(),
            failures: Vec::new(),
        };
        for (_, relay) in done {
            match relay {
                Ok(path) => gathered.paths.push(path),
                Err(failure) => gathered.failures.push(failure),
            }
        }
        gathered
    }

    async fn hosts(&self) -> Vec<Path> {
        let all = host::local_addresses().unwrap_or_default();
        let is_far = |ip: &&IpAddr| !ip.is_loopback() && !is_link_local(ip);
        let mut addresses: Vec<IpAddr> = all.iter().filter(is_far).copied().collect();
        if addresses.is_empty() || self.loopback {
            addresses.extend(all.iter().filter(|ip| ip.is_loopback()));
        }
        let mut paths = Vec::new();
        for address in addresses.into_iter().take(MAX_HOST) {
            let Ok(socket) = UdpSocket::bind(SocketAddr::new(address, 0)).await else {
                continue;
            };
            if let Ok(address) = socket.local_addr() {
                paths.push(Path {
                    candidate: LocalCandidate {
                        kind: CandidateKind::Host,
                        address,
                        server: None,
                    },
                    way: Way::Socket(Arc::new(socket)),
                });
            }
        }
        paths
    }
}

impl Gathered {
    pub fn candidates(&self) -> Vec<LocalCandidate> {
        self.paths
            .iter()
            .map(|path| path.candidate.clone())
            .collect()
    }
}

fn is_stun(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default();
    scheme.eq_ignore_ascii_case("stun") || scheme.eq_ignore_ascii_case("stuns")
}

/// Link-local addresses need a scope to be reached.
fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

async fn allocate(
    server: &IceServer,
    url: &str,
    insecure: bool,
    timeout: Duration,
) -> Result<Path, GatherFailure> {
    let uri: ServerUri = url.parse().map_err(|error: UriError| GatherFailure {
        // What cannot be read may hold a password.
        server: "a URL".to_owned(),
        problem: error.to_string(),
        hint: "write it as turn:HOST:PORT?transport=udp".to_owned(),
    })?;
    let name = uri.to_string();
    let failure = |error: ClientError| GatherFailure {
        server: name.clone(),
        problem: error.to_string(),
        hint: error.hint(),
    };
    let servers = Connect::to_each(&uri).await.map_err(failure)?;
    let mut last = None;
    for mut connect in servers.into_iter().take(MAX_ADDRESSES) {
        connect.timeout = timeout;
        connect.tls.insecure = insecure;
        if uri.credentials.is_none() {
            connect = connect.with_password(&server.username, &server.credential);
        }
        match Relay::allocate(connect, AllocateOptions::default()).await {
            Ok(relay) => {
                return Ok(Path {
                    candidate: LocalCandidate {
                        kind: CandidateKind::Relay,
                        address: relay.relayed(),
                        server: Some(name),
                    },
                    way: Way::Relay(relay),
                });
            }
            Err(error) => last = Some(failure(error)),
        }
    }
    Err(last.unwrap_or_else(|| GatherFailure {
        server: name.clone(),
        problem: "its name has no address".to_owned(),
        hint: "look at DNS".to_owned(),
    }))
}
