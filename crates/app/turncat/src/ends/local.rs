//! Where clients of this host come in.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use super::host_port::{HostPort, HostPortError};

/// The near end of the tunnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalEnd {
    /// One allocation per address that datagrams come from.
    Udp(HostPort),
    /// One allocation per connection.
    Tcp(HostPort),
    /// One allocation per connection to a stream socket in the file system.
    Unix(PathBuf),
    /// The same in Linux's abstract name space, which needs no file.
    Abstract(String),
    /// Standard input and output are the one client.
    Stdio,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LocalEndError {
    #[error("`{0}` is no client end")]
    Form(String),
    #[error("unknown protocol `{0}` of the client end")]
    Protocol(String),
    #[error("`{text}` is no client end: {problem}")]
    HostPort {
        text: String,
        problem: HostPortError,
    },
    #[error("`{0}` is no client end: it names no socket")]
    NoPath(String),
}

impl LocalEndError {
    pub fn hint(&self) -> &'static str {
        "write `udp://HOST:PORT`, `tcp://HOST:PORT`, `unix://PATH`, or `-` for standard input and output"
    }
}

impl FromStr for LocalEnd {
    type Err = LocalEndError;

    fn from_str(text: &str) -> Result<LocalEnd, LocalEndError> {
        if text == "-" {
            return Ok(LocalEnd::Stdio);
        }
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| LocalEndError::Form(text.to_owned()))?;
        let host_port = || {
            HostPort::parse(rest).map_err(|problem| LocalEndError::HostPort {
                text: text.to_owned(),
                problem,
            })
        };
        match scheme.to_ascii_lowercase().as_str() {
            "udp" => host_port().map(LocalEnd::Udp),
            "tcp" => host_port().map(LocalEnd::Tcp),
            "unix" => match rest.strip_prefix('@') {
                Some("") => Err(LocalEndError::NoPath(text.to_owned())),
                Some(name) => Ok(LocalEnd::Abstract(name.to_owned())),
                None if rest.is_empty() => Err(LocalEndError::NoPath(text.to_owned())),
                None => Ok(LocalEnd::Unix(PathBuf::from(rest))),
            },
            "file" if matches!(rest, "stdin" | "-" | "/dev/stdin") => Ok(LocalEnd::Stdio),
            "file" => Err(LocalEndError::Form(text.to_owned())),
            _ => Err(LocalEndError::Protocol(scheme.to_owned())),
        }
    }
}

impl fmt::Display for LocalEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LocalEnd::Udp(place) => write!(f, "udp://{place}"),
            LocalEnd::Tcp(place) => write!(f, "tcp://{place}"),
            LocalEnd::Unix(path) => write!(f, "unix://{}", path.display()),
            LocalEnd::Abstract(name) => write!(f, "unix://@{name}"),
            LocalEnd::Stdio => f.write_str("-"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_client_end_is_read() {
        for text in [
            "udp://127.0.0.1:10000",
            "udp://[::1]:10000",
            "tcp://localhost:0",
            "tcp://:5000",
            "unix:///run/turncat.sock",
            "unix://turncat.sock",
            "unix://@turncat",
            "-",
        ] {
            assert_eq!(text.parse::<LocalEnd>().expect(text).to_string(), text);
        }
        for text in ["file://stdin", "file://-", "FILE://stdin"] {
            assert_eq!(text.parse(), Ok(LocalEnd::Stdio), "{text}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong_with_which_end() {
        for (text, error) in [
            (
                "xyz://127.0.0.1:1",
                "unknown protocol `xyz` of the client end",
            ),
            ("127.0.0.1:10000", "`127.0.0.1:10000` is no client end"),
            (
                "file:///etc/passwd",
                "`file:///etc/passwd` is no client end",
            ),
            (
                "udp://::1:5",
                "`udp://::1:5` is no client end: its host is neither a name nor an address; IPv6 addresses go in brackets",
            ),
            (
                "tcp://localhost",
                "`tcp://localhost` is no client end: it has no port",
            ),
            ("unix://", "`unix://` is no client end: it names no socket"),
            (
                "unix://@",
                "`unix://@` is no client end: it names no socket",
            ),
        ] {
            let failure = text.parse::<LocalEnd>().expect_err(text);
            assert_eq!(failure.to_string(), error);
        }
    }
}
