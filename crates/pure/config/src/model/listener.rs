//! `listeners[]`: where clients connect.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::PeerTransport;

/// The transport between client and gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    TurnUdp,
    TurnTcp,
    TurnTls,
    TurnDtls,
}

impl Protocol {
    /// The normal form in configurations.
    pub fn as_str(self) -> &'static str {
        match self {
            Protocol::TurnUdp => "TURN-UDP",
            Protocol::TurnTcp => "TURN-TCP",
            Protocol::TurnTls => "TURN-TLS",
            Protocol::TurnDtls => "TURN-DTLS",
        }
    }

    /// Whether a certificate is needed.
    pub fn is_secure(self) -> bool {
        matches!(self, Protocol::TurnTls | Protocol::TurnDtls)
    }

    /// The transport whose port numbers the listener uses: two listeners clash when this and the port agree.
    pub fn socket(self) -> PeerTransport {
        match self {
            Protocol::TurnUdp | Protocol::TurnDtls => PeerTransport::Udp,
            Protocol::TurnTcp | Protocol::TurnTls => PeerTransport::Tcp,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One TURN listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Unique in a configuration.
    pub name: String,
    pub protocol: Protocol,
    /// Relayed addresses that allocations of this listener advertise.
    pub addresses: RelayAddresses,
    /// `address` in its normal form, for status documents.
    pub address_text: String,
    pub port: u16,
    /// What clients outside are told; empty when unknown.
    pub public_address: String,
    /// 0 when unknown.
    pub public_port: u16,
    /// Certificate chain, decoded from base64.
    pub cert: Option<Pem>,
    /// Private key, decoded from base64.
    pub key: Option<SecretPem>,
    /// Names of clusters, sorted, without repetition. Names of clusters that do not exist are legal and admit nothing.
    pub routes: Vec<String>,
}

impl Listener {
    /// The host that clients are told: the public address where known, else the first relay address as it is written,
    /// which may be a wildcard or a placeholder.
    pub fn host(&self) -> &str {
        match self.public_address.as_str() {
            "" => self.address_text.split(',').next().unwrap_or_default(),
            public => public,
        }
    }

    /// The host that clients are told, unless it says nothing to a client: a wildcard, or what only the pod or its node
    /// can fill in.
    pub fn reachable_host(&self) -> Option<&str> {
        let host = self.host();
        match RelayAddresses::parse_one(host) {
            Some(address) => (!address.is_unspecified()).then_some(host),
            None => Some(host).filter(|_| !self.public_address.is_empty()),
        }
    }

    /// The URI that clients are told (RFC 7065): public address and port where known, else the relay address and the
    /// listening port.
    pub fn turn_uri(&self) -> String {
        self.turn_uri_at(self.host())
    }

    /// The URI for clients that reach the listener at another host.
    pub fn turn_uri_at(&self, host: &str) -> String {
        let (open, close) = if host.contains(':') && !host.starts_with('[') {
            ("[", "]")
        } else {
            ("", "")
        };
        let port = if self.public_port > 0 {
            self.public_port
        } else {
            self.port
        };
        let scheme = if self.protocol.is_secure() {
            "turns"
        } else {
            "turn"
        };
        let transport = match self.protocol.socket() {
            PeerTransport::Udp => "udp",
            PeerTransport::Tcp => "tcp",
        };
        format!("{scheme}:{open}{host}{close}:{port}?transport={transport}")
    }
}

/// The addresses that allocations of a listener advertise as relayed addresses.
///
/// Not bind addresses: sockets bind the wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RelayAddresses {
    pub v4: Option<Ipv4Addr>,
    pub v6: Option<Ipv6Addr>,
    /// A wildcard was given: a family without a fixed address takes the local address the client's packet came to.
    pub wildcard: bool,
}

impl RelayAddresses {
    /// Any local address, the default.
    pub const WILDCARD: RelayAddresses = RelayAddresses {
        v4: None,
        v6: None,
        wildcard: true,
    };

    /// Adds an address; `false` when its family is already taken.
    #[must_use]
    pub fn add(&mut self, address: IpAddr) -> bool {
        match address {
            _ if address.is_unspecified() => self.wildcard = true,
            IpAddr::V4(v4) if self.v4.is_none() => self.v4 = Some(v4),
            IpAddr::V6(v6) if self.v6.is_none() => self.v6 = Some(v6),
            _ => return false,
        }
        true
    }

    /// One item of `address`: an IP address, with or without brackets, or `localhost`. IPv4 inside IPv6 becomes IPv4.
    pub fn parse_one(text: &str) -> Option<IpAddr> {
        if text.eq_ignore_ascii_case("localhost") {
            return Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        let inner = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
            .unwrap_or(text);
        inner
            .parse::<IpAddr>()
            .ok()
            .map(|address| address.to_canonical())
    }

    /// The fixed addresses, IPv4 first.
    pub fn fixed(&self) -> impl Iterator<Item = IpAddr> + use<> {
        self.v4
            .map(IpAddr::V4)
            .into_iter()
            .chain(self.v6.map(IpAddr::V6))
    }
}

/// A certificate chain in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem(String);

/// A private key in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretPem(String);

macro_rules! pem_text {
    ($type:ident) => {
        impl $type {
            pub fn new(text: impl Into<String>) -> Self {
                $type(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub fn as_bytes(&self) -> &[u8] {
                self.0.as_bytes()
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($type), "(<SECRET>)"))
            }
        }
    };
}

pem_text!(Pem);
pem_text!(SecretPem);
