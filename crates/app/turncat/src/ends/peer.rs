//! Whom the relay reaches.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::host_port::{HostPort, HostPortError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerTransport {
    Udp,
    /// By an allocation of RFC 6062.
    Tcp,
}

/// The far end of the tunnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerEnd {
    pub transport: PeerTransport,
    pub place: HostPort,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PeerEndError {
    #[error("`{0}` is no peer")]
    Form(String),
    #[error("unknown protocol `{0}` of the peer")]
    Protocol(String),
    #[error("`{text}` is no peer: {problem}")]
    HostPort {
        text: String,
        problem: HostPortError,
    },
    #[error("`{0}` is no peer: it needs a host and a port from 1 to 65535")]
    Incomplete(String),
}

impl PeerEndError {
    pub fn hint(&self) -> &'static str {
        "write `udp://HOST:PORT` or `tcp://HOST:PORT`"
    }
}

impl FromStr for PeerEnd {
    type Err = PeerEndError;

    fn from_str(text: &str) -> Result<PeerEnd, PeerEndError> {
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| PeerEndError::Form(text.to_owned()))?;
        let transport = match scheme.to_ascii_lowercase().as_str() {
            "udp" => PeerTransport::Udp,
            "tcp" => PeerTransport::Tcp,
            _ => return Err(PeerEndError::Protocol(scheme.to_owned())),
        };
        let place = HostPort::parse(rest).map_err(|problem| PeerEndError::HostPort {
            text: text.to_owned(),
            problem,
        })?;
        match place.host.is_empty() || place.port == 0 {
            true => Err(PeerEndError::Incomplete(text.to_owned())),
            false => Ok(PeerEnd { transport, place }),
        }
    }
}

impl fmt::Display for PeerEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.transport {
            PeerTransport::Udp => "udp",
            PeerTransport::Tcp => "tcp",
        };
        write!(f, "{scheme}://{}", self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn udp_and_tcp_peers_are_read() {
        for text in [
            "udp://10.0.0.1:9000",
            "tcp://[2001:db8::1]:80",
            "udp://media.local:5004",
        ] {
            assert_eq!(text.parse::<PeerEnd>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn errors_name_the_peer() {
        for (text, error) in [
            ("10.0.0.1:9000", "`10.0.0.1:9000` is no peer"),
            (
                "sctp://10.0.0.1:9000",
                "unknown protocol `sctp` of the peer",
            ),
            (
                "udp://10.0.0.1",
                "`udp://10.0.0.1` is no peer: it has no port",
            ),
            (
                "udp://10.0.0.1:0",
                "`udp://10.0.0.1:0` is no peer: it needs a host and a port from 1 to 65535",
            ),
            (
                "tcp://:80",
                "`tcp://:80` is no peer: it needs a host and a port from 1 to 65535",
            ),
        ] {
            assert_eq!(text.parse::<PeerEnd>().expect_err(text).to_string(), error);
        }
    }
}
