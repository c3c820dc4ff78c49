//! From JSON schemas.
//!
//! Only what the schemas of our types and of Kubernetes say is understood; a test sees to it that this is all.

use std::borrow::Cow;

use serde_json::Value;

use super::{Field, Form, List, Map, Object, Rule, Schema, Text};

/// Patterns of `stunner-api` with the forms that they describe.
const PATTERNS: [(&str, Form); 5] = [
    (
        r"^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        Form::Group,
    ),
    (r"^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$", Form::Kind),
    (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", Form::Label),
    (
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        Form::Subdomain,
    ),
    (r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$", Form::Credential),
];

/// The schema that `value` describes.
pub(super) fn compile(value: &Value) -> Schema {
    if value.get("x-kubernetes-int-or-string").is_some() {
        return Schema::IntegerOrText;
    }
    match value.get("type").and_then(Value::as_str) {
        Some("boolean") => Schema::Boolean,
        Some("integer") => Schema::Integer {
            min: value.get("minimum").and_then(integer).unwrap_or(i64::MIN),
            max: value.get("maximum").and_then(integer).unwrap_or_else(|| {
                match value.get("format").and_then(Value::as_str) {
                    Some("int32") => i32::MAX.into(),
                    _ => i64::MAX,
                }
            }),
        },
        Some("number") => Schema::Number,
        Some("string") => Schema::Text(text(value)),
        Some("array") => Schema::List(List {
            items: Box::new(value.get("items").map_or(Schema::Any, compile)),
            min: size(value, "minItems").unwrap_or(0),
            max: size(value, "maxItems"),
        }),
        Some("object") => object(value),
        _ => Schema::Any,
    }
}

/// The schemas write bounds with a fraction of zero.
#[expect(
    clippy::cast_possible_truncation,
    reason = "bounds are small whole numbers"
)]
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_f64().map(|n| n as i64))
}

fn size(value: &Value, key: &str) -> Option<usize> {
    let size = value.get(key).and_then(integer)?;
    usize::try_from(size).ok()
}

fn text(value: &Value) -> Text {
    Text {
        min: size(value, "minLength").unwrap_or(0),
        max: size(value, "maxLength"),
        form: form(value),
    }
}

fn form(value: &Value) -> Option<Form> {
    let words = |words: &Value| -> Option<Vec<String>> {
        let words = words.as_array()?.iter().filter_map(Value::as_str);
        Some(words.map(str::to_owned).collect())
    };
    if let Some(words) = value.get("enum").and_then(words) {
        return Some(Form::OneOf(words));
    }
    if value.get("anyOf").is_some() {
        // The only choice in our schemas is between the formats of prefixes.
        return Some(Form::Prefix);
    }
    if let Some(pattern) = value.get("pattern").and_then(Value::as_str) {
        return from_pattern(pattern);
    }
    match value.get("format")?.as_str()? {
        "byte" => Some(Form::Base64),
        "date-time" => Some(Form::DateTime),
        _ => None,
    }
}

fn from_pattern(pattern: &str) -> Option<Form> {
    let known = PATTERNS.into_iter().find(|(known, _)| *known == pattern);
    known.map(|(_, form)| form).or_else(|| {
        let words = pattern.strip_prefix("^(")?.strip_suffix(")$")?;
        Some(Form::OneOf(words.split('|').map(str::to_owned).collect()))
    })
}

fn object(value: &Value) -> Schema {
    let Some(Value::Object(properties)) = value.get("properties") else {
        return match value.get("additionalProperties") {
            Some(values @ Value::Object(_)) => Schema::Map(Map {
                values: Box::new(compile(values)),
                max: size(value, "maxProperties"),
                annotations: false,
            }),
            _ => Schema::Any,
        };
    };
    let required: Vec<&str> = value
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = properties.iter().map(|(name, schema)| Field {
        name: Cow::Owned(name.clone()),
        schema: compile(schema),
        limiting: false,
        required: required.contains(&name.as_str()),
        secret: false,
    });
    Schema::Object(Object {
        fields: fields.collect(),
        atomic: false,
        rule: value
            .get("x-kubernetes-validations")
            .and_then(|rules| rule(rules.get(0)?)),
    })
}

fn rule(validation: &Value) -> Option<Rule> {
    match validation.get("rule")?.as_str()? {
        "!has(self.endPort) || has(self.port)" => Some(Rule::PortRange),
        "!has(self.userName) || !has(self.username)" => Some(Rule::OneUserName),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keywords that say nothing about validity, or that are understood.
    const KNOWN: &[&str] = &[
        "additionalProperties",
        "anyOf",
        "default",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "pattern",
        "properties",
        "required",
        "type",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    ];

    fn visit(path: &str, schema: &Value) {
        let Value::Object(object) = schema else {
            return;
        };
        for (key, value) in object {
            assert!(KNOWN.contains(&key.as_str()), "{path}: {key}");
            match key.as_str() {
                "properties" => {
                    for (name, property) in value.as_object().into_iter().flatten() {
                        visit(&format!("{path}.{name}"), property);
                    }
                }
                "items" | "additionalProperties" => visit(&format!("{path}[]"), value),
                "pattern" => {
                    let pattern = value.as_str().unwrap_or_default();
                    assert!(from_pattern(pattern).is_some(), "{path}: {pattern}");
                }
                "x-kubernetes-validations" => {
                    let first = value.get(0).and_then(rule);
                    assert!(first.is_some(), "{path}: {value}");
                }
                _ => {}
            }
        }
    }

    #[test]
    fn everything_that_the_schemas_say_is_understood() {
        for (name, schema) in super::super::kinds::json_schemas() {
            visit(name, &schema);
        }
    }
}
