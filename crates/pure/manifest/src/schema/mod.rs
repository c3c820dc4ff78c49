//! What objects may look like.
//!
//! A [`Schema`] is made once per kind, when the first object of the kind is met: from the JSON schemas of our types and of
//! Kubernetes' own ([`compile`]), and by hand for the Gateway API ([`gateway`]).

mod compile;
mod form;
mod gateway;
mod kinds;

use std::borrow::Cow;

pub(crate) use form::Form;
pub(crate) use kinds::{KINDS, Kind, Version};

/// What a value may be.
#[derive(Debug)]
pub(crate) enum Schema {
    Any,
    /// Accepted, and of no interest.
    Ignored,
    /// Of another program's making: what does not fit is left out without a word.
    Lenient(Box<Schema>),
    Shared(&'static Schema),
    Boolean,
    Integer {
        min: i64,
        max: i64,
    },
    Number,
    /// Ports by number or name, quantities.
    IntegerOrText,
    Text(Text),
    List(List),
    Map(Map),
    Object(Object),
}

/// A string.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// Fewest characters.
    pub(crate) min: usize,
    /// Most characters.
    pub(crate) max: Option<usize>,
    pub(crate) form: Option<Form>,
}

#[derive(Debug)]
pub(crate) struct List {
    pub(crate) items: Box<Schema>,
    pub(crate) min: usize,
    pub(crate) max: Option<usize>,
}

/// A mapping with keys of the author's choice.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) values: Box<Schema>,
    pub(crate) max: Option<usize>,
    /// Annotations: values are strings, are often written without quotes, and may hold anything.
    pub(crate) annotations: bool,
}

/// A mapping with keys of the schema's choice.
#[derive(Debug, Default)]
pub(crate) struct Object {
    pub(crate) fields: Vec<Field>,
    /// To leave out a part would widen what the whole says: it is left out as a whole.
    pub(crate) atomic: bool,
    pub(crate) rule: Option<Rule>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: Cow<'static, str>,
    pub(crate) schema: Schema,
    pub(crate) required: bool,
    /// It says what is not allowed: without it the object would admit more than its author meant, so that an object is
    /// broken when this is.
    pub(crate) limiting: bool,
    /// The value is shown to nobody.
    pub(crate) secret: bool,
}

/// What fields of one object have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// `endPort` needs a `port`, and is not below it.
    PortRange,
    /// `userName` or `username`, not both.
    OneUserName,
}

impl Schema {
    /// A string without rules.
    pub(crate) const fn text() -> Self {
        Schema::Text(Text {
            min: 0,
            max: None,
            form: None,
        })
    }

    /// The word that messages use, such as `integer`.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Schema::Any | Schema::Ignored => "any value",
            Schema::Lenient(inner) => inner.noun(),
            Schema::Shared(inner) => inner.noun(),
            Schema::Boolean => "boolean",
            Schema::Integer { .. } => "integer",
            Schema::Number => "number",
            Schema::IntegerOrText => "integer or string",
            Schema::Text(_) => "string",
            Schema::List(_) => "list",
            Schema::Map(_) | Schema::Object(_) => "mapping",
        }
    }

    /// The schema of a field at a path below; `*` stands for the items of a list or the values of a map.
    fn at(&mut self, path: &[&str]) -> Option<&mut Schema> {
        let Some((step, rest)) = path.split_first() else {
            return Some(self);
        };
        match self {
            Schema::Lenient(inner) => inner.at(path),
            Schema::List(list) if *step == "*" => list.items.at(rest),
            Schema::Map(map) if *step == "*" => map.values.at(rest),
            Schema::Object(object) => {
                let field = object.fields.iter_mut().find(|field| field.name == *step)?;
                field.schema.at(rest)
            }
            _ => None,
        }
    }
}

impl Field {
    pub(crate) fn new(name: &'static str, schema: Schema) -> Self {
        Field {
            name: Cow::Borrowed(name),
            schema,
            required: false,
            limiting: false,
            secret: false,
        }
    }

    pub(crate) fn required(name: &'static str, schema: Schema) -> Self {
        Field {
            required: true,
            ..Field::new(name, schema)
        }
    }

    pub(crate) fn limiting(name: &'static str, schema: Schema) -> Self {
        Field {
            limiting: true,
            ..Field::new(name, schema)
        }
    }
}
