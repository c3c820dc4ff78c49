//! TURN URIs: `turn://user:pass@host:port?transport=udp` and the spellings near it.

use std::fmt;

use thiserror::Error;

use crate::model::{
    Admin, Auth, AuthMethod, Cluster, ClusterKind, Config, Listener, PeerTransport, Pem, Protocol,
    RelayAddresses, SecretPem, defaults,
};

/// The scheme of a TURN URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    Turn,
    Turns,
}

/// A TURN URI in parts. `Debug` and `Display` mask user and password.
#[derive(Clone, PartialEq, Eq)]
pub struct TurnUri {
    pub scheme: Scheme,
    pub user: Option<String>,
    pub password: Option<String>,
    /// An address without brackets, or a name.
    pub host: String,
    pub port: u16,
    pub protocol: Protocol,
}

/// Why a text is no usable TURN URI.
///
/// Host and port are not shown: in `turn://user:password` somebody forgot the host, and the password would pass for
/// the port.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UriError {
    #[error("unknown scheme `{0}` in TURN URI, use `turn` or `turns`")]
    Scheme(String),
    #[error("no host in TURN URI, write for example `turn://user:password@127.0.0.1:3478`")]
    NoHost,
    #[error("malformed host in TURN URI, write a name or an address, IPv6 in brackets")]
    Host,
    #[error("malformed port in TURN URI, ports are 1 to 65535")]
    Port,
    #[error("unknown transport `{0}` in TURN URI, use `udp`, `tcp`, `tls` or `dtls`")]
    Transport(String),
    #[error("malformed percent encoding in the user or password of the TURN URI")]
    Encoding,
    #[error("the TURN URI needs a user and a password, write `turn://user:password@host:port`")]
    NoCredentials,
    #[error("`{0}` is no address to serve at, write an IP address or `localhost`")]
    HostNotAddress(String),
    #[error("{0} needs a certificate and a key")]
    NoIdentity(Protocol),
}

/// Reads a TURN URI. A missing scheme is `turn`, a missing transport UDP, or TCP for `turns` (RFC 7065 §3).
pub fn parse_turn_uri(text: &str) -> Result<TurnUri, UriError> {
    let (scheme, rest) = split_scheme(text.trim())?;
    // Credentials go first and end at the last `@`: what is special in a URI does no harm in a password.
    let (credentials, rest) = match rest.rsplit_once('@') {
        Some((credentials, rest)) => (Some(credentials), rest),
        None => (None, rest),
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let (authority, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = authority.trim_end_matches('/');
    let protocol = protocol(scheme, query)?;
    let (host, port) = host_and_port(authority, default_port(protocol))?;
    let (user, password) = match credentials.map(|text| {
        text.split_once(':')
            .map_or((text, None), |(u, p)| (u, Some(p)))
    }) {
        None => (None, None),
        Some((user, password)) => (Some(decode(user)?), password.map(decode).transpose()?),
    };
    Ok(TurnUri {
        scheme,
        user,
        password,
        host,
        port,
        protocol,
    })
}

fn split_scheme(text: &str) -> Result<(Scheme, &str), UriError> {
    if let Some((scheme, rest)) = text.split_once("://") {
        return match scheme.to_ascii_lowercase().as_str() {
            "turn" | "" => Ok((Scheme::Turn, rest)),
            "turns" => Ok((Scheme::Turns, rest)),
            // `user:p://w@host` without a scheme must not end up in an error message.
            other
                if other
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) =>
            {
                Err(UriError::Scheme(scheme.to_owned()))
            }
            _ => Ok((Scheme::Turn, text)),
        };
    }
    // RFC 7065 spells it without slashes.
    let after = |prefix: &str| {
        let head = text.get(..prefix.len())?;
        head.eq_ignore_ascii_case(prefix)
            .then(|| &text[prefix.len()..])
    };
    if let Some(rest) = after("turns:") {
        Ok((Scheme::Turns, rest))
    } else if let Some(rest) = after("turn:") {
        Ok((Scheme::Turn, rest))
    } else {
        Ok((Scheme::Turn, text))
    }
}

fn protocol(scheme: Scheme, query: &str) -> Result<Protocol, UriError> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let transport = pairs
        .into_iter()
        .find(|(key, _)| key.eq_ignore_ascii_case("transport"))
        .map(|(_, value)| value);
    let transport = transport.filter(|value| !value.is_empty());
    match (scheme, transport.map(str::to_ascii_lowercase).as_deref()) {
        (Scheme::Turn, None | Some("udp")) => Ok(Protocol::TurnUdp),
        (Scheme::Turn, Some("tcp")) => Ok(Protocol::TurnTcp),
        (Scheme::Turns, None | Some("tcp")) | (_, Some("tls")) => Ok(Protocol::TurnTls),
        (Scheme::Turns, Some("udp")) | (_, Some("dtls")) => Ok(Protocol::TurnDtls),
        (_, Some(_)) => Err(UriError::Transport(
            transport.unwrap_or_default().to_owned(),
        )),
    }
}

fn default_port(protocol: Protocol) -> u16 {
    if protocol.is_secure() {
        defaults::TURNS_PORT
    } else {
        defaults::TURN_PORT
    }
}

fn host_and_port(authority: &str, default_port: u16) -> Result<(String, u16), UriError> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, tail) = rest.split_once(']').ok_or(UriError::Host)?;
            host.parse::<std::net::Ipv6Addr>()
                .map_err(|_| UriError::Host)?;
            match tail.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if tail.is_empty() => (host, None),
                None => return Err(UriError::Host),
            }
        }
        None => match authority.split_once(':') {
            Some((_, port)) if port.contains(':') => return Err(UriError::Host),
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if host.is_empty() {
        return Err(UriError::NoHost);
    }
    let is_host_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    if !host.bytes().all(is_host_byte) {
        return Err(UriError::Host);
    }
    let port = match port {
        None | Some("") => default_port,
        Some(text) => match text.parse() {
            Ok(0) | Err(_) => return Err(UriError::Port),
            Ok(port) => port,
        },
    };
    Ok((host.to_ascii_lowercase(), port))
}

/// Percent decoding (RFC 3986 §2.1).
fn decode(text: &str) -> Result<String, UriError> {
    let digit = |byte: Option<u8>| {
        byte.and_then(|byte| char::from(byte).to_digit(16))
            .ok_or(UriError::Encoding)
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let value = digit(rest.next())? * 16 + digit(rest.next())?;
            bytes.push(u8::try_from(value).map_err(|_| UriError::Encoding)?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).map_err(|_| UriError::Encoding)
}

/// The config of a server started with nothing but a URI: static credentials, one listener, any peer.
///
/// TLS and DTLS need a certificate and key, which the caller makes or reads.
pub fn default_config(uri: &TurnUri, tls: Option<(Pem, SecretPem)>) -> Result<Config, UriError> {
    // An empty one is most likely a variable that was not set: `turn://$USER:$PASS@…`.
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (Some(username), Some(password)) = (given(&uri.user), given(&uri.password)) else {
        return Err(UriError::NoCredentials);
    };
    let address = RelayAddresses::parse_one(&uri.host)
        .ok_or_else(|| UriError::HostNotAddress(uri.host.clone()))?;
    let addresses = match address.is_unspecified() {
        true => RelayAddresses::WILDCARD,
        false => RelayAddresses {
            v4: match address {
                std::net::IpAddr::V4(v4) => Some(v4),
                std::net::IpAddr::V6(_) => None,
            },
            v6: match address {
                std::net::IpAddr::V4(_) => None,
                std::net::IpAddr::V6(v6) => Some(v6),
            },
            wildcard: false,
        },
    };
    if uri.protocol.is_secure() && tls.is_none() {
        return Err(UriError::NoIdentity(uri.protocol));
    }
    let (cert, key) = tls.filter(|_| uri.protocol.is_secure()).unzip();
    let everything = ["0.0.0.0/0", "::/0"]
        .iter()
        .filter_map(|prefix| prefix.parse().ok())
        .collect();
    Ok(Config {
        admin: Admin::default(),
        auth: Auth {
            realm: defaults::REALM.to_owned(),
            method: AuthMethod::Static { username, password },
            lifetime: None,
        },
        listeners: vec![Listener {
            name: "default-listener".to_owned(),
            protocol: uri.protocol,
            addresses,
            address_text: address.to_string(),
            port: uri.port,
            public_address: String::new(),
            public_port: 0,
            cert,
            key,
            routes: vec!["allow-any".to_owned()],
        }],
        clusters: vec![Cluster {
            name: "allow-any".to_owned(),
            kind: ClusterKind::Static(everything),
            protocol: PeerTransport::Udp,
        }],
    })
}

/// The URI without user and password.
impl fmt::Display for TurnUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = match self.protocol {
            Protocol::TurnUdp => "udp",
            Protocol::TurnTcp => "tcp",
            Protocol::TurnTls => "tls",
            Protocol::TurnDtls => "dtls",
        };
        let scheme = if self.protocol.is_secure() {
            "turns"
        } else {
            "turn"
        };
        let credentials = if self.user.is_some() { "<SECRET>@" } else { "" };
        let (open, close) = if self.host.contains(':') {
            ("[", "]")
        } else {
            ("", "")
        };
        write!(
            f,
            "{scheme}://{credentials}{open}{}{close}:{}?transport={transport}",
            self.host, self.port
        )
    }
}

impl fmt::Debug for TurnUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TurnUri({self})")
    }
}
