//! Which requests are a stranger's.
//!
//! A server on loopback knows no passwords, so the one stranger that can reach it is a web page in a browser on the
//! same machine. A page that rebinds its own name to 127.0.0.1 still sends that name as `Host`; a page that posts
//! across sites says so in `Origin` and `Sec-Fetch-Site`.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};

use crate::BindAddress;

/// The names a server answers to. Loopback is always among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostNames {
    /// Lower case, without a trailing dot.
    names: Vec<String>,
    address: Option<IpAddr>,
    /// A rebound name is never a literal address, so a server on all addresses may answer to any of them.
    any_address: bool,
}

/// Why a request is a stranger's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stranger {
    /// It names no host at all.
    NoHost,
    /// It asks for a host that this server is not: a rebound name, or one that the server was not told of.
    OtherHost,
    /// It would change something and comes from a page of another site.
    OtherSite,
}

impl HostNames {
    /// `localhost`, what is below it, and the loopback addresses.
    pub fn loopback() -> Self {
        HostNames::default()
    }

    /// Loopback, and what the address to listen at names.
    pub fn of(address: &BindAddress) -> Self {
        match address {
            BindAddress::Any { .. } => HostNames {
                any_address: true,
                ..HostNames::default()
            },
            BindAddress::Socket(socket) => HostNames {
                any_address: socket.ip().is_unspecified(),
                address: Some(socket.ip().to_canonical()),
                ..HostNames::default()
            },
            BindAddress::Name { host, .. } => HostNames {
                names: vec![plain(host)],
                ..HostNames::default()
            },
        }
    }

    /// These and further names, such as that of a proxy in front.
    #[must_use]
    pub fn and<T: AsRef<str>>(mut self, further: impl IntoIterator<Item = T>) -> Self {
        let further = further.into_iter().map(|name| plain(name.as_ref()));
        self.names.extend(further);
        self
    }

    /// Lets a request pass, or says what is strange about it.
    pub fn examine(&self, request: &Request) -> Result<(), Stranger> {
        let host = host_of(request)?;
        if !self.admits(host) {
            return Err(Stranger::OtherHost);
        }
        let harmless = matches!(*request.method(), Method::GET | Method::HEAD);
        if !harmless && is_cross_site(request.headers(), host) {
            return Err(Stranger::OtherSite);
        }
        Ok(())
    }

    fn admits(&self, authority: &str) -> bool {
        let Some(name) = name_of(authority) else {
            return false;
        };
        match name.parse::<IpAddr>() {
            Ok(ip) => {
                let ip = ip.to_canonical();
                ip.is_loopback()
                    || (self.any_address && !ip.is_unspecified())
                    || (self.address == Some(ip) && !ip.is_unspecified())
            }
            // RFC 6761 §6.3 keeps `localhost` and what is below it for loopback.
            Err(_) => {
                let name = plain(name);
                name == "localhost"
                    || name.ends_with(".localhost")
                    || (!name.is_empty() && self.names.contains(&name))
            }
        }
    }
}

fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// The host of `HOST` or `HOST:PORT`, IPv6 without its brackets. Nothing else may be around it, such as a user.
fn name_of(authority: &str) -> Option<&str> {
    let (name, port) = match authority.strip_prefix('[') {
        Some(v6) => v6.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let fits = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    fits.then_some(name)
}

/// The authority that the client asked for. The request line may have it too, and counts (RFC 9112 §3.2.2); but who
/// says one thing there and another in the header, or several things, is up to something.
fn host_of(request: &Request) -> Result<&str, Stranger> {
    let mut said = request.headers().get_all(header::HOST).iter();
    let header = match (said.next(), said.next()) {
        (Some(header), None) => Some(header.to_str().map_err(|_| Stranger::OtherHost)?),
        (Some(_), Some(_)) => return Err(Stranger::OtherHost),
        (None, _) => None,
    };
    let line = request.uri().authority().map(|line| line.as_str());
    match (line, header) {
        (Some(line), Some(header)) if !line.eq_ignore_ascii_case(header) => {
            Err(Stranger::OtherHost)
        }
        (Some(host), _) | (None, Some(host)) => Ok(host),
        (None, None) => Err(Stranger::NoHost),
    }
}

fn is_cross_site(headers: &HeaderMap, host: &str) -> bool {
    let is_own_origin = |origin: &HeaderValue| {
        let origin = origin.to_str().ok();
        let origin = origin.and_then(|origin| origin.parse::<Uri>().ok());
        // An opaque origin (`null`) is as foreign as any.
        origin.is_some_and(|origin| {
            origin.scheme().is_some()
                && origin
                    .authority()
                    .is_some_and(|authority| authority.as_str() == host)
        })
    };
    let is_own_site = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
    let is_own = headers.get_all(header::ORIGIN).iter().all(is_own_origin)
        && headers.get_all("sec-fetch-site").iter().all(is_own_site);
    !is_own
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn loopback_names_and_addresses_are_known_with_and_without_port() {
        for host in [
            "localhost",
            "LOCALHOST:8087",
            "a.localhost:1",
            "127.0.0.1:8087",
            "127.9.9.9",
            "[::1]:8087",
            "[::1]",
        ] {
            assert!(HostNames::loopback().admits(host), "{host}");
        }
    }

    #[test]
    fn other_names_are_not_loopback_even_if_they_look_like_it() {
        for host in [
            "example.com",
            "localhost.example.com:8087",
            "127.0.0.1.example.com",
            "10.0.0.1:8087",
            "[fe80::1]",
            "",
            "[",
            "0.0.0.0",
            "notlocalhost",
            "localhost:80@example.com",
            "localhost@example.com",
            "localhost:example.com",
            "localhost, example.com",
            "[::1]example.com",
            "[::1].example.com:80",
            "[::1%25lo]",
            "2130706433",
        ] {
            assert!(!HostNames::loopback().admits(host), "{host}");
        }
    }

    #[test]
    fn a_server_answers_to_the_name_or_address_it_was_told_to_listen_at() {
        let named = HostNames::of(&"Console.example.com:8090".parse().unwrap());
        assert!(named.admits("console.example.com:8090"));
        assert!(named.admits("localhost:8090"));
        assert!(!named.admits("example.com"));
        assert!(!named.admits("192.0.2.1:8090"));

        let addressed = HostNames::of(&"192.0.2.1:8090".parse().unwrap());
        assert!(addressed.admits("192.0.2.1:8090"));
        assert!(!addressed.admits("192.0.2.2:8090"));
        assert!(!addressed.admits("rebound.example.com:8090"));
    }

    #[test]
    fn a_server_on_all_addresses_answers_to_every_address_and_to_no_foreign_name() {
        for address in [":8090", "0.0.0.0:8090", "[::]:8090"] {
            let all = HostNames::of(&address.parse().unwrap());
            assert!(all.admits("192.0.2.1:8090"), "{address}");
            assert!(all.admits("[2001:db8::1]:8090"), "{address}");
            assert!(!all.admits("rebound.example.com:8090"), "{address}");
            assert!(!all.admits("0.0.0.0:8090"), "{address}");
        }
    }

    #[test]
    fn what_comes_from_another_page_may_ask_but_not_change() {
        let request = |method: Method, name: &str, value: &str| {
            Request::builder()
                .method(method)
                .uri("/")
                .header("host", "localhost:8090")
                .header(name, value)
                .body(Body::empty())
                .unwrap()
        };
        let names = HostNames::loopback();
        for (name, value) in [
            ("origin", "http://example.com"),
            ("origin", "http://localhost:9999"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            let changing = names.examine(&request(Method::POST, name, value));
            assert_eq!(changing, Err(Stranger::OtherSite), "{name}: {value}");
            assert_eq!(names.examine(&request(Method::GET, name, value)), Ok(()));
        }
        let own = request(Method::DELETE, "origin", "http://localhost:8090");
        assert_eq!(names.examine(&own), Ok(()));
    }

    #[test]
    fn whoever_names_several_hosts_is_a_stranger() {
        let request = |uri: &str, hosts: &[&str]| {
            let mut request = Request::builder().uri(uri);
            for host in hosts {
                request = request.header("host", *host);
            }
            request.body(Body::empty()).unwrap()
        };
        let names = HostNames::loopback();
        let examine = |uri, hosts: &[&str]| names.examine(&request(uri, hosts));
        assert_eq!(examine("http://localhost:1/", &["Localhost:1"]), Ok(()));
        assert_eq!(examine("http://localhost:1/", &[]), Ok(()));
        assert_eq!(examine("/", &[]), Err(Stranger::NoHost));
        for (uri, hosts) in [
            ("/", &["localhost", "example.com"][..]),
            ("/", &["localhost", "localhost"]),
            ("/", &[""]),
            ("http://localhost/", &["example.com"]),
            ("http://example.com/", &["localhost"]),
            ("http://localhost:1@example.com/", &[]),
        ] {
            assert_eq!(
                examine(uri, hosts),
                Err(Stranger::OtherHost),
                "{uri} {hosts:?}"
            );
        }
    }

    #[test]
    fn one_foreign_origin_among_several_is_enough() {
        let names = HostNames::loopback();
        for (name, values) in [
            ("origin", ["http://localhost:8090", "http://example.com"]),
            ("sec-fetch-site", ["same-origin", "cross-site"]),
            ("origin", ["localhost:8090", "http://localhost:8090"]),
        ] {
            let request = Request::post("/")
                .header("host", "localhost:8090")
                .header(name, values[0])
                .header(name, values[1])
                .body(Body::empty())
                .unwrap();
            assert_eq!(names.examine(&request), Err(Stranger::OtherSite), "{name}");
        }
    }
}
