//! The places a configuration can come from, as users write them.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;

use hyper::Uri;

use crate::id::{ConfigId, encode};

/// The port a config discovery service listens on unless told otherwise.
pub const DEFAULT_CDS_PORT: u16 = 13478;

/// Where a configuration comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file, named by a bare path or a `file://` URL.
    File(PathBuf),
    /// A config discovery service.
    Cds(CdsServer),
    /// `k8s`: the discovery service is to be found through the Kubernetes API.
    Kubernetes,
}

/// A config discovery service: where it listens and how to speak to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CdsServer {
    pub tls: bool,
    /// Name or address, an IPv6 one without brackets.
    pub host: String,
    pub port: u16,
    /// What goes before `/api/v1/...`: empty, or a path that starts with `/` and does not end with one.
    pub prefix: String,
}

/// Why a text does not name a usable origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    #[error("the config origin is empty")]
    Empty,
    #[error("unsupported scheme `{scheme}` in the config origin")]
    Scheme { scheme: String },
    #[error("config origin `{origin}` is not a valid URL")]
    Malformed { origin: String },
    #[error("config origin `{origin}` names no host")]
    NoHost { origin: String },
    #[error("config origin `{origin}` has no valid port")]
    Port { origin: String },
    #[error("the IPv6 address in config origin `{origin}` is not in brackets")]
    Unbracketed { origin: String },
    /// The origin itself is not repeated here: it holds a password.
    #[error("the config origin holds a user name or password")]
    Credentials,
    #[error("config origin `{origin}` has a query or a fragment")]
    Query { origin: String },
    #[error(
        "origin `k8s` is not supported by this build: give --cds-server-address or an http:// origin"
    )]
    KubernetesUnsupported,
    #[error("invalid id `{id}` for a config discovery service")]
    Id { id: String },
}

impl OriginError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            OriginError::Empty
            | OriginError::Scheme { .. }
            | OriginError::Malformed { .. }
            | OriginError::NoHost { .. } => {
                "give a file path, `HOST:PORT`, or a URL with http, https, ws, wss or file"
            }
            OriginError::Port { .. } => "give `HOST:PORT` with a port from 1 to 65535",
            OriginError::Unbracketed { .. } => "write an IPv6 address as `[ADDRESS]:PORT`",
            OriginError::Credentials => "take the user name and password out of the URL",
            OriginError::Query { .. } => {
                "leave the query out: the node and watch parameters are added by themselves"
            }
            OriginError::KubernetesUnsupported => {
                "for example `--cds-server-address 10.0.0.1:13478`, reached by a port-forward or directly"
            }
            OriginError::Id { .. } => "give the id as `NAMESPACE/NAME`, with exactly one `/`",
        }
    }
}

impl Origin {
    /// Reads an origin as given on the command line.
    ///
    /// Without a scheme, what begins with `HOST:PORT`, `:PORT` or an IP address is a discovery service, `k8s` asks
    /// for discovery through Kubernetes, and anything else is a file. A file whose name looks like an address can
    /// be given as `./NAME`.
    pub fn parse(text: &str) -> Result<Origin, OriginError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(OriginError::Empty);
        }
        if text == "k8s" {
            return Ok(Origin::Kubernetes);
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return match scheme.to_ascii_lowercase().as_str() {
                "file" if rest.is_empty() => Err(OriginError::Empty),
                "file" => Ok(Origin::File(PathBuf::from(rest))),
                "http" | "ws" => CdsServer::from_url(text, rest, false, 80).map(Origin::Cds),
                "https" | "wss" => CdsServer::from_url(text, rest, true, 443).map(Origin::Cds),
                _ => Err(OriginError::Scheme {
                    scheme: scheme.to_owned(),
                }),
            };
        }
        if looks_like_server(text) {
            return CdsServer::from_url(text, text, false, DEFAULT_CDS_PORT).map(Origin::Cds);
        }
        Ok(Origin::File(PathBuf::from(text)))
    }

    /// Replaces [`Origin::Kubernetes`] by the discovery service given by address, if one is.
    ///
    /// `address` is a host with or without a port, or a URL; `port` is used where it has none.
    pub fn with_cds_server(self, address: Option<&str>, port: u16) -> Result<Origin, OriginError> {
        match (self, address.map(str::trim)) {
            (Origin::Kubernetes, Some(address)) if !address.is_empty() => {
                CdsServer::parse(address, port).map(Origin::Cds)
            }
            (origin, _) => Ok(origin),
        }
    }
}

/// A bare text names a server when it starts with `[`, with `host:`, or is an IP address; a path does none of these.
fn looks_like_server(text: &str) -> bool {
    let authority = text.split('/').next().unwrap_or_default();
    if authority.is_empty() || authority == "." || authority == ".." {
        return false;
    }
    authority.starts_with('[') || authority.contains(':') || authority.parse::<IpAddr>().is_ok()
}

impl CdsServer {
    /// Reads a server address: `HOST`, `HOST:PORT`, or a URL.
    pub fn parse(address: &str, default_port: u16) -> Result<CdsServer, OriginError> {
        // An IPv6 address alone needs no brackets: there is no port to tell from it.
        if let Ok(address) = address.parse::<Ipv6Addr>() {
            return CdsServer::parse(&format!("[{address}]"), default_port);
        }
        match address.split_once("://") {
            None => CdsServer::from_url(address, address, false, default_port),
            Some(_) => match Origin::parse(address)? {
                Origin::Cds(server) => Ok(server),
                _ => Err(OriginError::NoHost {
                    origin: address.to_owned(),
                }),
            },
        }
    }

    /// `rest` is `origin` without its scheme.
    fn from_url(
        origin: &str,
        rest: &str,
        tls: bool,
        default_port: u16,
    ) -> Result<CdsServer, OriginError> {
        let named = || origin.to_owned();
        let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_end);
        if authority.contains('@') {
            return Err(OriginError::Credentials);
        }
        if path.contains(['?', '#']) {
            return Err(OriginError::Query { origin: named() });
        }
        let (host, port) = split_authority(authority).ok_or_else(|| {
            // Several colons without brackets can only be meant as an IPv6 address.
            match authority.matches(':').count() {
                2.. if !authority.starts_with('[') => OriginError::Unbracketed { origin: named() },
                _ => OriginError::Port { origin: named() },
            }
        })?;
        let host = match host {
            // `:13478` is the service on this host; a URL without any authority is a mistake.
            "" if port.is_some() => "localhost",
            "" => return Err(OriginError::NoHost { origin: named() }),
            host => host,
        };
        let server = CdsServer {
            tls,
            host: host.to_owned(),
            port: port.unwrap_or(default_port),
            prefix: path.trim_end_matches('/').to_owned(),
        };
        // Whatever is left that an HTTP request line could not carry.
        server
            .url()
            .parse::<Uri>()
            .map_err(|_| OriginError::Malformed { origin: named() })?;
        Ok(server)
    }

    /// `HOST:PORT`, the way it stands in the Host header.
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// The base URL, with the HTTP scheme.
    pub fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority(), self.prefix)
    }

    /// The request target for the configurations of a namespace, or for all.
    pub fn list_target(&self, namespace: Option<&str>, watch: bool) -> String {
        let mut target = format!("{}/api/v1/configs", self.prefix);
        if let Some(namespace) = namespace {
            target.push_str(&format!("/{}", encode(namespace)));
        }
        if watch {
            target.push_str("?watch=true");
        }
        target
    }

    /// The request target for the terms of use.
    pub fn license_target(&self) -> String {
        format!("{}/api/v1/license", self.prefix)
    }

    /// The request target for one configuration.
    pub fn config_target(&self, id: &ConfigId, node: Option<&str>, watch: bool) -> String {
        let mut target = format!(
            "{}/api/v1/configs/{}/{}",
            self.prefix,
            encode(&id.namespace),
            encode(&id.name)
        );
        let mut separator = '?';
        if let Some(node) = node.filter(|node| !node.is_empty()) {
            target.push_str(&format!("{separator}node={}", encode(node)));
            separator = '&';
        }
        if watch {
            target.push_str(&format!("{separator}watch=true"));
        }
        target
    }
}

/// Splits `host`, `host:port`, `[v6]` or `[v6]:port`.
fn split_authority(authority: &str) -> Option<(&str, Option<u16>)> {
    let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port != 0);
    if let Some(bracketed) = authority.strip_prefix('[') {
        let (host, after) = bracketed.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(text) => Some((host, Some(port(text)?))),
            None if after.is_empty() => Some((host, None)),
            None => None,
        };
    }
    match authority.split_once(':') {
        Some((host, text)) => Some((host, Some(port(text)?))),
        None => Some((authority, None)),
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File(path) => path.display().fmt(f),
            Origin::Cds(server) => f.write_str(&server.url()),
            Origin::Kubernetes => f.write_str("k8s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cds(text: &str) -> CdsServer {
        match Origin::parse(text) {
            Ok(Origin::Cds(server)) => server,
            other => panic!("`{text}` is not a server: {other:?}"),
        }
    }

    #[test]
    fn paths_bare_and_as_file_urls_are_files() {
        for (text, path) in [
            ("/etc/stunnerd/stunnerd.yaml", "/etc/stunnerd/stunnerd.yaml"),
            ("stunnerd.yaml", "stunnerd.yaml"),
            ("./a:1", "./a:1"),
            ("../a:1", "../a:1"),
            ("configs/a:1", "configs/a:1"),
            ("file:///etc/a b.yaml", "/etc/a b.yaml"),
            ("file://relative.yaml", "relative.yaml"),
            ("FILE:///x", "/x"),
        ] {
            assert_eq!(
                Origin::parse(text),
                Ok(Origin::File(PathBuf::from(path))),
                "{text}"
            );
        }
    }

    #[test]
    fn addresses_and_urls_are_discovery_services() {
        for (text, url) in [
            ("10.0.0.1:13478", "http://10.0.0.1:13478"),
            ("10.0.0.1", "http://10.0.0.1:13478"),
            (":13478", "http://localhost:13478"),
            ("cds.stunner.svc:80", "http://cds.stunner.svc:80"),
            ("[fd00::5]:13478", "http://[fd00::5]:13478"),
            ("http://10.0.0.1:13478", "http://10.0.0.1:13478"),
            ("http://10.0.0.1", "http://10.0.0.1:80"),
            ("http://[::1]:1/", "http://[::1]:1"),
            ("https://cds/some/prefix/", "https://cds:443/some/prefix"),
            ("ws://cds:1", "http://cds:1"),
            ("wss://cds:1", "https://cds:1"),
        ] {
            assert_eq!(cds(text).url(), url, "{text}");
        }
    }

    #[test]
    fn what_names_nothing_usable_is_refused_with_its_reason() {
        for (text, error) in [
            ("", "the config origin is empty"),
            ("file://", "the config origin is empty"),
            ("ftp://x", "unsupported scheme `ftp` in the config origin"),
            ("http://", "config origin `http://` names no host"),
            ("http:///a/b", "config origin `http:///a/b` names no host"),
            ("host:99999", "config origin `host:99999` has no valid port"),
            ("host:0", "config origin `host:0` has no valid port"),
            (
                "http://host:x/",
                "config origin `http://host:x/` has no valid port",
            ),
            (
                "fd00::5:13478:1",
                "the IPv6 address in config origin `fd00::5:13478:1` is not in brackets",
            ),
            (
                "http://me:secret@host:1",
                "the config origin holds a user name or password",
            ),
            (
                "http://host:1/?watch=true",
                "config origin `http://host:1/?watch=true` has a query or a fragment",
            ),
            (
                "http://a b:1",
                "config origin `http://a b:1` is not a valid URL",
            ),
        ] {
            let refused = Origin::parse(text).expect_err(text);
            assert_eq!(refused.to_string(), error);
            assert!(!refused.hint().is_empty());
        }
    }

    #[test]
    fn origin_k8s_takes_a_server_given_by_address() {
        let k8s = Origin::parse("k8s").expect("k8s parses");
        assert_eq!(k8s, Origin::Kubernetes);
        assert_eq!(
            k8s.clone().with_cds_server(None, 13478),
            Ok(Origin::Kubernetes)
        );
        for (address, url) in [
            ("10.0.0.1", "http://10.0.0.1:13480"),
            ("fd00::5", "http://[fd00::5]:13480"),
            ("10.0.0.1:1", "http://10.0.0.1:1"),
            ("cds.svc", "http://cds.svc:13480"),
            ("https://cds:2/p", "https://cds:2/p"),
        ] {
            match k8s.clone().with_cds_server(Some(address), 13480) {
                Ok(Origin::Cds(server)) => assert_eq!(server.url(), url),
                other => panic!("{address}: {other:?}"),
            }
        }
        let file = Origin::File("x".into());
        assert_eq!(file.clone().with_cds_server(Some("a:1"), 1), Ok(file));
    }

    #[test]
    fn request_targets_are_those_the_go_client_sends() {
        let id = ConfigId::parse("stunner/udp-gateway").expect("id");
        let server = cds("127.0.0.1:13478");
        assert_eq!(
            server.config_target(&id, None, false),
            "/api/v1/configs/stunner/udp-gateway"
        );
        assert_eq!(
            server.config_target(&id, Some("node-a"), false),
            "/api/v1/configs/stunner/udp-gateway?node=node-a"
        );
        assert_eq!(
            server.config_target(&id, Some("node-a"), true),
            "/api/v1/configs/stunner/udp-gateway?node=node-a&watch=true"
        );
        assert_eq!(
            server.config_target(&id, Some(""), true),
            "/api/v1/configs/stunner/udp-gateway?watch=true"
        );
        assert_eq!(server.list_target(None, false), "/api/v1/configs");
        assert_eq!(server.list_target(None, true), "/api/v1/configs?watch=true");
        assert_eq!(
            server.list_target(Some("stunner"), false),
            "/api/v1/configs/stunner"
        );
        assert_eq!(server.license_target(), "/api/v1/license");
        let odd = ConfigId::parse("a b/c?d").expect("id");
        assert_eq!(
            cds("http://h:1/x").config_target(&odd, Some("n&o=d e"), false),
            "/x/api/v1/configs/a%20b/c%3Fd?node=n%26o%3Dd%20e"
        );
    }
}
