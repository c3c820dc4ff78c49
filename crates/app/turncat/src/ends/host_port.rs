//! `HOST:PORT`, as both ends have it.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use thiserror::Error;

/// A name or an address, and a port. IPv6 addresses are kept without brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// Empty for every address of this host.
    pub host: String,
    pub port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HostPortError {
    #[error("it has no port")]
    NoPort,
    #[error("its port is no number from 0 to 65535")]
    Port,
    #[error("its host is neither a name nor an address; IPv6 addresses go in brackets")]
    Host,
}

impl HostPort {
    /// Reads `HOST:PORT`, `[V6]:PORT` and `:PORT`.
    pub fn parse(text: &str) -> Result<HostPort, HostPortError> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or(HostPortError::Host)?;
                host.parse::<IpAddr>()
                    .ok()
                    .filter(IpAddr::is_ipv6)
                    .ok_or(HostPortError::Host)?;
                (host, rest.strip_prefix(':').ok_or(HostPortError::NoPort)?)
            }
            None => text.rsplit_once(':').ok_or(HostPortError::NoPort)?,
        };
        let unbracketed = !text.starts_with('[') && host.contains(':');
        let odd = |c: char| c.is_whitespace() || c.is_control() || "/?#@[]\\".contains(c);
        if unbracketed || host.contains(odd) {
            return Err(HostPortError::Host);
        }
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits);
        Ok(HostPort {
            host: host.to_owned(),
            port: port.ok_or(HostPortError::Port)?,
        })
    }

    /// The addresses that the host has, in the resolver's order; at least one.
    pub async fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        let mut found: Vec<SocketAddr> = Vec::new();
        for address in tokio::net::lookup_host((self.host.as_str(), self.port)).await? {
            if !found.contains(&address) {
                found.push(address);
            }
        }
        match found.is_empty() {
            true => Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the name has no address",
            )),
            false => Ok(found),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_of_both_families_are_read_and_written_alike() {
        for text in [
            "127.0.0.1:10000",
            "[::1]:3478",
            "media.example:0",
            ":9000",
            "localhost:65535",
        ] {
            let read = HostPort::parse(text).expect(text);
            assert_eq!(read.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_host_and_port_is_told_apart() {
        for (text, error) in [
            ("127.0.0.1", HostPortError::NoPort),
            ("[::1]", HostPortError::NoPort),
            ("::1:5000", HostPortError::Host),
            ("[::1:5000", HostPortError::Host),
            ("[127.0.0.1]:5000", HostPortError::Host),
            ("user@host:5000", HostPortError::Host),
            ("host/path:5000", HostPortError::Host),
            ("host:port", HostPortError::Port),
            ("host:", HostPortError::Port),
            ("host:65536", HostPortError::Port),
            ("host:+5", HostPortError::Port),
        ] {
            assert_eq!(HostPort::parse(text), Err(error), "{text}");
        }
    }
}
