//! Values as YAML, the way everything around Kubernetes writes it: keys sorted, lists not indented, and text plain
//! unless it would read back as something else.
//!
//! Readers are of YAML 1.1 and of 1.2, so that what only one of them takes for a number or a switch is quoted too.

mod plain;

use std::fmt::Write;

use serde_json::{Map, Value};

use plain::{is_plain, is_printable, reads_as_text};

/// A document with its line end.
pub(super) fn document(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => mapping(&mut text, fields, 0, true),
        Value::Array(items) if !items.is_empty() => sequence(&mut text, items, 0, true),
        scalar => {
            // A text of several lines is indented by one level, wherever it stands.
            inline(&mut text, scalar, 0);
            text.push('\n');
        }
    }
    text
}

/// `begins_line` is false behind the dash of a list.
fn mapping(text: &mut String, fields: &Map<String, Value>, indent: usize, begins_line: bool) {
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    for (place, (name, value)) in sorted.into_iter().enumerate() {
        if place > 0 || begins_line {
            text.push_str(&" ".repeat(indent));
        }
        scalar(text, name);
        text.push(':');
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                text.push('\n');
                mapping(text, fields, indent + 2, true);
            }
            Value::Array(items) if !items.is_empty() => {
                text.push('\n');
                sequence(text, items, indent, true);
            }
            value => {
                text.push(' ');
                inline(text, value, indent);
                text.push('\n');
            }
        }
    }
}

fn sequence(text: &mut String, items: &[Value], indent: usize, begins_line: bool) {
    for (place, item) in items.iter().enumerate() {
        if place > 0 || begins_line {
            text.push_str(&" ".repeat(indent));
        }
        text.push_str("- ");
        match item {
            Value::Object(fields) if !fields.is_empty() => mapping(text, fields, indent + 2, false),
            Value::Array(items) if !items.is_empty() => sequence(text, items, indent + 2, false),
            value => {
                inline(text, value, indent);
                text.push('\n');
            }
        }
    }
}

/// What fits behind a key or a dash, without its line end.
fn inline(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&number.to_string()),
        Value::String(value) if is_literal(value) => literal(text, value, indent + 2),
        Value::String(value) => scalar(text, value),
        // Others are not empty and have lines of their own.
        Value::Array(_) => text.push_str("[]"),
        Value::Object(_) => text.push_str("{}"),
    }
}

/// Whether a text of several lines can stand as it is, as certificates do.
fn is_literal(value: &str) -> bool {
    let mut lines = value.split('\n');
    let begins = lines.next().unwrap_or_default();
    let is_line = |line: &str| !line.ends_with(' ') && line.chars().all(is_printable);
    value.contains('\n')
        // Else its indentation would have to be told.
        && !begins.is_empty()
        && !begins.starts_with(' ')
        && value.split('\n').all(is_line)
}

fn literal(text: &mut String, value: &str, indent: usize) {
    let body = match value.strip_suffix('\n') {
        Some(body) if body.ends_with('\n') => {
            text.push_str("|+");
            body
        }
        Some(body) => {
            text.push('|');
            body
        }
        None => {
            text.push_str("|-");
            value
        }
    };
    for line in body.split('\n') {
        text.push('\n');
        if !line.is_empty() {
            text.push_str(&" ".repeat(indent));
            text.push_str(line);
        }
    }
}

/// A text on one line.
fn scalar(text: &mut String, value: &str) {
    let is_simple = value.chars().all(is_printable);
    match (reads_as_text(value) && is_simple, is_plain(value)) {
        (true, true) => text.push_str(value),
        (true, false) => {
            text.push('\'');
            text.push_str(&value.replace('\'', "''"));
            text.push('\'');
        }
        (false, _) => quoted(text, value),
    }
}

fn quoted(text: &mut String, value: &str) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if is_printable(c) => text.push(c),
            c => {
                let code = u32::from(c);
                // Writing to a String cannot fail.
                let _ = match code {
                    0..=0xff => write!(text, "\\x{code:02X}"),
                    0x100..=0xffff => write!(text, "\\u{code:04X}"),
                    _ => write!(text, "\\U{code:08X}"),
                };
            }
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests;
