//! Where and how to reach a server.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use stunner_turn::client::{AllocateOptions, Credentials, Family, RelayTransport};
use tokio::time::Instant;

use crate::{ClientError, ServerTransport, ServerUri};

/// How long a server may take to answer anything, unless told otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

/// For callers who do not want to stop waiting.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// One server and the way to it.
#[derive(Clone, Debug)]
pub struct Connect {
    /// The server's address.
    pub server: SocketAddr,
    /// UDP, TCP, TLS or DTLS.
    pub transport: ServerTransport,
    /// For TLS and DTLS.
    pub tls: Tls,
    /// What to answer a challenge with.
    pub credentials: Credentials,
    /// How long the first answer may take, with connection and handshake, and each one after it; RFC 8489 would wait
    /// 39.5 s. A server that answers nothing for a few times as long while we send counts as lost.
    pub timeout: Duration,
    /// The local address to use; the system chooses otherwise.
    pub bind: Option<IpAddr>,
}

/// Names and trust for TLS and DTLS.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// The server's name: sent as SNI (unless it is an IP address) and checked against the certificate. Without it the
    /// certificate is checked against the server's IP address.
    pub sni: Option<String>,
    /// Take any certificate.
    pub insecure: bool,
    /// Who is trusted.
    pub roots: Roots,
}

/// Certificates that a server's chain may end in.
#[derive(Clone, Debug, Default)]
pub enum Roots {
    /// Those of the system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR` where set.
    #[default]
    System,
    /// These, in PEM, and no others.
    Pem(String),
}

impl Connect {
    /// A server by its address, without credentials.
    pub fn new(server: SocketAddr, transport: ServerTransport) -> Self {
        Connect {
            server,
            transport,
            tls: Tls::default(),
            credentials: Credentials::None,
            timeout: TIMEOUT,
            bind: None,
        }
    }

    /// A server by its URI: resolves the name, checks certificates against it, and takes over the credentials. One for
    /// each address of the name, in the resolver's order; never none.
    pub async fn to_each(uri: &ServerUri) -> Result<Vec<Self>, ClientError> {
        let is_address = uri.host.contains(':') || uri.host.parse::<IpAddr>().is_ok();
        let to = |address| {
            let mut connect = Connect::new(address, uri.transport);
            if !is_address {
                connect.tls.sni = Some(uri.host.clone());
            }
            match &uri.credentials {
                Some((username, password)) => connect.with_password(username, password),
                None => connect,
            }
        };
        Ok(uri.resolve().await?.into_iter().map(to).collect())
    }

    /// With a user name and password.
    #[must_use]
    pub fn with_password(mut self, username: &str, password: &str) -> Self {
        self.credentials = Credentials::Static {
            username: username.to_owned(),
            password: password.to_owned(),
        };
        self
    }

    /// When patience ends that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.timeout).unwrap_or(now + FOREVER)
    }

    /// What to ask for to reach `peer`: a relay of its family.
    pub fn options_for(&self, peer: SocketAddr, transport: RelayTransport) -> AllocateOptions {
        // RFC 8656 §7.2: without the attribute a server gives IPv4, though some give the family of their own address.
        let family = match (peer.is_ipv4(), self.server.is_ipv4()) {
            (true, true) => None,
            (true, false) => Some(Family::V4),
            (false, _) => Some(Family::V6),
        };
        AllocateOptions {
            transport,
            family,
            ..AllocateOptions::default()
        }
    }
}

impl ServerUri {
    /// The addresses of the host, in the resolver's order; never none.
    pub async fn resolve(&self) -> Result<Vec<SocketAddr>, ClientError> {
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        let failed = |source| ClientError::Resolve {
            host: self.host.clone(),
            source,
        };
        let addresses: Vec<SocketAddr> = found.map_err(failed)?.collect();
        if addresses.is_empty() {
            return Err(failed(std::io::Error::other("it has no address")));
        }
        Ok(addresses)
    }
}
