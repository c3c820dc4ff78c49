//! Endpoints of the health and metrics servers.

use std::fmt;
use std::net::IpAddr;

use thiserror::Error;

use super::defaults;

/// The host part of an HTTP endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HttpHost {
    /// No host: every local address of both families.
    Any,
    Ip(IpAddr),
    /// A host name, resolved by whoever binds.
    Name(String),
}

/// Where a small HTTP server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HttpEndpoint {
    /// As written in the configuration.
    pub text: String,
    pub host: HttpHost,
    pub port: u16,
    /// Begins with `/`.
    pub path: String,
}

/// Why a text is no HTTP endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HttpEndpointError {
    #[error("only http is served")]
    Scheme,
    #[error("the port is not a number from 1 to 65535")]
    Port,
    #[error("the host is neither an address nor a name")]
    Host,
}

impl HttpEndpoint {
    /// Reads `http://HOST:PORT/PATH`; scheme, host, port and path may each be missing.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, HttpEndpointError> {
        let text = text.trim();
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(HttpEndpointError::Scheme),
            None => text,
        };
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let (host, port) = split_port(authority, default_port)?;
        Ok(HttpEndpoint {
            text: text.to_owned(),
            host: HttpHost::parse(host)?,
            port,
            path: path.to_owned(),
        })
    }

    pub fn default_health() -> Self {
        HttpEndpoint {
            text: defaults::HEALTHCHECK_ENDPOINT.to_owned(),
            host: HttpHost::Any,
            port: defaults::HEALTHCHECK_PORT,
            path: "/".to_owned(),
        }
    }
}

impl fmt::Display for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl HttpHost {
    fn parse(text: &str) -> Result<Self, HttpEndpointError> {
        if text.is_empty() {
            return Ok(HttpHost::Any);
        }
        if let Ok(address) = text.parse() {
            return Ok(HttpHost::Ip(address));
        }
        let is_name_byte =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        // All digits and dots would be a mistyped address or a bare port, not a name.
        let is_name =
            text.bytes().all(is_name_byte) && text.bytes().any(|byte| byte.is_ascii_alphabetic());
        if is_name {
            Ok(HttpHost::Name(text.to_ascii_lowercase()))
        } else {
            Err(HttpEndpointError::Host)
        }
    }
}

/// Splits `HOST:PORT`, `[V6]:PORT` and their short forms.
fn split_port(authority: &str, default_port: u16) -> Result<(&str, u16), HttpEndpointError> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, tail) = rest.split_once(']').ok_or(HttpEndpointError::Host)?;
            match tail.strip_prefix(':') {
                Some(port) => (host, port),
                None if tail.is_empty() => (host, ""),
                None => return Err(HttpEndpointError::Host),
            }
        }
        // More than one colon without brackets is an IPv6 address without a port.
        None if authority.matches(':').count() > 1 => (authority, ""),
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    if port.is_empty() {
        return Ok((host, default_port));
    }
    match port.parse() {
        Ok(0) | Err(_) => Err(HttpEndpointError::Port),
        Ok(port) => Ok((host, port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Result<(HttpHost, u16, String), HttpEndpointError> {
        HttpEndpoint::parse(text, 8086)
            .map(|endpoint| (endpoint.host, endpoint.port, endpoint.path))
    }

    #[test]
    fn every_part_may_be_missing() {
        let any = |port, path: &str| Ok((HttpHost::Any, port, path.to_owned()));
        let ip = |ip: &str, port, path: &str| {
            Ok((HttpHost::Ip(ip.parse().unwrap()), port, path.to_owned()))
        };
        assert_eq!(parts("http://:8086"), any(8086, "/"));
        assert_eq!(parts(":9000"), any(9000, "/"));
        assert_eq!(parts("http://"), any(8086, "/"));
        assert_eq!(parts("0.0.0.0"), ip("0.0.0.0", 8086, "/"));
        assert_eq!(
            parts("HTTP://127.0.0.1:1/metrics?x=y"),
            ip("127.0.0.1", 1, "/metrics")
        );
        assert_eq!(parts("http://[::1]:8080/a/b"), ip("::1", 8080, "/a/b"));
        assert_eq!(parts("http://[::]"), ip("::", 8086, "/"));
        assert_eq!(parts("::1"), ip("::1", 8086, "/"));
        assert_eq!(
            parts("http://LocalHost:80"),
            Ok((HttpHost::Name("localhost".to_owned()), 80, "/".to_owned()))
        );
    }

    #[test]
    fn what_cannot_be_bound_is_refused() {
        assert_eq!(parts("https://:8086"), Err(HttpEndpointError::Scheme));
        assert_eq!(parts("http://:0"), Err(HttpEndpointError::Port));
        assert_eq!(parts("http://:99999"), Err(HttpEndpointError::Port));
        assert_eq!(parts("http://a:b"), Err(HttpEndpointError::Port));
        assert_eq!(parts("8086"), Err(HttpEndpointError::Host));
        assert_eq!(parts("http://1.2.3:80"), Err(HttpEndpointError::Host));
        assert_eq!(parts("http://[::1:80"), Err(HttpEndpointError::Host));
        assert_eq!(parts("http://a b"), Err(HttpEndpointError::Host));
    }
}
