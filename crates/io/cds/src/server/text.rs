//! Configurations as text, byte for byte as Go writes them.
//!
//! Clients compare what they get with what they had, and so do we: the same configuration must always be the same
//! bytes. Go's encoder writes no spaces and keeps JSON safe to embed in HTML.

use std::fmt;
use std::io;

use serde::Serialize;
use serde_json::{Value, json};
use stunner_config::{Config, defaults};
use tokio_tungstenite::tungstenite::{Bytes, Utf8Bytes};

use crate::id::ConfigId;

/// A listener address that stands for the address of the node a dataplane runs on.
pub const NODE_ADDRESS_PLACEHOLDER: &str = "__node_address_placeholder";
/// What takes its place where the node is unknown or has no address: the dataplane's own address.
pub const UNKNOWN_NODE_ADDRESS: &str = "$STUNNER_ADDR";

/// A configuration as it goes to clients: JSON text **with secrets in it**. Cloning it is cheap.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigText {
    text: Utf8Bytes,
    /// Some listener has the placeholder for its address.
    pub(super) depends_on_node: bool,
}

impl ConfigText {
    pub fn as_str(&self) -> &str {
        self.text.as_str()
    }

    pub(super) fn frame(&self) -> Utf8Bytes {
        self.text.clone()
    }

    /// The body of an answer, which ends in a newline where a frame does not.
    pub(super) fn body(&self) -> Bytes {
        [self.text.as_bytes(), b"\n"].concat().into()
    }

    /// This configuration for a dataplane on a node with that address.
    pub(super) fn on_node(&self, address: Option<&str>) -> ConfigText {
        if !self.depends_on_node {
            return self.clone();
        }
        let Ok(mut config) = serde_json::from_str::<Value>(self.as_str()) else {
            return self.clone();
        };
        let address = address.unwrap_or(UNKNOWN_NODE_ADDRESS);
        for place in placeholders(&mut config) {
            *place = address.into();
        }
        ConfigText::from(&config)
    }

    /// The frame that tells of a deletion. The protocol has no word for it: it is a configuration with the id and
    /// otherwise nothing but credentials that nobody uses.
    pub(super) fn deletion(id: &ConfigId) -> ConfigText {
        ConfigText::from(&json!({
            "version": "v1",
            "admin": { "name": id.to_string() },
            "auth": {
                "type": "static",
                "realm": defaults::REALM,
                "credentials": {
                    "password": defaults::DUMMY_PASSWORD,
                    "username": defaults::DUMMY_USERNAME,
                },
            },
        }))
    }
}

impl From<&Config> for ConfigText {
    fn from(config: &Config) -> Self {
        ConfigText::from(&config.to_json())
    }
}

impl From<&Value> for ConfigText {
    fn from(config: &Value) -> Self {
        let text = go_json(config);
        ConfigText {
            // A plain search will do: at worst it finds the word elsewhere, and patching then changes nothing.
            depends_on_node: text.contains(NODE_ADDRESS_PLACEHOLDER),
            text: text.into(),
        }
    }
}

impl fmt::Debug for ConfigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfigText({} bytes)", self.text.len())
    }
}

fn placeholders(config: &mut Value) -> impl Iterator<Item = &mut Value> {
    let listeners = config.get_mut("listeners").and_then(Value::as_array_mut);
    listeners
        .into_iter()
        .flatten()
        .filter_map(|listener| listener.get_mut("address"))
        .filter(|address| address.as_str() == Some(NODE_ADDRESS_PLACEHOLDER))
}

/// The body of an answer that holds several configurations.
pub(super) fn list(configs: &[ConfigText]) -> Bytes {
    let length: usize = configs.iter().map(|config| config.text.len() + 1).sum();
    let mut body = Vec::with_capacity(length + 32);
    body.extend_from_slice(br#"{"items":["#);
    for (index, config) in configs.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.extend_from_slice(config.text.as_bytes());
    }
    body.extend_from_slice(b"],\"version\":\"v1\"}\n");
    body.into()
}

/// JSON as Go's encoder writes it.
pub(super) fn go_json(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, GoFormatter);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(bytes).unwrap_or_default(),
        // Neither values nor our own types can fail to serialise into memory.
        Err(_) => String::new(),
    }
}

/// Compact, and with everything escaped that means something to a browser.
struct GoFormatter;

impl serde_json::ser::Formatter for GoFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let special = ['<', '>', '&', '\u{2028}', '\u{2029}'];
        let mut written = 0;
        for (at, found) in fragment.match_indices(special) {
            writer.write_all(&fragment.as_bytes()[written..at])?;
            let code = found.chars().next().map_or(0, u32::from);
            write!(writer, "\\u{code:04x}")?;
            written = at + found.len();
        }
        writer.write_all(&fragment.as_bytes()[written..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_compact_keeps_its_order_and_is_safe_in_html() {
        let value = json!({ "z": "10.0.0.1:<1-2>&\u{2028}\u{2029}é\"\\\n", "a": [1, true, null] });
        assert_eq!(
            go_json(&value),
            r#"{"z":"10.0.0.1:\u003c1-2\u003e\u0026\u2028\u2029é\"\\\n","a":[1,true,null]}"#
        );
        let back: Value = serde_json::from_str(&go_json(&value)).expect("JSON");
        assert_eq!(back, value);
    }

    #[test]
    fn only_an_address_that_is_the_placeholder_is_replaced() {
        let text = ConfigText::from(&json!({
            "admin": { "name": NODE_ADDRESS_PLACEHOLDER },
            "listeners": [
                { "address": NODE_ADDRESS_PLACEHOLDER, "port": 1 },
                { "address": "10.0.0.1", "port": 2 },
                { "port": 3 },
            ],
        }));
        let patched: Value =
            serde_json::from_str(text.on_node(Some("192.0.2.1")).as_str()).expect("JSON");
        assert_eq!(patched["admin"]["name"], NODE_ADDRESS_PLACEHOLDER);
        assert_eq!(patched["listeners"][0]["address"], "192.0.2.1");
        assert_eq!(patched["listeners"][1]["address"], "10.0.0.1");
        let unknown = text.on_node(None);
        assert!(unknown.as_str().contains(r#""address":"$STUNNER_ADDR""#));
    }

    #[test]
    fn debug_output_shows_no_secret() {
        let text = ConfigText::from(&json!({ "auth": { "credentials": { "secret": "hush" } } }));
        assert!(!format!("{text:?}").contains("hush"));
    }

    #[test]
    fn our_own_reader_takes_the_frame_for_a_deletion() {
        let id = ConfigId::parse("stunner/udp-gateway").expect("id");
        let text = ConfigText::deletion(&id);
        let parsed = stunner_config::parse(text.as_str(), &|_| None).expect("a config");
        assert!(parsed.config.is_deletion("stunner/udp-gateway"));
    }
}
