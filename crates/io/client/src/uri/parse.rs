//! Reading URIs.
//!
//! RFC 7065 §3.1 has no user information; the spelling with `//` has it as RFC 3986 §3.2.1 does. Both are read alike, but
//! for the port of a URI that names none.

use std::net::Ipv6Addr;
use std::str::FromStr;

use super::{ServerTransport, ServerUri, UriError};

/// TLS and DTLS in the spelling with `//`, which STUNner brought up: its listeners have this port where none is named.
const SLASHES_SECURE_PORT: u16 = 443;

impl FromStr for ServerUri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, UriError> {
        let (scheme, rest) = text.split_once(':').ok_or(UriError::Scheme)?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "turn" => false,
            "turns" => true,
            _ => return Err(UriError::Scheme),
        };
        let (slashes, rest) = match rest.strip_prefix("//") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let (credentials, rest) = user_info(rest)?;
        let (address, query) = match rest.split_once('?') {
            Some((address, query)) => (address, Some(query)),
            None => (rest, None),
        };
        let (host, port) = host_and_port(address)?;
        let transport = transport(secure, query)?;
        let default_port = match slashes && transport.is_secure() {
            true => SLASHES_SECURE_PORT,
            false => transport.default_port(),
        };
        Ok(ServerUri {
            host: host.to_owned(),
            port: port.unwrap_or(default_port),
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
            return Err(UriError::Parameter);
        }
        // RFC 7065 §3.2: `turns` with `udp` is DTLS.
        let transport = match (value.to_ascii_lowercase().as_str(), secure) {
            ("udp", false) => ServerTransport::Udp,
            ("tcp", false) => ServerTransport::Tcp,
            ("udp", true) | ("dtls", _) => ServerTransport::Dtls,
            ("tcp", true) | ("tls", _) => ServerTransport::Tls,
            _ => return Err(UriError::Transport),
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
        return Err(UriError::Trailing);
    }
    let (host, port) = if let Some(rest) = address.strip_prefix('[') {
        ipv6_and_port(rest)?
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
        _ => Err(UriError::Port),
    }
}

/// What follows an opening bracket.
fn ipv6_and_port(text: &str) -> Result<(&str, Option<&str>), UriError> {
    let (host, rest) = text.split_once(']').ok_or(UriError::Brackets)?;
    let port = match rest.strip_prefix(':') {
        Some(port) => Some(port),
        None if rest.is_empty() => None,
        None => return Err(UriError::Trailing),
    };
    // A link-local address may name its interface.
    let (address, zone) = host.split_once('%').unwrap_or((host, "none"));
    match address.parse::<Ipv6Addr>().is_ok() && check_name(zone).is_ok() {
        true => Ok((host, port)),
        false => Err(UriError::NotIpv6),
    }
}

fn check_name(name: &str) -> Result<&str, UriError> {
    if name.is_empty() {
        return Err(UriError::NoHost);
    }
    let known = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
    match name.chars().all(known) && name.len() <= 253 {
        true => Ok(name),
        false => Err(UriError::Host),
    }
}
