//! A configuration as the discovery service tells it.

use std::fmt;

use serde_json::Value;
use stunner_cds::ConfigId;
use stunner_config::{Config, ParseOptions, Problem, parse_with};

/// A configuration as the discovery service tells it: whole, with its secrets, which `Debug` does not show.
#[derive(Clone)]
pub struct Discovered {
    /// `namespace/name` of the Gateway, as the config says it in `admin.name`.
    pub id: String,
    /// JSON, as it came.
    pub text: String,
    /// The same, read as JSON.
    pub value: Value,
    /// The same, read as a configuration, or what stands against it. Certificates are not judged, and `$NAME` stays.
    pub config: Result<Config, Vec<Problem>>,
}

impl fmt::Debug for Discovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovered")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The same JSON, however it is written.
impl PartialEq for Discovered {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Discovered {
    /// Reads one configuration.
    pub fn read(text: String) -> Result<Discovered, String> {
        let value: Value =
            serde_json::from_str(&text).map_err(|_| "a config is not JSON".to_owned())?;
        if !value.is_object() {
            return Err("a config is not a JSON object".to_owned());
        }
        let id = value["admin"]["name"].as_str().unwrap_or_default();
        let parse = ParseOptions {
            expand_env: false,
            judge_listeners: false,
        };
        let config = parse_with(&text, &|_| None, parse).map(|parsed| parsed.config);
        Ok(Discovered {
            id: id.to_owned(),
            text,
            value,
            config,
        })
    }

    /// Reads a list, `{"version": …, "items": […]}`, and sorts it by id.
    pub(super) fn read_list(text: &str) -> Result<Vec<Discovered>, String> {
        let list: Value =
            serde_json::from_str(text).map_err(|_| "the list of configs is not JSON".to_owned())?;
        let items = match &list["items"] {
            // As Go writes a list without elements.
            Value::Null if list.is_object() => &[],
            Value::Array(items) => items.as_slice(),
            _ => return Err("the list of configs has no items".to_owned()),
        };
        let read = items.iter().map(|item| Discovered::read(item.to_string()));
        let mut found: Vec<Discovered> = read.collect::<Result<_, _>>()?;
        found.sort_by(|a, b| sort_key(&a.id).cmp(&sort_key(&b.id)));
        Ok(found)
    }

    /// The id as namespace and name, where it is one.
    pub fn config_id(&self) -> Option<ConfigId> {
        ConfigId::parse(&self.id).ok()
    }

    /// Whether this says that the configuration is gone.
    pub fn is_deletion(&self) -> bool {
        let config = self.config.as_ref();
        config.is_ok_and(|config| config.is_deletion(&self.id))
    }
}

/// By namespace, then by name: `/` sorts after `-`.
fn sort_key(id: &str) -> (&str, &str) {
    id.split_once('/').unwrap_or(("", id))
}
