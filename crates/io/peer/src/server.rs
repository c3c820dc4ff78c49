//! Lists of ICE servers, as browsers take them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

/// One entry of `iceServers`.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct IceServer {
    #[serde(deserialize_with = "one_or_many")]
    pub urls: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub username: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub credential: String,
}

impl fmt::Debug for IceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A URL may have credentials in it, before an `@`.
        let hosts = self.urls.iter().map(|url| url.rsplit('@').next());
        f.debug_struct("IceServer")
            .field("hosts", &hosts.flatten().collect::<Vec<_>>())
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// `urls` may be a string, as the standard says.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Urls {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Urls::deserialize(deserializer)? {
        Urls::One(url) => vec![url],
        Urls::Many(urls) => urls,
    })
}

/// Why a text is no list of ICE servers. Says where, never what: the text holds credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IceServersError {
    #[error("no JSON at line {line}, column {column}")]
    Syntax { line: usize, column: usize },
    #[error("no list of objects with `urls`, `username` and `credential`")]
    Shape,
}

/// Reads a list of ICE servers: a JSON array, or an object that has it as `iceServers`, as the auth service answers.
pub fn ice_servers(text: &str) -> Result<Vec<IceServer>, IceServersError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Known {
        List(Vec<IceServer>),
        Config {
            #[serde(rename = "iceServers")]
            ice_servers: Vec<IceServer>,
        },
        Null(()),
    }
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| IceServersError::Syntax {
            line: error.line(),
            column: error.column(),
        })?;
    match serde_json::from_value(value) {
        Ok(
            Known::List(servers)
            | Known::Config {
                ice_servers: servers,
            },
        ) => Ok(servers),
        Ok(Known::Null(())) => Ok(Vec::new()),
        Err(_) => Err(IceServersError::Shape),
    }
}

/// Which candidates a peer may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransportPolicy {
    #[default]
    All,
    /// Only those on TURN servers.
    Relay,
}

impl TransportPolicy {
    pub fn as_str(self) -> &'static str {
        match self {
            TransportPolicy::All => "all",
            TransportPolicy::Relay => "relay",
        }
    }
}

impl fmt::Display for TransportPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TransportPolicy {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "all" => Ok(TransportPolicy::All),
            "relay" => Ok(TransportPolicy::Relay),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_all_forms_that_people_have() {
        let one = r#"[{"urls":"turn:127.0.0.1:3478?transport=udp","username":"u","credential":"c","credentialType":"password"}]"#;
        let servers = ice_servers(one).expect("a list");
        assert_eq!(servers[0].urls, ["turn:127.0.0.1:3478?transport=udp"]);
        assert_eq!(servers[0].username, "u");
        let answer =
            r#"{"iceServers":[{"urls":["stun:a","turn:b"]}],"iceTransportPolicy":"relay"}"#;
        assert_eq!(
            ice_servers(answer).expect("a list")[0].urls,
            ["stun:a", "turn:b"]
        );
        assert_eq!(ice_servers("[]"), Ok(Vec::new()));
        assert_eq!(ice_servers("null"), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_list_is_refused_without_its_content() {
        let error = ice_servers(r#"[{"credential":"hidden"}"#).expect_err("refused");
        assert_eq!(error.to_string(), "no JSON at line 1, column 24");
        for text in [
            r#"[{"credential":"hidden"}]"#,
            "17",
            r#"{"urls":"a"}"#,
            r#"["a"]"#,
        ] {
            assert_eq!(ice_servers(text), Err(IceServersError::Shape), "{text}");
        }
        let debug = format!(
            "{:?}",
            ice_servers(r#"[{"urls":[],"credential":"hidden"}]"#)
        );
        assert!(!debug.contains("hidden"), "{debug}");
    }
}
