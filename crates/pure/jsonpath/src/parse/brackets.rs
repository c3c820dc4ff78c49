//! What stands in brackets: indices, slices, names, and lists of them.

use super::{ParseError, Reader, path, quote};
use crate::template::{Path, Slice, SliceEnd, Step};

/// After `[`, to behind `]`.
pub(super) fn brackets(reader: &mut Reader) -> Result<Path, ParseError> {
    let mut members = Vec::new();
    loop {
        members.push(member(reader)?);
        if reader.eat("]") {
            break;
        }
        if !reader.eat(",") {
            return reader.wrong("the brackets are not closed by `]`");
        }
    }
    match members.len() {
        1 => Ok(members.remove(0)),
        _ => Ok(vec![Step::Union(members)]),
    }
}

/// Up to the next comma or bracket.
fn member(reader: &mut Reader) -> Result<Path, ParseError> {
    reader.skip_blanks();
    if let Some(mark @ ('\'' | '"')) = reader.peek() {
        let start = reader.at + 1;
        // Kubectl reads the name as a path, in which backslashes are its own.
        let name = quote::raw(reader, mark)?;
        let steps = path::names(&name, start)?;
        reader.skip_blanks();
        return Ok(steps);
    }
    let start = reader.at;
    while !matches!(reader.peek(), None | Some(',' | ']' | '\n')) {
        reader.at += 1;
    }
    let text: String = reader.chars[start..reader.at].iter().collect();
    match slice(text.trim_end()) {
        Some(slice) => Ok(vec![Step::Slice(slice)]),
        None => reader.wrong_at(start, format!("`{text}` is no index, slice or quoted name")),
    }
}

fn slice(text: &str) -> Option<Slice> {
    let text = if text == "*" { ":" } else { text };
    let number = |text: &str| match text {
        "" => Some(None),
        // No plus sign.
        text if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
            text.parse::<i64>().ok().map(Some)
        }
        _ => None,
    };
    let mut numbers = text.split(':');
    let from = number(numbers.next()?)?.unwrap_or(0);
    let to = match numbers.next().map(number) {
        None => SliceEnd::One,
        Some(None) => return None,
        Some(Some(None)) => SliceEnd::Last,
        Some(Some(Some(at))) => SliceEnd::At(at),
    };
    let step = match numbers.next() {
        None => None,
        Some(step) => number(step)?,
    };
    match numbers.next() {
        None => Some(Slice { from, to, step }),
        Some(_) => None,
    }
}
