//! A YAML or JSON document as a tree in which every node knows its place in the text.
//!
//! Built from parser events with explicit bounds, because the text comes from files and from the network: bytes,
//! nesting, and the number of nodes *after* aliases are resolved. An alias costs as many nodes as what it stands for,
//! so that a few lines of nested aliases cannot grow into gigabytes.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_saphyr::granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, options};

/// Longest text that is read.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Most nodes in a document, counting what aliases stand for.
pub const MAX_NODES: usize = 250_000;
/// Deepest nesting. The schema needs six levels.
pub const MAX_DEPTH: usize = 64;

/// A place in the text, both numbers from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

impl Place {
    fn of(marker: &Marker) -> Self {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Place {
            line: number(marker.line().max(1)),
            column: number(marker.col()).saturating_add(1),
        }
    }
}

/// A node of the document.
#[derive(Debug, Clone)]
pub struct Node {
    pub place: Place,
    pub value: Value,
}

#[derive(Debug, Clone)]
pub enum Value {
    Null,
    Scalar(Scalar),
    Sequence(Vec<Node>),
    Mapping(Vec<Entry>),
}

/// A scalar as text; what it means is for the schema to say.
#[derive(Debug, Clone)]
pub struct Scalar {
    pub text: String,
    /// Written in quotes or as a block.
    pub quoted: bool,
}

/// One key and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: String,
    pub key_place: Place,
    pub value: Node,
}

/// Why there is no tree.
#[derive(Debug)]
pub struct TreeError {
    pub place: Option<Place>,
    pub message: String,
    pub hint: Option<String>,
}

/// The first document of a text.
#[derive(Debug)]
pub struct Document {
    pub root: Node,
    /// Where a second document begins, if there is one.
    pub second: Option<Place>,
}

/// Reads the first document of `text`.
pub fn read(text: &str) -> Result<Document, TreeError> {
    if text.len() > MAX_BYTES {
        return Err(TreeError {
            place: None,
            message: format!(
                "the configuration has {} bytes, more than {MAX_BYTES}",
                text.len()
            ),
            hint: None,
        });
    }
    let text = &*escape_controls(text);
    let limits = options! { emit_comments: false, flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, limits) {
        let (event, span) = event.map_err(syntax_error)?;
        if !builder.take(event, span)? {
            break;
        }
    }
    let root = builder.root.ok_or_else(|| TreeError {
        place: Some(Place { line: 1, column: 1 }),
        message: "the configuration is empty".to_owned(),
        hint: Some("write at least `version: v1` and an `auth` section".to_owned()),
    })?;
    Ok(Document {
        root,
        second: builder.second,
    })
}

/// JSON strings may hold characters as they are that YAML wants escaped (YAML 1.2 §5.1), and other
/// programs' JSON does.
fn escape_controls(text: &str) -> Cow<'_, str> {
    let unprintable =
        |c: char| matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    if !text.trim_start().starts_with('{') || !text.contains(unprintable) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match unprintable(c) {
            true => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

fn syntax_error(error: ScanError) -> TreeError {
    TreeError {
        place: Some(Place::of(error.marker())),
        message: format!("not valid YAML or JSON: {}", error.info()),
        hint: Some(
            "look at indentation, quotes and brackets at this place and just before it".to_owned(),
        ),
    }
}

/// A collection whose end has not been seen.
struct Open {
    place: Place,
    anchor: usize,
    nodes_before: usize,
    content: OpenContent,
}

enum OpenContent {
    Sequence(Vec<Node>),
    Mapping {
        entries: Vec<Entry>,
        key: Option<(String, Place)>,
    },
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    /// Finished nodes that have an anchor, with their number of nodes.
    anchored: HashMap<usize, (Node, usize)>,
    nodes: usize,
    root: Option<Node>,
    second: Option<Place>,
}

impl Builder {
    /// Takes one event; `false` when nothing after it matters.
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<bool, TreeError> {
        let place = Place::of(&span.start);
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                self.second = Some(place);
                return Ok(false);
            }
            Event::Scalar(text, style, anchor, _) => {
                self.count(1, place)?;
                let quoted = style != ScalarStyle::Plain;
                let value = if !quoted && matches!(&*text, "" | "~" | "null" | "Null" | "NULL") {
                    Value::Null
                } else {
                    Value::Scalar(Scalar {
                        text: text.into_owned(),
                        quoted,
                    })
                };
                self.finish(Node { place, value }, anchor, 1)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.start(place, anchor, OpenContent::Sequence(Vec::new()))?
            }
            Event::MappingStart(_, anchor, _) => {
                self.start(
                    place,
                    anchor,
                    OpenContent::Mapping {
                        entries: Vec::new(),
                        key: None,
                    },
                )?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let size = self.nodes - open.nodes_before;
                    let value = match open.content {
                        OpenContent::Sequence(items) => Value::Sequence(items),
                        OpenContent::Mapping { entries, .. } => Value::Mapping(merge(entries)),
                    };
                    self.finish(
                        Node {
                            place: open.place,
                            value,
                        },
                        open.anchor,
                        size,
                    )?;
                }
            }
            Event::Alias(id) => {
                let (node, size) = self.anchored.get(&id).cloned().ok_or_else(|| TreeError {
                    place: Some(place),
                    message: "this alias stands for a collection that contains it".to_owned(),
                    hint: None,
                })?;
                self.count(size, place)?;
                self.finish(node, 0, size)?;
            }
            _ => {}
        }
        Ok(true)
    }

    fn count(&mut self, nodes: usize, place: Place) -> Result<(), TreeError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            return Err(TreeError {
                place: Some(place),
                message: format!(
                    "the configuration has more than {MAX_NODES} values, counting what aliases stand for"
                ),
                hint: None,
            });
        }
        Ok(())
    }

    fn start(
        &mut self,
        place: Place,
        anchor: usize,
        content: OpenContent,
    ) -> Result<(), TreeError> {
        // Flow and block nesting have separate limits in the parser; the sum has this one.
        if self.open.len() >= MAX_DEPTH {
            return Err(TreeError {
                place: Some(place),
                message: format!("nested more than {MAX_DEPTH} levels deep"),
                hint: None,
            });
        }
        let nodes_before = self.nodes;
        self.count(1, place)?;
        self.open.push(Open {
            place,
            anchor,
            nodes_before,
            content,
        });
        Ok(())
    }

    /// Puts a finished node where it belongs.
    fn finish(&mut self, node: Node, anchor: usize, size: usize) -> Result<(), TreeError> {
        if anchor != 0 {
            // The copy under the anchor is as large as the node itself and must be paid for too.
            self.count(size, node.place)?;
            self.anchored.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(node),
            Some(OpenContent::Sequence(items)) => items.push(node),
            Some(OpenContent::Mapping { entries, key }) => match key.take() {
                None => *key = Some((key_text(node.value, node.place)?, node.place)),
                Some((key, key_place)) => entries.push(Entry {
                    key,
                    key_place,
                    value: node,
                }),
            },
        }
        if let Some(Open {
            content: OpenContent::Mapping { entries, key: None },
            ..
        }) = self.open.last_mut()
            && entries.len() > MAX_KEYS
        {
            return Err(TreeError {
                place: entries.last().map(|entry| entry.key_place),
                message: format!("a mapping with more than {MAX_KEYS} keys"),
                hint: None,
            });
        }
        Ok(())
    }
}

/// Most keys in one mapping. The schema has a dozen; the bound keeps the search for repeated keys cheap.
const MAX_KEYS: usize = 1000;

fn key_text(value: Value, place: Place) -> Result<String, TreeError> {
    match value {
        Value::Scalar(scalar) => Ok(scalar.text),
        Value::Null => Ok("null".to_owned()),
        Value::Sequence(_) | Value::Mapping(_) => Err(TreeError {
            place: Some(place),
            message: "a key must be a plain word, not a list or a mapping".to_owned(),
            hint: None,
        }),
    }
}

/// Resolves YAML merge keys: `<<` brings in entries of other mappings that this one does not have.
fn merge(mut entries: Vec<Entry>) -> Vec<Entry> {
    let is_mapping = |node: &Node| matches!(node.value, Value::Mapping(_));
    let Some(at) = entries.iter().position(|entry| {
        entry.key == "<<"
            && match &entry.value.value {
                Value::Mapping(_) => true,
                Value::Sequence(items) => items.iter().all(is_mapping),
                _ => false,
            }
    }) else {
        return entries;
    };
    let sources = match entries.remove(at).value.value {
        Value::Sequence(items) => items.into_iter().map(|item| item.value).collect(),
        mapping => vec![mapping],
    };
    for source in sources {
        let Value::Mapping(merged) = source else {
            continue;
        };
        for entry in merged {
            if !entries
                .iter()
                .any(|own| own.key.eq_ignore_ascii_case(&entry.key))
            {
                entries.push(entry);
            }
        }
    }
    entries
}

impl Node {
    pub fn is_scalar(&self) -> bool {
        matches!(self.value, Value::Scalar(_))
    }
}
