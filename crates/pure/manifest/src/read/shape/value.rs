//! Single values.

use std::net::{IpAddr, SocketAddr};

use serde_json::{Number, Value as Json};
use stunner_document::{Node, Scalar, Value, nearest};

use crate::problem::Fault;
use crate::schema::{Form, Schema, Text};

use super::super::scalar::{Meaning, boolean};
use super::super::template;
use super::Shaper;
use super::message::{found, shown, type_hint};

impl Shaper<'_> {
    pub(super) fn boolean(&mut self, node: &Node, schema: &Schema) -> Option<Json> {
        match scalar(node).and_then(boolean) {
            Some(value) => Some(Json::Bool(value)),
            None => self.wrong_type(node, schema),
        }
    }

    pub(super) fn integer(
        &mut self,
        node: &Node,
        schema: &Schema,
        min: i64,
        max: i64,
    ) -> Option<Json> {
        let value = match scalar(node).map(Meaning::of) {
            Some(Meaning::Integer(value)) => value,
            // JSON schemas take `1.0` for an integer, and some programs write it.
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a whole number of a float's exact range"
            )]
            Some(Meaning::Float(value)) if value.fract() == 0.0 && value.abs() < 1e15 => {
                value as i64
            }
            _ => return self.wrong_type(node, schema),
        };
        if (min..=max).contains(&value) {
            return Some(value.into());
        }
        let expected = match (min, max) {
            (min, i64::MAX) => format!("a number not below {min}"),
            (i64::MIN, max) => format!("a number not above {max}"),
            (min, max) => format!("a number from {min} to {max}"),
        };
        let message = match self.hidden {
            true => format!("expected {expected}"),
            false => format!("expected {expected}, found {value}"),
        };
        self.error(
            node.place,
            Fault::WrongValue,
            message,
            format!("write {expected}"),
        );
        None
    }

    pub(super) fn number(&mut self, node: &Node, schema: &Schema) -> Option<Json> {
        match scalar(node).map(Meaning::of) {
            Some(Meaning::Integer(value)) => Some(value.into()),
            Some(Meaning::Float(value)) => Number::from_f64(value).map(Json::Number),
            _ => self.wrong_type(node, schema),
        }
    }

    pub(super) fn integer_or_text(&mut self, node: &Node, schema: &Schema) -> Option<Json> {
        let Some(scalar) = scalar(node) else {
            return self.wrong_type(node, schema);
        };
        Some(match Meaning::of(scalar) {
            Meaning::Integer(value) if i32::try_from(value).is_ok() => value.into(),
            Meaning::Boolean(_) => return self.wrong_type(node, schema),
            _ => Json::String(scalar.text.clone()),
        })
    }

    pub(super) fn text(&mut self, node: &Node, schema: &Schema, rules: &Text) -> Option<String> {
        let scalar = match scalar(node) {
            Some(scalar) if Meaning::of(scalar) == Meaning::Text => scalar,
            _ => {
                self.wrong_type(node, schema);
                return None;
            }
        };
        let text = &scalar.text;
        if let Some(form) = &rules.form
            && !form.admits(text)
        {
            self.wrong_form(node, text, form);
            return None;
        }
        let length = text.chars().count();
        let longest = rules.max.unwrap_or(usize::MAX);
        if !(rules.min..=longest).contains(&length) {
            let (message, hint) = if length < rules.min {
                (
                    "expected a value, found an empty string".to_owned(),
                    "write a value, or leave the field out".to_owned(),
                )
            } else {
                let message = format!("expected at most {longest} characters, found {length}");
                (message, "write less".to_owned())
            };
            self.error(node.place, Fault::WrongValue, message, hint);
            return None;
        }
        Some(text.clone())
    }

    fn wrong_form(&mut self, node: &Node, text: &str, form: &Form) {
        let mut message = format!("expected {}", form.noun());
        if !self.hidden {
            message.push_str(&format!(", found `{}`", shown(text)));
        }
        let near = |words: &[String]| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            nearest(text, &words).map(|word| format!("did you mean `{word}`?"))
        };
        let hint = match form {
            _ if template::hint(text).is_some() => template::hint(text).map(str::to_owned),
            Form::OneOf(words) if !self.hidden => near(words),
            Form::Prefix => prefix_hint(text),
            _ => None,
        };
        let fault = match form {
            Form::Prefix => Fault::Prefix,
            _ => Fault::WrongValue,
        };
        self.error(
            node.place,
            fault,
            message,
            hint.unwrap_or_else(|| form.hint()),
        );
    }

    /// Reports a value of the wrong type; `None`, for the sake of its callers.
    pub(super) fn wrong_type(&mut self, node: &Node, schema: &Schema) -> Option<Json> {
        // What stands where a mapping belongs may be anything, a secret too.
        let hidden =
            self.hidden || matches!(schema, Schema::Object(_) | Schema::Map(_) | Schema::List(_));
        let message = format!("expected {}, found {}", schema.noun(), found(node, hidden));
        let template = scalar(node).and_then(|scalar| template::hint(&scalar.text));
        let hint = template.map_or_else(|| type_hint(node, schema, hidden), str::to_owned);
        self.error(node.place, Fault::WrongType, message, hint);
        None
    }
}

fn scalar(node: &Node) -> Option<&Scalar> {
    match &node.value {
        Value::Scalar(scalar) => Some(scalar),
        _ => None,
    }
}

/// What is most likely wrong with a prefix.
fn prefix_hint(text: &str) -> Option<String> {
    if text.parse::<SocketAddr>().is_ok() {
        return Some("leave out the port: ports are named by the backendRef of a route".to_owned());
    }
    let is_name = Form::Subdomain.admits(text) && text.contains('.');
    if is_name && text.contains(|c: char| c.is_ascii_alphabetic()) {
        return Some(
            "for a name use a Service with `type: ExternalName` and `externalName`".to_owned(),
        );
    }
    let (address, length) = text.split_once('/')?;
    let octets: Vec<&str> = address.split('.').collect();
    if octets.len() < 4 && octets.iter().all(|octet| octet.parse::<u8>().is_ok()) {
        let missing = ".0".repeat(4 - octets.len());
        return Some(format!(
            "write all four numbers: `{address}{missing}/{length}`"
        ));
    }
    let address: IpAddr = address.parse().ok()?;
    if let Ok(mask) = length.parse::<IpAddr>()
        && let Ok(net) = ipnet::IpNet::with_netmask(address, mask)
    {
        return Some(format!("write the length of the mask: `{net}`"));
    }
    let longest = if address.is_ipv4() { 32 } else { 128 };
    Some(match length.parse::<u32>() {
        Ok(length) if length > longest => {
            format!(
                "the number after `/` is at most {longest}; `{address}/{longest}` is one address"
            )
        }
        _ => format!("write a number from 0 to {longest} after the `/`"),
    })
}
