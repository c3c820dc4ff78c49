//! Where a server listens.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindAddress {
    /// Every local address of both families, where the host has both.
    Any {
        port: u16,
    },
    Socket(SocketAddr),
    /// The first address of a name that can be bound.
    Name {
        host: String,
        port: u16,
    },
}

/// A text that names no place to listen at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address to listen at; it takes `:PORT`, `ADDRESS:PORT` or `HOST:PORT`")]
pub struct AddressError(String);

impl From<SocketAddr> for BindAddress {
    fn from(address: SocketAddr) -> Self {
        BindAddress::Socket(address)
    }
}

/// Reads `:PORT`, `ADDRESS:PORT` (IPv6 in brackets) or `HOST:PORT`, as Go's listeners take them.
impl FromStr for BindAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || AddressError(text.to_owned());
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(BindAddress::Socket(address));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(refused)?;
        let port = port.parse().map_err(|_| refused())?;
        if host.is_empty() {
            return Ok(BindAddress::Any { port });
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        match host.bytes().all(fits) {
            true => Ok(BindAddress::Name {
                host: host.to_owned(),
                port,
            }),
            false => Err(refused()),
        }
    }
}

impl BindAddress {
    pub fn port(&self) -> u16 {
        match self {
            BindAddress::Any { port } | BindAddress::Name { port, .. } => *port,
            BindAddress::Socket(address) => address.port(),
        }
    }

    /// Whether a connection could be meant for both. Of a name anything is believed.
    pub fn overlaps(&self, other: &BindAddress) -> bool {
        let distinct = match (self, other) {
            (BindAddress::Socket(one), BindAddress::Socket(other)) => {
                one.ip() != other.ip() && !one.ip().is_unspecified() && !other.ip().is_unspecified()
            }
            _ => false,
        };
        self.port() == other.port() && !distinct
    }
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindAddress::Any { port } => write!(f, ":{port}"),
            BindAddress::Socket(address) => address.fmt(f),
            BindAddress::Name { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for (text, expected) in [
            (":13478", BindAddress::Any { port: 13478 }),
            (
                "127.0.0.1:80",
                BindAddress::Socket(([127, 0, 0, 1], 80).into()),
            ),
            (
                "[::1]:80",
                BindAddress::Socket("[::1]:80".parse().expect("an address")),
            ),
            (
                "localhost:80",
                BindAddress::Name {
                    host: "localhost".into(),
                    port: 80,
                },
            ),
        ] {
            assert_eq!(text.parse(), Ok(expected.clone()));
            assert_eq!(expected.to_string(), text);
        }
        for bad in ["", "80", "host", "host:", "host:70000", "::1:80", "a b:1"] {
            assert!(bad.parse::<BindAddress>().is_err(), "{bad}");
        }
    }

    #[test]
    fn addresses_of_one_port_overlap_unless_they_are_two_hosts() {
        let at = |text: &str| text.parse::<BindAddress>().expect("an address");
        assert!(at(":80").overlaps(&at("127.0.0.1:80")));
        assert!(at("0.0.0.0:80").overlaps(&at("127.0.0.1:80")));
        assert!(at("127.0.0.1:80").overlaps(&at("127.0.0.1:80")));
        assert!(!at("127.0.0.1:80").overlaps(&at("127.0.0.2:80")));
        assert!(!at("127.0.0.1:80").overlaps(&at("127.0.0.1:81")));
    }
}
