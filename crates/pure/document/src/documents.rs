//! From text to trees.

use std::ops::ControlFlow;

use serde_saphyr::granit_parser::{Event, Parser, ScanError, options};

use crate::build::{Builder, Origin};
use crate::error::DocumentError;
use crate::json::{escape_controls, values};
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
    let mut trees = Trees {
        limits,
        documents: Vec::new(),
        nodes: 0,
        broken: 0,
    };
    for (piece, origin) in values(text) {
        if trees.read(piece, origin).is_break() {
            break;
        }
    }
    trees.documents
}

/// Most broken documents of a text: whoever reads it may look for causes in all of it, each time.
const MOST_BROKEN: usize = 100;

/// The trees of a text so far.
struct Trees<'l> {
    limits: &'l Limits,
    documents: Vec<Document>,
    nodes: usize,
    broken: usize,
}

impl Trees<'_> {
    /// Reads a piece of the text; breaks when what follows is not worth the work.
    fn read(&mut self, piece: &str, origin: Origin) -> ControlFlow<()> {
        let mut parser = parser(piece, self.limits);
        let mut builder = Builder::new(self.limits, origin);
        builder.nodes = self.nodes;
        let mut first_line = origin.line();
        while let Some(event) = parser.next_event() {
            let taken = match event {
                Ok((Event::DocumentStart(..), span)) => {
                    first_line = origin.place(&span.start).line;
                    builder.reset();
                    continue;
                }
                Ok((Event::DocumentEnd, _)) => {
                    self.documents
                        .extend(builder.root.take().map(|root| Document {
                            first_line,
                            tree: Ok(root),
                        }));
                    continue;
                }
                Ok((event, span)) => builder.take(event, span),
                Err(error) => Err(syntax_error(&error, origin)),
            };
            if let Err(error) = taken {
                self.broken(first_line, error)?;
                if !parser.proceed_next_document().unwrap_or(false) {
                    break;
                }
                builder.reset();
            }
        }
        self.nodes = builder.nodes;
        ControlFlow::Continue(())
    }

    fn broken(&mut self, first_line: u32, mut error: DocumentError) -> ControlFlow<()> {
        self.broken += 1;
        if self.broken > MOST_BROKEN {
            let message = format!("more than {MOST_BROKEN} documents are broken");
            error = DocumentError::limit(error.place, message);
        }
        let beyond_limits = error.beyond_limits;
        self.documents.push(Document {
            first_line,
            tree: Err(error),
        });
        match beyond_limits {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
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
