//! From bytes to [`Reading`].

mod document;
mod identity;
mod object;
mod report;
mod scalar;
mod secret;
mod shape;
mod template;

use std::sync::Arc;

use stunner_document::{DocumentError, Keys, Limits, Place, documents, text};

use crate::problem::{Fault, Problem};
use crate::reading::Reading;

use document::Reader;
use report::Report;

/// Most bytes that a file may have.
pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A thousand routes have some 40,000 values, the annotations and managed fields of an exported object a few hundred.
const LIMITS: Limits = Limits {
    what: "the file",
    bytes: 16 * 1024 * 1024,
    nodes: 1_000_000,
    depth: 64,
    keys_per_mapping: 20_000,
    keys: Keys::Exact,
};

/// The problem of a file with more than [`MAX_BYTES`]; it is not worth opening.
pub fn too_large(file: &str, bytes: u64) -> Problem {
    let message = format!("the file has {bytes} bytes, more than {MAX_BYTES}");
    Problem::error(file, Place::START, Fault::TooLarge, "", message).hint(SPLIT)
}

const SPLIT: &str = "split it into several files, or keep it elsewhere if it holds no manifests";

/// Reads a file. `file` is the name that problems show.
pub fn read(file: &str, bytes: &[u8]) -> Reading {
    let unreadable = |problem| Reading {
        file: file.to_owned(),
        problems: vec![problem],
        unreadable: vec![None],
        ..Reading::default()
    };
    if bytes.len() as u64 > MAX_BYTES {
        return unreadable(too_large(file, bytes.len() as u64));
    }
    let text = match text(bytes) {
        Ok(text) => text,
        Err(error) => {
            let (place, hint) = (error.place(), error.hint());
            let problem = Problem::error(file, place, Fault::Encoding, "", error.to_string());
            return unreadable(problem.hint(hint));
        }
    };
    let mut reader = Reader::new(file);
    for document in documents(text, &LIMITS) {
        match document.tree {
            Ok(root) => reader.document(root),
            Err(error) => {
                let problem = broken(file, text, document.first_line, error);
                reader.unreadable(problem);
            }
        }
    }
    reader.finish()
}

/// The problem of a document that has no tree.
fn broken(file: &str, text: &str, first_line: u32, error: DocumentError) -> Problem {
    let place = error.place.unwrap_or(Place::START);
    if error.beyond_limits {
        let hint = error.hint.as_deref().unwrap_or(SPLIT);
        return Problem::error(file, place, Fault::TooLarge, "", error.message).hint(hint);
    }
    if let Some(place) = template::in_document(text, first_line) {
        let message = "this is a template, not a manifest";
        return Problem::error(file, place, Fault::Template, "", message).hint(template::RENDER);
    }
    let hint = if is_indented_by_tabs(text, place.line) {
        "indent with spaces: YAML takes no tabs"
    } else if is_conflict(text, place.line) {
        "resolve the merge conflict, and remove the lines that mark it"
    } else {
        error
            .hint
            .as_deref()
            .unwrap_or("write it as plain `key: value` lines")
    };
    Problem::error(file, place, Fault::Syntax, "", error.message).hint(hint)
}

/// Whether the line, or the one before it, has a tab among its first white space.
fn is_indented_by_tabs(text: &str, line: u32) -> bool {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let lines = text.lines().skip(line.saturating_sub(2)).take(2);
    lines
        .map(|line| &line[..line.len() - line.trim_start().len()])
        .any(|indentation| indentation.contains('\t'))
}

/// Whether the line is one by which version control marks a conflict.
fn is_conflict(text: &str, line: u32) -> bool {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    ["<<<<<<<", "=======", ">>>>>>>"]
        .iter()
        .any(|mark| line.starts_with(mark))
}

/// The name of a file, shared by its manifests.
type File = Arc<str>;
