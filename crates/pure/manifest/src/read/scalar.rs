//! What scalars mean.

use serde_json::{Number, Value as Json};
use stunner_document::{Node, Scalar, Value};

/// What a scalar is by itself (YAML 1.2 §10.3, core schema).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text,
}

impl Meaning {
    pub(super) fn of(scalar: &Scalar) -> Self {
        if scalar.quoted {
            return Meaning::Text;
        }
        match scalar.text.as_str() {
            "true" | "True" | "TRUE" => Meaning::Boolean(true),
            "false" | "False" | "FALSE" => Meaning::Boolean(false),
            text => number(text).unwrap_or(Meaning::Text),
        }
    }

    pub(super) fn noun(self) -> &'static str {
        match self {
            Meaning::Boolean(_) => "boolean",
            Meaning::Integer(_) => "integer",
            Meaning::Float(_) => "number",
            Meaning::Text => "string",
        }
    }
}

/// What YAML 1.1 takes for a truth value, and with it `kubectl`.
pub(super) fn boolean(scalar: &Scalar) -> Option<bool> {
    if scalar.quoted {
        return None;
    }
    match scalar.text.as_str() {
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

fn number(text: &str) -> Option<Meaning> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let first = digits.bytes().next()?;
    if !(first.is_ascii_digit() || first == b'.') {
        return None;
    }
    let radix = |prefix: &str, radix| {
        let digits = text.strip_prefix(prefix)?;
        i64::from_str_radix(digits, radix)
            .ok()
            .map(Meaning::Integer)
    };
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Some(number);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let integer = text.parse().map(Meaning::Integer);
        return integer.or_else(|_| text.parse().map(Meaning::Float)).ok();
    }
    let numeric = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    if digits.bytes().all(numeric) {
        return text.parse().map(Meaning::Float).ok();
    }
    None
}

/// A node that no schema says anything about.
pub(super) fn json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Scalar(scalar) => match Meaning::of(scalar) {
            Meaning::Boolean(boolean) => Json::Bool(boolean),
            Meaning::Integer(integer) => Json::from(integer),
            Meaning::Float(float) => Number::from_f64(float).map_or(Json::Null, Json::Number),
            Meaning::Text => Json::String(scalar.text.clone()),
        },
        Value::Sequence(items) => items.iter().map(json).collect(),
        Value::Mapping(entries) => {
            let entries = entries.iter();
            Json::Object(
                entries
                    .map(|entry| (entry.key.clone(), json(&entry.value)))
                    .collect(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_have_the_meaning_of_the_core_schema() {
        let plain = |text: &str| {
            Meaning::of(&Scalar {
                text: text.to_owned(),
                quoted: false,
            })
        };
        for (text, meaning) in [
            ("true", Meaning::Boolean(true)),
            ("FALSE", Meaning::Boolean(false)),
            ("3478", Meaning::Integer(3478)),
            ("-1", Meaning::Integer(-1)),
            ("0x10", Meaning::Integer(16)),
            ("1.5", Meaning::Float(1.5)),
            ("1e3", Meaning::Float(1000.0)),
            ("99999999999999999999", Meaning::Float(1e20)),
            ("yes", Meaning::Text),
            ("1.2.3", Meaning::Text),
            ("192.0.2.1", Meaning::Text),
            ("2024-01-01", Meaning::Text),
            ("-", Meaning::Text),
            (".", Meaning::Text),
            ("500m", Meaning::Text),
            ("e1", Meaning::Text),
        ] {
            assert_eq!(plain(text), meaning, "{text}");
        }
    }
}
