//! How values read in messages.

use stunner_document::{Node, Value};

use crate::schema::Schema;

use super::super::scalar::Meaning;

/// The kind of value that was found, with the value itself where it is short and nobody's secret.
pub(super) fn found(node: &Node, hidden: bool) -> String {
    match &node.value {
        Value::Null => "nothing".to_owned(),
        Value::Sequence(_) => "list".to_owned(),
        Value::Mapping(_) => "mapping".to_owned(),
        Value::Scalar(scalar) => {
            let meaning = Meaning::of(scalar);
            match (hidden, meaning) {
                (true, _) => meaning.noun().to_owned(),
                (false, Meaning::Text) => format!("string \"{}\"", shown(&scalar.text)),
                (false, _) => format!("{} {}", meaning.noun(), shown(&scalar.text)),
            }
        }
    }
}

/// The beginning of a text, on one line.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// What a field needs, for somebody who left it out.
pub(super) fn needed(schema: &Schema) -> String {
    match schema {
        Schema::Shared(schema) => needed(schema),
        Schema::Lenient(schema) => needed(schema),
        Schema::Boolean => "`true` or `false`".to_owned(),
        Schema::Integer { min, max } => match (*min, *max) {
            (i64::MIN, _) | (_, i64::MAX) => "an integer".to_owned(),
            (min, max) => format!("an integer from {min} to {max}"),
        },
        Schema::Number => "a number".to_owned(),
        Schema::IntegerOrText => "an integer or a string".to_owned(),
        Schema::Text(text) => match &text.form {
            Some(form) => form.noun(),
            None => "a string".to_owned(),
        },
        Schema::List(_) => "a list".to_owned(),
        Schema::Map(_) | Schema::Object(_) | Schema::Any | Schema::Ignored => {
            "a mapping".to_owned()
        }
    }
}

/// How to write a value of the right type.
pub(super) fn type_hint(node: &Node, schema: &Schema, hidden: bool) -> String {
    let scalar = match &node.value {
        Value::Scalar(scalar) => Some(scalar),
        _ => None,
    };
    let in_quotes = |parses: fn(&str) -> bool| {
        scalar.is_some_and(|scalar| scalar.quoted && parses(scalar.text.trim()))
    };
    match schema {
        Schema::Boolean if in_quotes(|text| matches!(text, "true" | "false")) => {
            "remove the quotes".to_owned()
        }
        Schema::Boolean => "write `true` or `false`".to_owned(),
        Schema::Integer { .. } | Schema::Number
            if in_quotes(|text| text.parse::<i64>().is_ok()) =>
        {
            "remove the quotes".to_owned()
        }
        Schema::Integer { .. } => format!("write {} in digits", needed(schema)),
        Schema::Number => "write a number".to_owned(),
        Schema::Text(_) => match scalar {
            Some(_) if hidden => "put the value in quotes".to_owned(),
            Some(scalar) => format!("put it in quotes: `\"{}\"`", shown(&scalar.text)),
            None => "write a single value; put it in quotes if it holds brackets".to_owned(),
        },
        Schema::List(_) => "write it as lines that begin with `- `".to_owned(),
        Schema::Object(object) => {
            let names: Vec<&str> = object.fields.iter().map(|field| &*field.name).collect();
            format!(
                "write it as `key: value` lines; the keys are {}",
                listed(&names)
            )
        }
        Schema::Map(_) => "write it as `key: value` lines".to_owned(),
        _ => "write a single value".to_owned(),
    }
}

/// Words in backticks; the first dozen of them.
pub(super) fn listed(words: &[&str]) -> String {
    const MOST: usize = 12;
    let shown: Vec<_> = words
        .iter()
        .take(MOST)
        .map(|word| format!("`{word}`"))
        .collect();
    let mut list = shown.join(", ");
    if words.len() > MOST {
        list.push_str(&format!(" and {} more", words.len() - MOST));
    }
    list
}
