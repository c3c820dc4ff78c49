//! Results as text.

use serde_json::{Number, Value};

pub(super) fn print(value: &Value, text: &mut String) {
    match value {
        Value::String(plain) => text.push_str(plain),
        Value::Number(number) => text.push_str(&decimal(number)),
        value => json(value, text),
    }
}

/// Compact JSON as Go writes it: fields by name, and what HTML could stumble over escaped.
fn json(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => text.push_str(&decimal(number)),
        Value::Array(items) => {
            text.push('[');
            for (number, item) in items.iter().enumerate() {
                text.push_str(if number == 0 { "" } else { "," });
                json(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (number, (name, value)) in fields.into_iter().enumerate() {
                text.push_str(if number == 0 { "" } else { "," });
                string(name, text);
                text.push(':');
                json(value, text);
            }
            text.push('}');
        }
        Value::String(plain) => string(plain, text),
        other => text.push_str(&other.to_string()),
    }
}

fn string(plain: &str, text: &mut String) {
    for c in Value::from(plain).to_string().chars() {
        match c {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            c => text.push(c),
        }
    }
}

/// A number as Go prints it: whole fractions without `.0`, very large and small ones with an exponent.
fn decimal(number: &Number) -> String {
    let value = match (number.is_f64(), number.as_f64()) {
        (true, Some(value)) => value,
        _ => return number.to_string(),
    };
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        // `1e30` is written `1e+30`, `1e-7` is written `1e-07`.
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{value}")
}
