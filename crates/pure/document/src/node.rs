//! Trees.

use std::fmt;

/// A place in the text, both numbers from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub line: u32,
    /// In characters.
    pub column: u32,
}

impl Place {
    /// The first character of a text.
    pub const START: Place = Place { line: 1, column: 1 };
}

/// A node of a document.
#[derive(Clone)]
pub struct Node {
    pub place: Place,
    pub value: Value,
}

#[derive(Clone)]
pub enum Value {
    Null,
    Scalar(Scalar),
    Sequence(Vec<Node>),
    Mapping(Vec<Entry>),
}

/// A scalar as text; what it means is for the schema to say.
#[derive(Clone, PartialEq, Eq)]
pub struct Scalar {
    pub text: String,
    /// Written in quotes or as a block.
    pub quoted: bool,
}

/// One key and its value.
#[derive(Clone)]
pub struct Entry {
    pub key: String,
    pub key_place: Place,
    pub value: Node,
}

/// Only the place and the shape: the values may be secrets.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        write!(f, "{} at {line}:{column}", self.value.shape())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shape())
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a single value")
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.key, self.value)
    }
}

impl Value {
    /// Article and noun for a message.
    pub fn shape(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Scalar(_) => "a single value",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
        }
    }
}

impl Node {
    pub fn is_scalar(&self) -> bool {
        matches!(self.value, Value::Scalar(_))
    }

    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The keys of a mapping; nothing for other nodes.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; nothing for other nodes.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The value of a key of a mapping.
    pub fn child(&self, key: &str) -> Option<&Node> {
        let entry = self.entries().iter().find(|entry| entry.key == key)?;
        Some(&entry.value)
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) => Some(&scalar.text),
            _ => None,
        }
    }

    /// The node at a path such as `spec.listeners[0].port` or `metadata.annotations[example.com/key]`, or the innermost
    /// one around it that there is.
    pub fn find(&self, path: &str) -> &Node {
        let (mut node, mut rest) = (self, path);
        loop {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let (step, later) = match rest.strip_prefix('[') {
                Some(bracketed) => match bracketed.split_once(']') {
                    Some(split) => split,
                    None => return node,
                },
                None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
            };
            let index = || node.items().get(step.parse::<usize>().ok()?);
            match node.child(step).or_else(index) {
                Some(found) if !step.is_empty() => node = found,
                _ => return node,
            }
            rest = later;
        }
    }
}
