//! What a caller asks for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;

use percent_encoding::percent_decode;
use serde::Serialize;
use stunner_credentials::check_user;

use super::Refusal;

/// Which of the two questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `GET /`
    Turn,
    /// `GET /ice`
    Ice,
}

/// Which candidates a page may use; the names are those of WebRTC, `public` an early one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IceTransportPolicy {
    #[default]
    All,
    Public,
    Relay,
}

/// The IP address of one host, or a DNS name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// What to give.
    pub const HINT: &str = "give the IP address of one host, not the wildcard or one of many, or a DNS name, without a port";

    /// An address may be in brackets.
    pub fn parse(text: &str) -> Option<Host> {
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
            .unwrap_or(text);
        match bare.parse::<IpAddr>() {
            Ok(address) => is_of_one_host(address).then(|| Host(bare.to_owned())),
            Err(_) => is_dns_name(text).then(|| Host(text.to_owned())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_of_one_host(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !address.is_unspecified() && !address.is_multicast() && !is_broadcast
}

/// As in RFC 1123 §2.1, with underscores, which some have in practice. A last label of digits only would make it look
/// like an address (RFC 3696 §2).
fn is_dns_name(text: &str) -> bool {
    let label = |label: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=63).contains(&label.len())
            && label.bytes().all(fits)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last_is_a_number = text
        .rsplit('.')
        .next()
        .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    text.len() <= 253 && text.split('.').all(label) && !last_is_a_number
}

/// The parameters of a request, read and checked. `key` and unknown ones mean nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    service: Option<String>,
    pub username: String,
    /// In seconds; `None` where the caller leaves it to the gateway.
    pub ttl: Option<u64>,
    pub namespace: Option<String>,
    pub gateway: Option<String>,
    pub listener: Option<String>,
    pub public_address: Option<Host>,
    pub policy: IceTransportPolicy,
}

const KNOWN: [&str; 9] = [
    "service",
    "username",
    "ttl",
    "key",
    "namespace",
    "gateway",
    "listener",
    "public-addr",
    "iceTransportPolicy",
];

impl Query {
    /// Reads the part of a request's target behind the `?`.
    pub fn parse(endpoint: Endpoint, text: &str) -> Result<Query, Refusal> {
        let mut values = decode(text)?;
        let mut take = |name: &'static str| values.remove(name).map(Cow::into_owned);
        let service = take("service");
        // The original looks at a missing `service` first of all here, and only later on the other path.
        if endpoint == Endpoint::Turn && service.is_none() {
            return Err(Refusal::NoService);
        }
        let username = take("username").unwrap_or_default();
        check_user(&username).map_err(Refusal::Username)?;
        let ttl = take("ttl").map(|text| seconds(&text)).transpose()?;
        let public_address = match take("public-addr").as_deref() {
            // An empty value counts as none, as in the environment.
            None | Some("") => None,
            Some(text) => {
                Some(Host::parse(text).ok_or_else(|| Refusal::PublicAddress(text.into()))?)
            }
        };
        let policy = match (endpoint, take("iceTransportPolicy").as_deref()) {
            (Endpoint::Turn, _) | (_, None) => IceTransportPolicy::default(),
            (Endpoint::Ice, Some("all")) => IceTransportPolicy::All,
            (Endpoint::Ice, Some("public")) => IceTransportPolicy::Public,
            (Endpoint::Ice, Some("relay")) => IceTransportPolicy::Relay,
            (Endpoint::Ice, Some(other)) => return Err(Refusal::Policy(other.into())),
        };
        Ok(Query {
            service,
            username,
            ttl,
            namespace: take("namespace"),
            gateway: take("gateway"),
            listener: take("listener"),
            public_address,
            policy,
        })
    }

    pub(super) fn check_service(&self) -> Result<(), Refusal> {
        match self.service.as_deref() {
            Some("turn") => Ok(()),
            Some(other) => Err(Refusal::Service(other.into())),
            None => Err(Refusal::NoService),
        }
    }

    /// Whether a listener is asked for. Names are `NAMESPACE/GATEWAY/LISTENER`; a listener with another name belongs to
    /// no Gateway. The gateway counts only beside a namespace, the listener only beside both.
    pub(super) fn asks_for(&self, listener: &str) -> bool {
        let parts: Vec<&str> = listener.split('/').collect();
        let &[namespace, gateway, listener] = parts.as_slice() else {
            return false;
        };
        let Some(wanted) = &self.namespace else {
            return true;
        };
        let gateway_fits = self.gateway.as_deref().is_none_or(|wanted| {
            let listener_fits = self.listener.as_deref().is_none_or(|name| name == listener);
            wanted == gateway && listener_fits
        });
        wanted == namespace && gateway_fits
    }
}

/// The known parameters (`application/x-www-form-urlencoded`). One that is there twice leaves open which counts.
fn decode(text: &str) -> Result<HashMap<&'static str, Cow<'_, str>>, Refusal> {
    let mut values = HashMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = unescape(name)?;
        let Some(known) = KNOWN.iter().find(|known| **known == name) else {
            continue;
        };
        if values.insert(*known, unescape(value)?).is_some() {
            return Err(Refusal::Repeated(known));
        }
    }
    Ok(values)
}

fn unescape(text: &str) -> Result<Cow<'_, str>, Refusal> {
    let is_escape = |rest: &str| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_escape) {
        return Err(Refusal::Escape);
    }
    let spaced: Cow<'_, str> = match text.contains('+') {
        true => text.replace('+', " ").into(),
        false => text.into(),
    };
    let decoded = percent_decode(spaced.as_bytes()).decode_utf8();
    match decoded {
        Ok(decoded) => Ok(decoded.into_owned().into()),
        Err(_) => Err(Refusal::Encoding),
    }
}

/// A whole number of seconds from 1; how large it may get is decided where the limit is known.
fn seconds(text: &str) -> Result<u64, Refusal> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Refusal::TtlNoNumber(text.into()));
    }
    // All digits: what does not fit is huge, and is cut like everything huge.
    match digits.parse().unwrap_or(u64::MAX) {
        0 => Err(Refusal::TtlTooShort(text.into())),
        _ if is_negative => Err(Refusal::TtlTooShort(text.into())),
        ttl => Ok(ttl),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_address_or_a_dns_name() {
        for (text, host) in [
            ("203.0.113.99", "203.0.113.99"),
            ("2001:db8::99", "2001:db8::99"),
            ("[2001:db8::99]", "2001:db8::99"),
            ("turn.example.com", "turn.example.com"),
            ("localhost", "localhost"),
            ("a_b.example", "a_b.example"),
        ] {
            assert_eq!(Host::parse(text), Some(Host(host.to_owned())), "{text}");
        }
        let long = format!("{}.example", "a".repeat(64));
        for text in [
            "0.0.0.0",
            "::",
            "[::]",
            "::ffff:0.0.0.0",
            "224.0.0.1",
            "::ffff:239.1.2.3",
            "255.255.255.255",
            "ff02::1",
            "",
            ".",
            "a..b",
            "-a.example",
            "a-.example",
            "host:3478",
            "turn:host",
            "a b",
            "a/b",
            "user@host",
            "256.1.1.1",
            "1.2.3",
            "[turn.example]",
            "ä.example",
            long.as_str(),
        ] {
            assert_eq!(Host::parse(text), None, "{text}");
        }
    }

    #[test]
    fn texts_are_decoded_as_forms_are() {
        let query = Query::parse(
            Endpoint::Ice,
            "username=a%3Ab+c%20%C3%A4&&=x&flag&ttl=%36%30",
        );
        let query = query.expect("a query");
        assert_eq!(query.username, "a:b c ä");
        assert_eq!(query.ttl, Some(60));
        let odd = Query::parse(Endpoint::Ice, "username=100%25&name%73pace=x").expect("a query");
        assert_eq!(odd.username, "100%");
        assert_eq!(odd.namespace.as_deref(), Some("x"));
        for broken in ["username=%zz", "username=100%", "username=%4", "%g1=x"] {
            let refused = Query::parse(Endpoint::Ice, broken);
            assert_eq!(refused, Err(Refusal::Escape), "{broken}");
        }
        assert_eq!(
            Query::parse(Endpoint::Ice, "username=%ff"),
            Err(Refusal::Encoding)
        );
    }
}
