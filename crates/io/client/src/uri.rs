//! `turn:` and `turns:` URIs.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use thiserror::Error;

use crate::ClientError;

/// How packets get to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServerTransport {
    /// Plain UDP.
    Udp,
    /// Plain TCP.
    Tcp,
    /// TLS over TCP.
    Tls,
    /// DTLS over UDP.
    Dtls,
}

impl ServerTransport {
    /// All four.
    pub const ALL: [ServerTransport; 4] = [Self::Udp, Self::Tcp, Self::Tls, Self::Dtls];

    /// Whether it is TCP below.
    pub fn is_stream(self) -> bool {
        matches!(self, Self::Tcp | Self::Tls)
    }

    /// Whether it shows a certificate.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::Tls | Self::Dtls)
    }

    /// RFC 7065 §3.2: the port of a URI that has none.
    pub fn default_port(self) -> u16 {
        if self.is_secure() { 5349 } else { 3478 }
    }
}

impl fmt::Display for ServerTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
            Self::Tls => "TLS",
            Self::Dtls => "DTLS",
        })
    }
}

/// A TURN server as users write it: `turn:host:port?transport=udp` (RFC 7065) or
/// `turn://user:password@host:port?transport=udp|tcp|tls|dtls`.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUri {
    /// A name or an IP address, without brackets.
    pub host: String,
    /// 3478, or 5349 for TLS and DTLS, where the URI has none.
    pub port: u16,
    /// UDP, TCP, TLS or DTLS.
    pub transport: ServerTransport,
    /// User name and password; the password is empty where the URI has only a user name.
    pub credentials: Option<(String, String)>,
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

impl fmt::Debug for ServerUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.credentials.as_ref().map(|(user, _)| user);
        f.debug_struct("ServerUri")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("transport", &self.transport)
            .field("user", &user)
            .finish_non_exhaustive()
    }
}

/// The form of RFC 7065, without the credentials.
impl fmt::Display for ServerUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, transport) = match self.transport {
            ServerTransport::Udp => ("turn", "udp"),
            ServerTransport::Tcp => ("turn", "tcp"),
            ServerTransport::Tls => ("turns", "tcp"),
            ServerTransport::Dtls => ("turns", "udp"),
        };
        let port = self.port;
        match self.host.contains(':') {
            true => write!(f, "{scheme}:[{}]:{port}?transport={transport}", self.host),
            false => write!(f, "{scheme}:{}:{port}?transport={transport}", self.host),
        }
    }
}

/// Why a text is no TURN URI; never repeats a password.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UriError {
    /// Not `turn:` or `turns:`.
    #[error(
        "expected a URI that begins with `turn:` or `turns:`, as `turn:192.0.2.1:3478?transport=udp`"
    )]
    Scheme,
    /// No host.
    #[error("expected a host name or an IP address after the scheme")]
    NoHost,
    /// Not a host.
    #[error("`{0}` is not a host name or an IP address")]
    Host(String),
    /// An IPv6 address without brackets.
    #[error("an IPv6 address goes into brackets, as `[2001:db8::1]`")]
    Brackets,
    /// Not a port.
    #[error("`{0}` is not a port: expected a number from 1 to 65535")]
    Port(String),
    /// A path or fragment.
    #[error("expected nothing but `?transport=…` after the port, not `{0}`")]
    Trailing(String),
    /// A query that we do not know.
    #[error("unknown parameter `{0}`: expected `transport=udp`, `tcp`, `tls` or `dtls`")]
    Parameter(String),
    /// Not a transport.
    #[error("unknown transport `{0}`: expected `udp`, `tcp`, `tls` or `dtls`")]
    Transport(String),
    /// `turns:` with a transport that is not encrypted, or twice the parameter.
    #[error("the parameter `transport` is given twice")]
    Twice,
    /// Broken percent-encoding.
    #[error(
        "the user name or password has a `%` that is not followed by two hexadecimal digits, or is not UTF-8: write `%` as `%25`, `@` as `%40`, `:` as `%3A`, `/` as `%2F`"
    )]
    Encoding,
}

impl FromStr for ServerUri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, UriError> {
        let (scheme, rest) = text.split_once(':').ok_or(UriError::Scheme)?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "turn" => false,
            "turns" => true,
            _ => return Err(UriError::Scheme),
        };
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (credentials, rest) = user_info(rest)?;
        let (address, query) = match rest.split_once('?') {
            Some((address, query)) => (address, Some(query)),
            None => (rest, None),
        };
        let transport = transport(secure, query)?;
        let (host, port) = host_and_port(address)?;
        Ok(ServerUri {
            host: host.to_owned(),
            port: port.unwrap_or(transport.default_port()),
            transport,
            credentials,
        })
    }
}

type Credentials = Option<(String, String)>;

/// What stands before the last `@`: passwords written without percent-encoding often have one.
fn user_info(text: &str) -> Result<(Credentials, &str), UriError> {
    let Some((user_info, rest)) = text.rsplit_once('@') else {
        return Ok((None, text));
    };
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    Ok((Some((decode(user)?, decode(password)?)), rest))
}

/// RFC 3986 §2.1.
fn decode(text: &str) -> Result<String, UriError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || {
            let digit = char::from(rest.next()?).to_digit(16)?;
            u8::try_from(digit).ok()
        };
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(UriError::Encoding);
        };
        bytes.push(high << 4 | low);
    }
    String::from_utf8(bytes).map_err(|_| UriError::Encoding)
}

fn transport(secure: bool, query: Option<&str>) -> Result<ServerTransport, UriError> {
    let mut named = None;
    for parameter in query
        .unwrap_or("")
        .split('&')
        .filter(|text| !text.is_empty())
    {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if !key.eq_ignore_ascii_case("transport") {
            return Err(UriError::Parameter(parameter.to_owned()));
        }
        // RFC 7065 §3.2: `turns` with `udp` is DTLS.
        let transport = match (value.to_ascii_lowercase().as_str(), secure) {
            ("udp", false) => ServerTransport::Udp,
            ("tcp", false) => ServerTransport::Tcp,
            ("udp", true) | ("dtls", _) => ServerTransport::Dtls,
            ("tcp", true) | ("tls", _) => ServerTransport::Tls,
            _ => return Err(UriError::Transport(value.to_owned())),
        };
        if named.replace(transport).is_some() {
            return Err(UriError::Twice);
        }
    }
    Ok(named.unwrap_or(if secure {
        ServerTransport::Tls
    } else {
        ServerTransport::Udp
    }))
}

fn host_and_port(address: &str) -> Result<(&str, Option<u16>), UriError> {
    let (address, path) = match address.find(['/', '#']) {
        Some(at) => address.split_at(at),
        None => (address, ""),
    };
    if !matches!(path, "" | "/") {
        return Err(UriError::Trailing(path.to_owned()));
    }
    let (host, port) = if let Some(rest) = address.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or(UriError::Brackets)?;
        let port = match rest.strip_prefix(':') {
            Some(port) => Some(port),
            None if rest.is_empty() => None,
            None => return Err(UriError::Trailing(rest.to_owned())),
        };
        let address = host
            .split_once('%')
            .map_or(host, |(address, _zone)| address);
        if address.parse::<std::net::Ipv6Addr>().is_err() {
            return Err(UriError::Host(format!("[{host}]")));
        }
        (host, port)
    } else {
        match address.split_once(':') {
            Some((_, port)) if port.contains(':') => return Err(UriError::Brackets),
            Some((host, port)) => (check_name(host)?, Some(port)),
            None => (check_name(address)?, None),
        }
    };
    let Some(port) = port else {
        return Ok((host, None));
    };
    match port.parse() {
        Ok(number) if number > 0 && !port.starts_with('+') => Ok((host, Some(number))),
        _ => Err(UriError::Port(port.to_owned())),
    }
}

fn check_name(name: &str) -> Result<&str, UriError> {
    if name.is_empty() {
        return Err(UriError::NoHost);
    }
    let known = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
    match name.chars().all(known) && name.len() <= 253 {
        true => Ok(name),
        false => Err(UriError::Host(name.to_owned())),
    }
}
