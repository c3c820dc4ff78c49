//! Typed access to the keys of one mapping.

use stunner_document::{Entry, Node, Place, Value, nearest};

use super::{At, Reader, expand};

/// One mapping of the document and the keys the schema has for it.
pub struct Fields<'t> {
    entries: &'t [Entry],
    at: At,
}

/// A scalar after expansion.
pub struct Text {
    pub value: String,
    pub at: At,
    /// As written, before expansion.
    pub raw: String,
    pub quoted: bool,
    /// Names of the variables in it.
    pub variables: Vec<String>,
}

impl Text {
    /// How the value reads in a message: as written, since the content of a variable may be nobody's business.
    pub fn shown(&self) -> String {
        const LONGEST: usize = 80;
        let mut shown: String = self.raw.chars().take(LONGEST).collect();
        if shown.len() < self.raw.len() {
            shown.push('…');
        }
        if self.variables.is_empty() {
            format!("`{shown}`")
        } else {
            format!("`{shown}` (after expansion)")
        }
    }
}

/// A value that has been reported as wrong: what follows from it is not worth another message.
pub struct Refused;

/// Whether variables in a value are replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expansion {
    Allowed,
    Exempt,
}

/// Keys of older or other systems, with what to do instead.
const RETIRED: &[(&str, &str)] = &[
    (
        "min_relay_port",
        "it has no effect; use `admin.relay_port_range: LO-HI`",
    ),
    (
        "max_relay_port",
        "it has no effect; use `admin.relay_port_range: LO-HI`",
    ),
    (
        "min_port",
        "it has no effect; use `admin.relay_port_range: LO-HI`",
    ),
    (
        "max_port",
        "it has no effect; use `admin.relay_port_range: LO-HI`",
    ),
];

impl<'t> Fields<'t> {
    /// Views `node` as a mapping with the `known` keys; complains about unknown and repeated ones.
    pub fn of(reader: &mut Reader<'_>, node: &'t Node, at: At, known: &[&str]) -> Option<Self> {
        let entries = match &node.value {
            Value::Mapping(entries) => entries.as_slice(),
            other => {
                let hint = format!(
                    "write it as `key: value` lines; the keys are {}",
                    list(known)
                );
                reader.error(
                    &at,
                    format!("expected a mapping, found {}", other.shape()),
                    hint,
                );
                return None;
            }
        };
        let fields = Fields { entries, at };
        for (index, entry) in entries.iter().enumerate() {
            let at = fields.at_key(&entry.key, entry.key_place);
            let earlier = entries[..index]
                .iter()
                .find(|earlier| earlier.key.eq_ignore_ascii_case(&entry.key));
            if let Some(earlier) = earlier {
                let Place { line, column } = earlier.key_place;
                let hint = "keys do not depend on case; keep one of the two";
                reader.error(&at, format!("given twice, first at {line}:{column}"), hint);
            } else if !known
                .iter()
                .any(|known| known.eq_ignore_ascii_case(&entry.key))
            {
                let retired = RETIRED
                    .iter()
                    .find(|(key, _)| key.eq_ignore_ascii_case(&entry.key));
                let hint = match (retired, nearest(&entry.key, known)) {
                    (Some((_, advice)), _) => (*advice).to_owned(),
                    (None, Some(word)) => format!("did you mean `{word}`?"),
                    (None, None) => format!("the keys here are {}", list(known)),
                };
                reader.warn(&at, "unknown key, ignored", hint);
            }
        }
        Some(fields)
    }

    /// Where the mapping is.
    pub fn at(&self) -> &At {
        &self.at
    }

    /// Where a key is, or the mapping when the key is missing.
    pub fn place_of(&self, key: &str) -> At {
        match self.entry(key) {
            Some(entry) => self.at_key(key, entry.value.place),
            None => At {
                path: self.path_of(key),
                place: self.at.place,
            },
        }
    }

    /// A child that is neither missing nor null.
    pub fn node(&self, key: &str) -> Option<(&'t Node, At)> {
        let entry = self.entry(key)?;
        match entry.value.value {
            Value::Null => None,
            _ => Some((&entry.value, self.at_key(key, entry.value.place))),
        }
    }

    /// A child mapping.
    pub fn mapping(
        &self,
        reader: &mut Reader<'_>,
        key: &str,
        known: &[&str],
    ) -> Option<Fields<'t>> {
        let (node, at) = self.node(key)?;
        Fields::of(reader, node, at, known)
    }

    /// The items of a child list.
    pub fn list(&self, reader: &mut Reader<'_>, key: &str) -> Vec<(&'t Node, At)> {
        let Some((node, at)) = self.node(key) else {
            return Vec::new();
        };
        let Value::Sequence(items) = &node.value else {
            let found = node.value.shape();
            reader.error(
                &at,
                format!("expected a list, found {found}"),
                "write `[...]` or lines that begin with `- `",
            );
            return Vec::new();
        };
        let at = |(index, item): (usize, &'t Node)| {
            (
                item,
                At {
                    path: format!("{}[{index}]", at.path),
                    place: Some(item.place),
                },
            )
        };
        items.iter().enumerate().map(at).collect()
    }

    /// The items of a child list of strings.
    pub fn texts(&self, reader: &mut Reader<'_>, key: &str) -> Vec<Text> {
        let items = self.list(reader, key);
        items
            .into_iter()
            .filter_map(|(node, at)| scalar(reader, node, at, Expansion::Allowed))
            .collect()
    }

    /// A child string.
    pub fn text(&self, reader: &mut Reader<'_>, key: &str) -> Option<Text> {
        let (node, at) = self.node(key)?;
        scalar(reader, node, at, Expansion::Allowed)
    }

    /// A child string that is taken as it stands: a credential may contain `$`.
    pub fn secret(&self, reader: &mut Reader<'_>, key: &str) -> Option<Text> {
        let (node, at) = self.node(key)?;
        scalar(reader, node, at, Expansion::Exempt)
    }

    /// A child string, `default` when missing or empty.
    pub fn text_or(&self, reader: &mut Reader<'_>, key: &str, default: &str) -> String {
        let text = self
            .text(reader, key)
            .map(|text| text.value)
            .filter(|value| !value.is_empty());
        text.unwrap_or_else(|| default.to_owned())
    }

    /// A child whole number; an empty expansion counts as missing. `Err` when refused, which has been reported.
    pub fn integer(
        &self,
        reader: &mut Reader<'_>,
        key: &str,
    ) -> Result<Option<(i64, At)>, Refused> {
        if self.node(key).is_none() {
            return Ok(None);
        }
        let text = self.text(reader, key).ok_or(Refused)?;
        if text.value.is_empty() && !text.variables.is_empty() {
            return Ok(None);
        }
        let Ok(number) = text.value.trim().parse() else {
            let message = format!("expected a whole number, found {}", text.shown());
            reader.error(&text.at, message, "write digits only");
            return Err(Refused);
        };
        if text.quoted && text.variables.is_empty() {
            let hint = "remove the quotes; other programs refuse them";
            reader.warn(&text.at, "a number in quotes", hint);
        }
        Ok(Some((number, text.at)))
    }

    /// A child port number; 0 when missing.
    pub fn port(&self, reader: &mut Reader<'_>, key: &str) -> Result<u16, Refused> {
        let Some((number, at)) = self.integer(reader, key)? else {
            return Ok(0);
        };
        u16::try_from(number).map_err(|_| {
            let message = format!("port {number} is out of range");
            reader.error(&at, message, "ports are 1 to 65535");
            Refused
        })
    }

    fn entry(&self, key: &str) -> Option<&'t Entry> {
        self.entries
            .iter()
            .find(|entry| entry.key.eq_ignore_ascii_case(key))
    }

    fn at_key(&self, key: &str, place: Place) -> At {
        At {
            path: self.path_of(key),
            place: Some(place),
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.at.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.at.path)
        }
    }
}

fn scalar(reader: &mut Reader<'_>, node: &Node, at: At, expansion: Expansion) -> Option<Text> {
    let scalar = match &node.value {
        Value::Scalar(scalar) => scalar,
        other => {
            reader.error(
                &at,
                format!("expected a string, found {}", other.shape()),
                "write a single value",
            );
            return None;
        }
    };
    let raw = scalar.text.clone();
    if expansion == Expansion::Exempt || !reader.options.expand_env || !raw.contains('$') {
        return Some(Text {
            value: raw.clone(),
            at,
            raw,
            quoted: scalar.quoted,
            variables: Vec::new(),
        });
    }
    let expanded = expand::expand(&raw, reader.env);
    for name in &expanded.unset {
        let message = format!("environment variable `{name}` is not set and expands to nothing");
        reader.warn(
            &at,
            message,
            format!("set `{name}`, or write the value itself"),
        );
    }
    Some(Text {
        value: expanded.value,
        at,
        raw,
        quoted: scalar.quoted,
        variables: expanded.used,
    })
}

/// Words in backticks, separated by commas.
pub fn list(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
