//! A tree from the events of the parser.
//!
//! An alias costs as many nodes as what it stands for, so that a few lines of nested aliases cannot grow into gigabytes.

use std::collections::{HashMap, HashSet};

use serde_saphyr::granit_parser::{Event, Marker, ScalarStyle, Span, Tag};

use crate::error::DocumentError;
use crate::limits::{Keys, Limits};
use crate::node::{Entry, Node, Place, Scalar, Value};

/// Where a piece of a text begins in it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Origin {
    /// Lines before the piece.
    lines: usize,
    /// Characters before the piece on its first line.
    columns: usize,
}

impl Origin {
    /// The line that the piece begins on, from 1.
    pub(crate) fn line(self) -> u32 {
        u32::try_from(self.lines).map_or(u32::MAX, |lines| lines.saturating_add(1))
    }

    /// Where what follows `piece` begins.
    pub(crate) fn after(self, piece: &str) -> Self {
        let last = piece.rsplit('\n').next().unwrap_or_default();
        let newlines = piece.bytes().filter(|&byte| byte == b'\n').count();
        Origin {
            lines: self.lines + newlines,
            columns: last.chars().count() + if newlines == 0 { self.columns } else { 0 },
        }
    }

    pub(crate) fn place(self, marker: &Marker) -> Place {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let line = marker.line().max(1);
        let columns = if line == 1 { self.columns } else { 0 };
        Place {
            line: number(line + self.lines),
            column: number(marker.col() + columns).saturating_add(1),
        }
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

pub(crate) struct Builder<'l> {
    limits: &'l Limits,
    origin: Origin,
    open: Vec<Open>,
    /// Finished nodes that have an anchor, with their number of nodes.
    anchored: HashMap<usize, (Node, usize)>,
    /// Nodes so far, those of earlier documents too.
    pub(crate) nodes: usize,
    /// The finished document.
    pub(crate) root: Option<Node>,
}

impl<'l> Builder<'l> {
    pub(crate) fn new(limits: &'l Limits, origin: Origin) -> Self {
        Builder {
            limits,
            origin,
            open: Vec::new(),
            anchored: HashMap::new(),
            nodes: 0,
            root: None,
        }
    }

    /// Forgets a document, whole or not: another one begins.
    pub(crate) fn reset(&mut self) {
        self.open.clear();
        self.anchored.clear();
        self.root = None;
    }

    /// Takes one event.
    pub(crate) fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), DocumentError> {
        let place = self.origin.place(&span.start);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, place)?;
                let quoted = is_quoted(style, tag.as_deref());
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
                        OpenContent::Mapping { entries, .. } => {
                            Value::Mapping(merge(entries, self.limits.keys))
                        }
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
                let (node, size) = self.anchored.get(&id).cloned().ok_or_else(|| {
                    DocumentError::syntax(
                        place,
                        "this alias stands for a collection that contains it",
                    )
                })?;
                self.count(size, place)?;
                // What is wrong with it is wrong where it is used.
                let node = Node { place, ..node };
                self.finish(node, 0, size)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, nodes: usize, place: Place) -> Result<(), DocumentError> {
        self.nodes = self.nodes.saturating_add(nodes);
        let Limits { what, nodes, .. } = self.limits;
        if self.nodes > *nodes {
            let message =
                format!("{what} has more than {nodes} values, counting what aliases stand for");
            return Err(DocumentError::limit(Some(place), message));
        }
        Ok(())
    }

    fn start(
        &mut self,
        place: Place,
        anchor: usize,
        content: OpenContent,
    ) -> Result<(), DocumentError> {
        // Flow and block nesting have separate limits in the parser; the sum has this one.
        let most = self.limits.depth;
        if self.open.len() >= most {
            let message = format!("nested more than {most} levels deep");
            return Err(DocumentError::syntax(place, message));
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
    fn finish(&mut self, node: Node, anchor: usize, size: usize) -> Result<(), DocumentError> {
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
        let most = self.limits.keys_per_mapping;
        if let Some(Open {
            content: OpenContent::Mapping { entries, key: None },
            ..
        }) = self.open.last()
            && let Some(last) = entries.last()
            && entries.len() > most
        {
            let message = format!("a mapping with more than {most} keys");
            return Err(DocumentError::limit(Some(last.key_place), message));
        }
        Ok(())
    }
}

/// Whether a scalar is text whatever it looks like: in quotes, unless a tag of the core schema says otherwise (YAML 1.2.2
/// §10.3). Other tags are of no concern here.
fn is_quoted(style: ScalarStyle, tag: Option<&Tag>) -> bool {
    match tag.and_then(Tag::core_suffix) {
        Some("str") => true,
        Some("bool" | "float" | "int" | "null") => false,
        _ => style != ScalarStyle::Plain,
    }
}

fn key_text(value: Value, place: Place) -> Result<String, DocumentError> {
    match value {
        Value::Scalar(scalar) => Ok(scalar.text),
        Value::Null => Ok("null".to_owned()),
        Value::Sequence(_) | Value::Mapping(_) => Err(DocumentError::syntax(
            place,
            "a key must be a plain word, not a list or a mapping",
        )),
    }
}

/// Resolves YAML merge keys: `<<` brings in entries of other mappings that this one does not have.
fn merge(mut entries: Vec<Entry>, keys: Keys) -> Vec<Entry> {
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
    let Entry {
        key_place, value, ..
    } = entries.remove(at);
    let sources = match value.value {
        Value::Sequence(items) => items.into_iter().map(|item| item.value).collect(),
        mapping => vec![mapping],
    };
    let identity = |key: &str| match keys {
        Keys::Exact => key.to_owned(),
        Keys::AnyCase => key.to_ascii_lowercase(),
    };
    let mut present: HashSet<String> = entries.iter().map(|own| identity(&own.key)).collect();
    for source in sources {
        let Value::Mapping(merged) = source else {
            continue;
        };
        for entry in merged {
            if present.insert(identity(&entry.key)) {
                entries.push(Entry {
                    key: entry.key,
                    key_place,
                    value: Node {
                        place: key_place,
                        ..entry.value
                    },
                });
            }
        }
    }
    entries
}
