//! From text to trees.

use std::borrow::Cow;

use serde_saphyr::granit_parser::{Event, Parser, ScanError, options};

use crate::build::{Builder, Origin};
use crate::error::DocumentError;
use crate::limits::Limits;
use crate::node::{Node, Place};

/// The first document of a text.
#[derive(Debug)]
pub struct First {
    /// `None` when the text holds nothing.
    pub root: Option<Node>,
    /// Where a second document begins, if there is one.
    pub second: Option<Place>,
}

/// One document of a text with many.
#[derive(Debug)]
pub struct Document {
    /// The line that it begins on.
    pub first_line: u32,
    /// [`crate::Value::Null`] when there is nothing between two separators.
    pub tree: Result<Node, DocumentError>,
}

/// Reads the first document of `text`.
pub fn read_first(text: &str, limits: &Limits) -> Result<First, DocumentError> {
    check_length(text, limits)?;
    let text = &*escape_controls(text);
    let mut builder = Builder::new(limits, Origin::default());
    for event in parser(text, limits) {
        let (event, span) = event.map_err(|error| syntax_error(&error, Origin::default()))?;
        if matches!(event, Event::DocumentStart(..)) && builder.root.is_some() {
            let second = Origin::default().place(&span.start);
            return Ok(First {
                root: builder.root,
                second: Some(second),
            });
        }
        builder.take(event, span)?;
    }
    Ok(First {
        root: builder.root,
        second: None,
    })
}

/// Reads all documents of `text`. After one that is broken comes the next that begins with `---`.
pub fn documents(text: &str, limits: &Limits) -> Vec<Document> {
    if let Err(error) = check_length(text, limits) {
        return vec![Document {
            first_line: 1,
            tree: Err(error),
        }];
    }
    let text = &*escape_controls(text);
    let mut documents = Vec::new();
    let mut nodes = 0;
    for (piece, origin) in json_values(text) {
        nodes = read_all(piece, origin, nodes, limits, &mut documents);
        if documents.last().is_some_and(Document::is_beyond_limits) {
            break;
        }
    }
    documents
}

impl Document {
    fn is_beyond_limits(&self) -> bool {
        matches!(&self.tree, Err(error) if error.beyond_limits)
    }
}

/// Reads the documents of a piece of a text; returns the number of nodes so far.
fn read_all(
    piece: &str,
    origin: Origin,
    nodes: usize,
    limits: &Limits,
    documents: &mut Vec<Document>,
) -> usize {
    let mut parser = parser(piece, limits);
    let mut builder = Builder::new(limits, origin);
    builder.nodes = nodes;
    let mut first_line = origin.line();
    while let Some(event) = parser.next_event() {
        let taken = match event {
            Ok((Event::DocumentStart(..), span)) => {
                first_line = origin.place(&span.start).line;
                builder.reset();
                continue;
            }
            Ok((Event::DocumentEnd, _)) => {
                if let Some(root) = builder.root.take() {
                    documents.push(Document {
                        first_line,
                        tree: Ok(root),
                    });
                }
                continue;
            }
            Ok((event, span)) => builder.take(event, span),
            Err(error) => Err(syntax_error(&error, origin)),
        };
        let Err(error) = taken else { continue };
        let beyond_limits = error.beyond_limits;
        documents.push(Document {
            first_line,
            tree: Err(error),
        });
        // What follows a text that is too large is not worth more work.
        if beyond_limits || !parser.proceed_next_document().unwrap_or(false) {
            break;
        }
        builder.reset();
    }
    builder.nodes
}

fn parser<'t>(
    text: &'t str,
    limits: &Limits,
) -> Parser<'t, serde_saphyr::granit_parser::StrInput<'t>> {
    let options = options! {
        emit_comments: false,
        flow_nesting_limit: limits.depth,
        block_nesting_limit: limits.depth,
    };
    Parser::new_from_str_with_options(text, options)
}

fn check_length(text: &str, limits: &Limits) -> Result<(), DocumentError> {
    if text.len() > limits.bytes {
        let message = format!(
            "{} has {} bytes, more than {}",
            limits.what,
            text.len(),
            limits.bytes
        );
        return Err(DocumentError::limit(None, message));
    }
    Ok(())
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

/// JSON objects one after the other, as `kubectl` takes them and YAML does not: each by itself. Any other text as it is.
fn json_values(text: &str) -> Vec<(&str, Origin)> {
    let mut pieces = Vec::new();
    let (mut rest, mut origin) = (text, Origin::default());
    while let Some(end) = end_of_json_value(rest) {
        let (value, later) = rest.split_at(end);
        if !later.trim_start().starts_with('{') {
            break;
        }
        pieces.push((value, origin));
        origin = origin.after(value);
        rest = later;
    }
    pieces.push((rest, origin));
    pieces
}

/// Where the JSON object at the beginning of a text ends.
fn end_of_json_value(text: &str) -> Option<usize> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn syntax_error(error: &ScanError, origin: Origin) -> DocumentError {
    let place = origin.place(error.marker());
    if error.info().contains("recursion limit") {
        return DocumentError {
            hint: Some(
                "close brackets where they end; a manifest is never nested this deep".to_owned(),
            ),
            ..DocumentError::syntax(place, "nested too deep")
        };
    }
    DocumentError {
        hint: Some(
            "look at indentation, quotes and brackets at this place and just before it".to_owned(),
        ),
        ..DocumentError::syntax(place, format!("not valid YAML or JSON: {}", error.info()))
    }
}
