//! From a Gateway's configuration to a server.

use serde_json::Value;
use stunner_client::{ServerTransport, ServerUri};
use stunner_config::{AuthMethod, Config, Listener, Protocol};
use thiserror::Error;

use super::{Login, Target};

/// Why a configuration leads to no server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GatewayError {
    #[error("the Gateway `{gateway}` has no listener `{listener}`")]
    NoListener {
        gateway: String,
        listener: String,
        /// The listeners that it has.
        others: Vec<String>,
    },
    #[error("the Gateway `{gateway}` has {count} listeners `{listener}`")]
    SeveralListeners {
        gateway: String,
        listener: String,
        count: usize,
    },
    #[error("the listener `{listener}` of the Gateway `{gateway}` has no public address and port")]
    NotPublic { gateway: String, listener: String },
    #[error(
        "the Gateway `{gateway}` has no authentication, so it answers STUN only and relays nothing"
    )]
    NoAuthentication { gateway: String },
    #[error("the configuration of the Gateway `{gateway}` cannot be used: {problem}")]
    Unreadable { gateway: String, problem: String },
}

impl GatewayError {
    pub fn hint(&self) -> String {
        match self {
            GatewayError::NoListener { others, .. } if others.is_empty() => {
                "the Gateway has no listener at all; `kubectl describe` it to see why".to_owned()
            }
            GatewayError::NoListener { others, .. } => {
                format!("it has `{}`", others.join("`, `"))
            }
            GatewayError::SeveralListeners { .. } => {
                "give each listener of the Gateway a name of its own".to_owned()
            }
            GatewayError::NotPublic { gateway, .. } => {
                let (namespace, name) = gateway.split_once('/').unwrap_or(("default", gateway));
                format!(
                    "its Service may still wait for a load balancer: see `kubectl -n {namespace} get gateway {name}`, \
                     or name the server by a `turn://` URI"
                )
            }
            GatewayError::NoAuthentication { .. } => {
                "set `authType` to `static` or `ephemeral` in the GatewayConfig".to_owned()
            }
            GatewayError::Unreadable { .. } => {
                "`stunnerctl config -o yaml` shows the whole configuration".to_owned()
            }
        }
    }
}

/// The server behind the one listener of this name; `gateway` is `NAMESPACE/NAME`.
pub fn target(config: &Config, gateway: &str, listener: &str) -> Result<Target, GatewayError> {
    let found = find(config, gateway, listener)?;
    if found.public_address.is_empty() || found.public_port == 0 {
        return Err(GatewayError::NotPublic {
            gateway: gateway.to_owned(),
            listener: listener.to_owned(),
        });
    }
    let login = match &config.auth.method {
        AuthMethod::Static { username, password } => Login::Password {
            username: username.clone(),
            password: password.as_str().into(),
        },
        AuthMethod::Ephemeral { secret } => Login::Ephemeral {
            secret: secret.as_str().into(),
            user: None,
        },
        AuthMethod::None => {
            return Err(GatewayError::NoAuthentication {
                gateway: gateway.to_owned(),
            });
        }
    };
    let host = found.public_address.trim_matches(['[', ']']);
    Ok(Target {
        uri: ServerUri {
            host: host.to_owned(),
            port: found.public_port,
            transport: transport(found.protocol),
            credentials: None,
        },
        login,
    })
}

/// A configuration with two listeners of one name is refused as a whole; this says so in the words of the question.
pub fn only_one(config: &Value, gateway: &str, listener: &str) -> Result<(), GatewayError> {
    let full = format!("{gateway}/{listener}");
    let listeners = config["listeners"].as_array().into_iter().flatten();
    let names = listeners.filter_map(|found| found["name"].as_str());
    let count = names
        .filter(|name| *name == listener || *name == full)
        .count();
    match count {
        0 | 1 => Ok(()),
        _ => Err(GatewayError::SeveralListeners {
            gateway: gateway.to_owned(),
            listener: listener.to_owned(),
            count,
        }),
    }
}

/// Operators name listeners `NAMESPACE/GATEWAY/LISTENER`, files written by hand as they like.
fn find<'a>(config: &'a Config, gateway: &str, name: &str) -> Result<&'a Listener, GatewayError> {
    let short = |full: &'a str| {
        let rest = full.strip_prefix(gateway);
        rest.and_then(|rest| rest.strip_prefix('/')).unwrap_or(full)
    };
    let listeners = config.listeners.iter();
    let fitting: Vec<&Listener> = listeners
        .filter(|found| short(&found.name) == name)
        .collect();
    match fitting[..] {
        [found] => Ok(found),
        [] => Err(GatewayError::NoListener {
            gateway: gateway.to_owned(),
            listener: name.to_owned(),
            others: config
                .listeners
                .iter()
                .map(|other| short(&other.name).to_owned())
                .collect(),
        }),
        [..] => Err(GatewayError::SeveralListeners {
            gateway: gateway.to_owned(),
            listener: name.to_owned(),
            count: fitting.len(),
        }),
    }
}

fn transport(protocol: Protocol) -> ServerTransport {
    match protocol {
        Protocol::TurnUdp => ServerTransport::Udp,
        Protocol::TurnTcp => ServerTransport::Tcp,
        Protocol::TurnTls => ServerTransport::Tls,
        Protocol::TurnDtls => ServerTransport::Dtls,
    }
}

#[cfg(test)]
mod tests {
    use stunner_config::{ParseOptions, parse_with};

    use super::*;

    const CONFIG: &str = r#"
version: v1
admin: { name: stunner/gw }
auth: { type: ephemeral, realm: r, credentials: { secret: pa55w0rd } }
listeners:
- { name: stunner/gw/udp, protocol: TURN-UDP, public_address: 198.51.100.10, public_port: 3478, address: $STUNNER_ADDR, port: 3478 }
- { name: stunner/gw/dtls, protocol: TURN-DTLS, public_address: "2001:db8::11", public_port: 443, address: __node_address_placeholder, port: 443 }
- { name: stunner/gw/waiting, protocol: TURN-TCP, address: $STUNNER_ADDR, port: 3479 }
- { name: twice, protocol: TURN-UDP, public_address: 198.51.100.10, public_port: 1, address: $STUNNER_ADDR, port: 1 }
- { name: stunner/gw/twice, protocol: TURN-UDP, public_address: 198.51.100.10, public_port: 2, address: $STUNNER_ADDR, port: 2 }
"#;

    fn config(text: &str) -> Config {
        let options = ParseOptions {
            expand_env: false,
            judge_listeners: false,
        };
        parse_with(text, &|_| None, options)
            .expect("a config")
            .config
    }

    #[test]
    fn a_listener_is_found_by_its_short_name_and_by_its_full_one() {
        let config = config(CONFIG);
        for name in ["udp", "dtls"] {
            assert!(target(&config, "stunner/gw", name).is_ok(), "{name}");
        }
        let found = target(&config, "stunner/gw", "dtls").expect("a server");
        assert_eq!(
            found.uri.to_string(),
            "turns:[2001:db8::11]:443?transport=udp"
        );
        assert!(matches!(found.login, Login::Ephemeral { user: None, .. }));
    }

    #[test]
    fn what_leads_nowhere_says_why_and_what_to_do() {
        let fails = |text: &str, name: &str| {
            let error = target(&config(text), "stunner/gw", name).expect_err(name);
            format!("{error}; {}", error.hint())
        };
        assert_eq!(
            fails(CONFIG, "tls"),
            "the Gateway `stunner/gw` has no listener `tls`; it has `udp`, `dtls`, `waiting`, `twice`, `twice`"
        );
        assert!(
            fails(CONFIG, "twice")
                .starts_with("the Gateway `stunner/gw` has 2 listeners `twice`; ")
        );
        assert!(fails(CONFIG, "waiting").contains("kubectl -n stunner get gateway gw"));
        let open = CONFIG.replace(
            "ephemeral, realm: r, credentials: { secret: pa55w0rd }",
            "none",
        );
        assert!(fails(&open, "udp").contains("answers STUN only"));
    }
}
