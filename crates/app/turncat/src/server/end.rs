//! The server as it is written on the command line.

use std::str::FromStr;

use stunner_client::{ServerUri, UriError};
use thiserror::Error;

/// `turn:` and `turns:` URIs, or a listener of a Gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEnd {
    Uri(ServerUri),
    Gateway(GatewayListener),
}

/// `k8s://NAMESPACE/GATEWAY:LISTENER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayListener {
    /// Left out in `k8s:///GATEWAY:LISTENER`.
    pub namespace: Option<String>,
    pub gateway: String,
    pub listener: String,
}

/// Texts are not repeated where they may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ServerEndError {
    #[error("the server is no URI")]
    Form,
    #[error("unknown protocol `{0}` of the server")]
    Protocol(String),
    #[error("the server is no TURN URI: {0}")]
    Uri(UriError),
    #[error("`{0}` names no listener of a Gateway")]
    Gateway(String),
}

impl ServerEndError {
    pub fn hint(&self) -> &'static str {
        match self {
            ServerEndError::Gateway(_) => {
                "write `k8s://NAMESPACE/GATEWAY:LISTENER`, or `k8s:///GATEWAY:LISTENER` with `--namespace`"
            }
            _ => {
                "write `turn://USER:PASSWORD@HOST:PORT?transport=udp|tcp|tls|dtls`, or \
                 `k8s://NAMESPACE/GATEWAY:LISTENER` for a Gateway in a cluster"
            }
        }
    }
}

impl FromStr for ServerEnd {
    type Err = ServerEndError;

    fn from_str(text: &str) -> Result<ServerEnd, ServerEndError> {
        let text = text.trim();
        let scheme = text.split(':').next().unwrap_or_default();
        let named = scheme.len() < text.len()
            && !scheme.is_empty()
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        if !named {
            return Err(ServerEndError::Form);
        }
        let rest = &text[scheme.len() + 1..];
        match scheme.to_ascii_lowercase().as_str() {
            "turn" | "turns" => text
                .parse()
                .map(ServerEnd::Uri)
                .map_err(ServerEndError::Uri),
            "k8s" => gateway_listener(rest)
                .map(ServerEnd::Gateway)
                .ok_or_else(|| ServerEndError::Gateway(text.to_owned())),
            // `user:password@host` has no scheme, and `localhost:3478` neither.
            _ if rest.starts_with("//") => Err(ServerEndError::Protocol(scheme.to_owned())),
            _ => Err(ServerEndError::Form),
        }
    }
}

/// Names of Kubernetes have no `:` and no `/`.
fn gateway_listener(text: &str) -> Option<GatewayListener> {
    let (namespace, rest) = text.strip_prefix("//")?.split_once('/')?;
    let (gateway, listener) = rest.split_once(':')?;
    let name = |text: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        !text.is_empty() && text.bytes().all(known)
    };
    let fits = name(gateway) && name(listener) && (namespace.is_empty() || name(namespace));
    fits.then(|| GatewayListener {
        namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
        gateway: gateway.to_owned(),
        listener: listener.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use stunner_client::ServerTransport;

    use super::*;

    fn uri(text: &str) -> ServerUri {
        match text.parse() {
            Ok(ServerEnd::Uri(uri)) => uri,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn both_spellings_and_every_transport_are_read() {
        for (text, transport, host, port) in [
            (
                "turn://u:p@127.0.0.1:3479?transport=udp",
                ServerTransport::Udp,
                "127.0.0.1",
                3479,
            ),
            (
                "turn://u:p@127.0.0.1",
                ServerTransport::Udp,
                "127.0.0.1",
                3478,
            ),
            (
                "turn:turn.example?transport=tcp",
                ServerTransport::Tcp,
                "turn.example",
                3478,
            ),
            (
                "turn://u:p@[::1]:5000?transport=tls",
                ServerTransport::Tls,
                "::1",
                5000,
            ),
            (
                "turns://u:p@turn.example",
                ServerTransport::Tls,
                "turn.example",
                443,
            ),
            (
                "turns:turn.example?transport=udp",
                ServerTransport::Dtls,
                "turn.example",
                5349,
            ),
            (
                "TURN://u:p@turn.example?transport=dtls",
                ServerTransport::Dtls,
                "turn.example",
                443,
            ),
        ] {
            let uri = uri(text);
            assert_eq!(
                (uri.transport, uri.host.as_str(), uri.port),
                (transport, host, port),
                "{text}"
            );
        }
    }

    #[test]
    fn an_ephemeral_name_is_written_with_an_encoded_colon() {
        let uri = uri("turn://4600%3Aann:pa%40ss@127.0.0.1");
        let credentials = Some(("4600:ann".to_owned(), "pa@ss".to_owned()));
        assert_eq!(uri.credentials, credentials);
    }

    #[test]
    fn listeners_of_gateways_are_read() {
        let read = |text: &str| match text.parse() {
            Ok(ServerEnd::Gateway(name)) => name,
            other => panic!("{text}: {other:?}"),
        };
        let name = read("k8s://stunner/udp-gateway:udp-listener");
        assert_eq!(name.namespace.as_deref(), Some("stunner"));
        assert_eq!(
            (name.gateway.as_str(), name.listener.as_str()),
            ("udp-gateway", "udp-listener")
        );
        assert_eq!(read("k8s:///gw:l").namespace, None);
    }

    #[test]
    fn errors_never_show_a_password() {
        for text in [
            "nonsense",
            "user:pa55w0rd@127.0.0.1:3478",
            "http://user:pa55w0rd@127.0.0.1",
            "turn://user:pa55w0rd",
            "turn://user:pa55w0rd/x",
            "turn://user:top?pa55w0rd",
            "turn://user:top@pa55w0rd !",
            "turn://user:pa55 w0rd:pa55w0rd",
            "turn:pa55w0rd!@",
            "turn://user:pa55w0rd@127.0.0.1?transport=sctp",
            "turn://user:pa55w0rd%zz@127.0.0.1",
        ] {
            let error = text.parse::<ServerEnd>().expect_err(text);
            let shown = format!("{error} {}", error.hint());
            assert!(!shown.contains("pa55w0rd"), "{shown}");
        }
        for text in [
            "k8s://stunner",
            "k8s://ns/gw",
            "k8s:///:l",
            "k8s:ns/gw:l",
            "k8s://ns/gw/x:l",
            "k8s://ns/g w:l",
        ] {
            let error = text.parse::<ServerEnd>().expect_err(text);
            assert!(matches!(error, ServerEndError::Gateway(_)), "{text}");
        }
    }
}
