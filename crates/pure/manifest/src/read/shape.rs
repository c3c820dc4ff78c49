//! Holds a tree against its schema, leaves out what does not fit, and makes JSON of the rest.
//!
//! A value that does not fit is *broken*: it has been reported and its parent decides. A list drops a broken item, an
//! object drops a broken field that it can do without; otherwise the parent is broken too.

mod collection;
mod message;
mod value;

use std::fmt::Write;

use serde_json::{Map, Value as Json};
use stunner_document::{Node, Place};

use crate::problem::Fault;
use crate::reading::LeftOut;
use crate::schema::Schema;

use super::report::Report;
use super::scalar;

/// What is left of an object.
pub(super) struct Shaped {
    /// `None` when the object is broken.
    pub(super) object: Option<Map<String, Json>>,
    /// Something was left out.
    pub(super) repaired: bool,
    /// Items of lists, as a [`Manifest`](crate::Manifest) counts them.
    pub(super) left_out: LeftOut,
}

/// Holds the tree of an object against the schema of its kind. What does not fit is taken out of the tree too.
pub(super) fn shape(report: &mut Report, root: &mut Node, schema: &Schema) -> Shaped {
    let mut shaper = Shaper {
        report,
        path: String::new(),
        hidden: false,
        silent: false,
        repaired: false,
        left_out: LeftOut::new(),
    };
    let object = match shaper.value(root, schema) {
        Some(Json::Object(object)) => Some(object),
        _ => None,
    };
    Shaped {
        object,
        repaired: shaper.repaired,
        left_out: shaper.left_out,
    }
}

struct Shaper<'r> {
    report: &'r mut Report,
    /// The field that is looked at, such as `spec.listeners[0].port`.
    path: String,
    /// Inside a secret, which is shown to nobody.
    hidden: bool,
    /// Inside of what another program has written: nothing is reported.
    silent: bool,
    repaired: bool,
    left_out: LeftOut,
}

impl Shaper<'_> {
    /// The JSON of a value, `None` when it is broken.
    fn value(&mut self, node: &mut Node, schema: &Schema) -> Option<Json> {
        match schema {
            Schema::Any | Schema::Ignored => Some(scalar::json(node)),
            Schema::Shared(schema) => self.value(node, schema),
            Schema::Lenient(schema) => {
                let before = (self.silent, self.repaired);
                self.silent = true;
                let value = self.value(node, schema);
                (self.silent, self.repaired) = before;
                value
            }
            Schema::Boolean => self.boolean(node, schema),
            Schema::Integer { min, max } => self.integer(node, schema, *min, *max),
            Schema::Number => self.number(node, schema),
            Schema::IntegerOrText => self.integer_or_text(node, schema),
            Schema::Text(text) => self.text(node, schema, text).map(Json::String),
            Schema::List(list) => self.list(node, schema, list),
            Schema::Map(map) => self.map(node, schema, map),
            Schema::Object(object) => self.object(node, schema, object),
        }
    }

    /// Looks at a field below the one that is looked at.
    fn at_key<T>(&mut self, key: &str, look: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        if key.contains(['.', '/', '[', ']']) {
            let _ = write!(self.path, "[{key}]");
        } else {
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(key);
        }
        let found = look(self);
        self.path.truncate(length);
        found
    }

    fn at_index<T>(&mut self, index: usize, look: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        let _ = write!(self.path, "[{index}]");
        let found = look(self);
        self.path.truncate(length);
        found
    }

    fn error(
        &mut self,
        place: Place,
        fault: Fault,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.repaired = true;
        if !self.silent {
            self.report.error(place, fault, &self.path, message, hint);
        }
    }

    fn warning(
        &mut self,
        place: Place,
        fault: Fault,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        if !self.silent {
            self.report.warning(place, fault, &self.path, message, hint);
        }
    }
}
