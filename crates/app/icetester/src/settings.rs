//! What the environment and `/config` say.

use std::fmt;

use serde_json::{Value, json};
use stunner_client::ServerUri;
use stunner_peer::{IceServer, IceServersError, TransportPolicy, ice_servers};

/// How the echo peer is reached, and by whom.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    pub ice_servers: Vec<IceServer>,
    pub policy: TransportPolicy,
    /// Empty when nobody has to show one.
    pub bearer_token: String,
    /// The path for offers, with a leading slash.
    pub whip_endpoint: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            ice_servers: Vec::new(),
            policy: TransportPolicy::All,
            bearer_token: String::new(),
            whip_endpoint: "/whip".to_owned(),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("ice_servers", &self.ice_servers)
            .field("policy", &self.policy)
            .field("whip_endpoint", &self.whip_endpoint)
            .finish_non_exhaustive()
    }
}

/// What is wrong with a setting. Never shows a list of ICE servers or a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("`{name}` is no list of ICE servers: {source}")]
    IceServers {
        name: &'static str,
        source: IceServersError,
    },
    #[error("`{name}` has a bad URL: {why}")]
    Url { name: &'static str, why: String },
    #[error("`{name}` is `{value}`, which is no policy")]
    Policy { name: &'static str, value: String },
    #[error("`{name}` is `{value}`, which is no path for offers")]
    Endpoint { name: &'static str, value: String },
    #[error("the body is no JSON object")]
    NoObject,
    #[error("the body has `{0}`, which is no setting")]
    Unknown(String),
    #[error("`{0}` is no text")]
    NoText(&'static str),
}

impl SettingsError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::IceServers { .. } => "give JSON as browsers take it, such as \
                 [{\"urls\":[\"turn:192.0.2.1:3478?transport=udp\"],\"username\":\"U\",\"credential\":\"C\"}]",
            Self::Url { .. } => {
                "write it as turn:HOST:PORT?transport=udp or tcp, or with turns: for DTLS and TLS"
            }
            Self::Policy { .. } => "give `all` or `relay`",
            Self::Endpoint { .. } => {
                "give a path with a leading slash, such as `/whip`, other than `/` and `/config`, without query and \
                 braces; it stays as it is while the program runs"
            }
            Self::NoObject | Self::Unknown(_) | Self::NoText(_) => {
                "send an object with any of ICEServers, ICETransportPolicy and BearerToken"
            }
        }
        .to_owned()
    }
}

impl Settings {
    /// What the environment says; a variable that is empty counts as unset.
    pub fn from_env(env: &dyn Fn(&str) -> Option<String>) -> Result<Settings, SettingsError> {
        let mut settings = Settings::default();
        if let Some(text) = env("ICE_SERVERS") {
            settings.ice_servers = servers("ICE_SERVERS", &text)?;
        }
        if let Some(text) = env("ICE_TRANSPORT_POLICY") {
            settings.policy = policy("ICE_TRANSPORT_POLICY", &text)?;
        }
        if let Some(token) = env("BEARER_TOKEN") {
            settings.bearer_token = token;
        }
        if let Some(path) = env("WHIP_ENDPOINT") {
            settings.whip_endpoint = endpoint(path)?;
        }
        Ok(settings)
    }

    /// What `GET /config` answers.
    pub fn to_json(&self) -> Value {
        let servers = self.ice_servers.iter().map(|server| {
            json!({
                "credential": server.credential,
                "credentialType": "password",
                "urls": server.urls,
                "username": server.username,
            })
        });
        json!({
            "ICEServers": servers.collect::<Vec<_>>(),
            "ICETransportPolicy": self.policy.as_str(),
            "BearerToken": self.bearer_token,
            "WHIPEndpoint": self.whip_endpoint,
        })
    }

    /// The settings with what `POST /config` says; what it leaves out stays.
    pub fn changed(&self, body: &Value) -> Result<Settings, SettingsError> {
        let members = body.as_object().ok_or(SettingsError::NoObject)?;
        let mut settings = self.clone();
        for (name, value) in members {
            match name.as_str() {
                "ICEServers" => {
                    settings.ice_servers = servers("ICEServers", &value.to_string())?;
                }
                "ICETransportPolicy" => {
                    settings.policy =
                        policy("ICETransportPolicy", text("ICETransportPolicy", value)?)?;
                }
                "BearerToken" => settings.bearer_token = text("BearerToken", value)?.to_owned(),
                "WHIPEndpoint" => {
                    let path = text("WHIPEndpoint", value)?;
                    if !path.is_empty() && path != self.whip_endpoint {
                        return Err(SettingsError::Endpoint {
                            name: "WHIPEndpoint",
                            value: path.to_owned(),
                        });
                    }
                }
                other => return Err(SettingsError::Unknown(other.to_owned())),
            }
        }
        Ok(settings)
    }
}

/// A URL that nothing can be sent to is told now and not with the first call.
fn servers(name: &'static str, text: &str) -> Result<Vec<IceServer>, SettingsError> {
    let servers = ice_servers(text).map_err(|source| SettingsError::IceServers { name, source })?;
    for url in servers.iter().flat_map(|server| &server.urls) {
        if url.starts_with("stun:") || url.starts_with("stuns:") {
            continue;
        }
        // The error names the part that is wrong, never a password.
        url.parse::<ServerUri>()
            .map_err(|error| SettingsError::Url {
                name,
                why: error.to_string(),
            })?;
    }
    Ok(servers)
}

fn text<'a>(name: &'static str, value: &'a Value) -> Result<&'a str, SettingsError> {
    value.as_str().ok_or(SettingsError::NoText(name))
}

fn policy(name: &'static str, value: &str) -> Result<TransportPolicy, SettingsError> {
    // The standard knows no other; an empty one is the default.
    match value {
        "" => Ok(TransportPolicy::All),
        value => value.parse().map_err(|()| SettingsError::Policy {
            name,
            value: value.to_owned(),
        }),
    }
}

fn endpoint(path: String) -> Result<String, SettingsError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
    let is_path = path.starts_with('/') && path.chars().all(is_plain);
    let trimmed = path.trim_end_matches('/');
    match is_path && !trimmed.is_empty() && !trimmed.starts_with("//") && trimmed != "/config" {
        true => Ok(trimmed.to_owned()),
        false => Err(SettingsError::Endpoint {
            name: "WHIP_ENDPOINT",
            value: path,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Settings, SettingsError> {
        Settings::from_env(&|wanted| (wanted == name).then(|| value.to_owned()))
    }

    #[test]
    fn bad_variables_are_told_without_their_secrets() {
        let told = |name, value| {
            let error = read(name, value).expect_err("refused");
            let report = stunner_flags::report(&error, Some(&error.hint()));
            assert!(!report.contains("hidden"), "{report}");
            error.to_string()
        };
        assert!(told("ICE_SERVERS", "nonsense hidden").contains("no list of ICE servers"));
        assert!(told("ICE_SERVERS", r#"{"credential":"hidden"}"#).contains("ICE_SERVERS"));
        let url = r#"[{"urls":["turn:192.0.2.1:notaport"],"credential":"hidden"}]"#;
        assert!(told("ICE_SERVERS", url).contains("bad URL"));
        assert!(told("ICE_TRANSPORT_POLICY", "public").contains("`public`"));
        for path in ["noslash", "/", "/config", "/config/", "/a?b", "/{id}", "//"] {
            assert!(told("WHIP_ENDPOINT", path).contains(path), "{path}");
        }
        assert_eq!(
            read("WHIP_ENDPOINT", "/a/b/")
                .expect("a path")
                .whip_endpoint,
            "/a/b"
        );
    }

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let settings = Settings {
            bearer_token: "hidden".to_owned(),
            ..Settings::default()
        };
        let body = json!({ "ICEServers": [{ "urls": "turn:h", "username": "u", "credential": "c" }],
            "ICETransportPolicy": "relay", "WHIPEndpoint": "/whip" });
        let changed = settings.changed(&body).expect("a change");
        assert_eq!(changed.bearer_token, "hidden");
        assert_eq!(
            changed.to_json().to_string(),
            r#"{"ICEServers":[{"credential":"c","credentialType":"password","urls":["turn:h"],"username":"u"}],"ICETransportPolicy":"relay","BearerToken":"hidden","WHIPEndpoint":"/whip"}"#
        );
        for body in [
            json!([]),
            json!({ "nope": 1 }),
            json!({ "WHIPEndpoint": "/else" }),
            json!({ "BearerToken": 1 }),
            json!({ "ICEServers": [1] }),
            json!({ "ICETransportPolicy": "public" }),
        ] {
            assert!(settings.changed(&body).is_err(), "{body}");
        }
        assert!(!format!("{settings:?}").contains("hidden"));
    }
}
