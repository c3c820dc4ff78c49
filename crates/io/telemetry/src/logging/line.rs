//! How one event looks as a line.

use std::fmt::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata};

use super::Format;

/// Everything on a line but its fields.
pub(super) struct Head<'a> {
    at: Timestamp,
    level: Level,
    file: &'a str,
    line: u32,
    scope: &'a str,
}

impl<'a> Head<'a> {
    pub(super) fn now(metadata: &Metadata<'a>, scope: &'a str) -> Self {
        Self::at_place(
            *metadata.level(),
            metadata.file().unwrap_or("-"),
            metadata.line().unwrap_or(0),
            scope,
        )
    }

    pub(super) fn at_place(level: Level, path: &'a str, line: u32, scope: &'a str) -> Self {
        Head {
            at: Timestamp::now(),
            level,
            file: path.rsplit('/').next().unwrap_or(path),
            line,
            scope,
        }
    }
}

/// The line of an event, with its newline.
pub(super) fn of_event(format: Format, head: &Head<'_>, event: &Event<'_>) -> String {
    match format {
        Format::Text => {
            let mut fields = TextFields::default();
            event.record(&mut fields);
            text(head, &fields.message, &fields.rest)
        }
        Format::Json => {
            let mut fields = JsonFields::default();
            event.record(&mut fields);
            json(head, fields.message, fields.rest)
        }
    }
}

/// A line of the logger's own.
pub(super) fn of_message(format: Format, head: &Head<'_>, message: &str) -> String {
    match format {
        Format::Text => text(head, message, ""),
        Format::Json => json(head, message.to_owned(), Map::new()),
    }
}

/// `HH:MM:SS.micros file.rs:line: scope LEVEL: message field=value`, in local time as programs in a terminal do.
fn text(head: &Head<'_>, message: &str, fields: &str) -> String {
    let mut line = String::with_capacity(64 + message.len() + fields.len());
    let time = head.at.to_zoned(TimeZone::system()).time();
    let micros = time.subsec_nanosecond() / 1000;
    // Writing to a String cannot fail.
    let _ = write!(
        line,
        "{:02}:{:02}:{:02}.{micros:06} ",
        time.hour(),
        time.minute(),
        time.second()
    );
    let _ = write!(line, "{}:{}: ", head.file, head.line);
    push_printable(&mut line, head.scope);
    let _ = write!(line, " {}: ", text_level(head.level));
    push_printable(&mut line, message);
    push_printable(&mut line, fields);
    line.push('\n');
    line
}

fn text_level(level: Level) -> &'static str {
    if level == Level::WARN {
        "WARNING"
    } else {
        level.as_str()
    }
}

/// Names and messages may come from the network: what could start a new line or steer a terminal is shown escaped.
fn push_printable(line: &mut String, text: &str) {
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
}

fn json(head: &Head<'_>, message: String, fields: Map<String, Value>) -> String {
    let mut object = Map::new();
    object.insert("time".into(), format!("{:.9}", head.at).into());
    object.insert("level".into(), head.level.as_str().into());
    object.insert("msg".into(), message.into());
    object.insert("scope".into(), head.scope.into());
    for (mut name, value) in fields {
        if object.contains_key(&name) {
            name.insert(0, '_');
        }
        object.insert(name, value);
    }
    let mut line = Value::Object(object).to_string();
    line.push('\n');
    line
}

#[derive(Default)]
struct TextFields {
    message: String,
    rest: String,
}

impl Visit for TextFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "scope" => {}
            "message" => self.message.push_str(value),
            name if value.is_empty() || value.contains(|c: char| c.is_whitespace() || c == '"') => {
                let _ = write!(self.rest, " {name}={value:?}");
            }
            name => {
                let _ = write!(self.rest, " {name}={value}");
            }
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "scope" => {}
            "message" => {
                let _ = write!(self.message, "{value:?}");
            }
            name => {
                let _ = write!(self.rest, " {name}={value:?}");
            }
        }
    }
}

#[derive(Default)]
struct JsonFields {
    message: String,
    rest: Map<String, Value>,
}

impl JsonFields {
    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("scope", _) => {}
            ("message", Value::String(text)) => self.message = text,
            ("message", value) => self.message = value.to_string(),
            (name, value) => {
                self.rest.insert(name.to_owned(), value);
            }
        }
    }
}

impl Visit for JsonFields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }
}
