//! The steps of a path.

use serde_json::{Number, Value};

use super::{ParseError, Reader, brackets, filter, quote};
use crate::template::{Path, Step};

/// What ends a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The closing brace, which is read too.
    Brace,
    /// An operator of a filter or its closing parenthesis, which are not.
    Operator,
    /// The end of the text.
    Text,
}

const OPERATORS: [char; 7] = ['=', '!', '<', '>', '&', '|', ')'];

/// What no name contains, unless after a backslash.
fn ends_name(c: char, end: End) -> bool {
    matches!(
        c,
        '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}' | ' ' | '\t' | '\r' | '\n'
    ) || (end == End::Operator && OPERATORS.contains(&c))
}

fn begins_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\\'
}

pub(super) fn until(reader: &mut Reader, end: End) -> Result<Path, ParseError> {
    let mut path = Path::new();
    loop {
        let start = reader.at;
        let Some(c) = reader.peek() else {
            return match end {
                End::Text => Ok(path),
                End::Brace => reader.wrong("the expression is not closed by `}`"),
                End::Operator => reader.wrong("the filter is not closed by `)]`"),
            };
        };
        match c {
            '}' if end == End::Brace => {
                reader.at += 1;
                return Ok(path);
            }
            c if end == End::Operator && OPERATORS.contains(&c) => return Ok(path),
            // The value that the path begins at.
            ' ' | '\t' | '@' | '$' => reader.at += 1,
            '\r' | '\n' => return reader.wrong("the line ends before the expression does"),
            '[' => {
                reader.at += 1;
                match reader.eat("?(") {
                    true => path.push(Step::Filter(reader.deeper(filter::filter)?)),
                    false => path.extend(reader.deeper(brackets::brackets)?),
                }
            }
            '"' | '\'' => path.push(Step::Literal(Value::String(quote::quoted(reader)?))),
            '.' if reader.eat("..") => {
                if path.last() == Some(&Step::Descent) || reader.peek() == Some('.') {
                    return reader.wrong_at(start, "`..` cannot follow `..`");
                }
                path.push(Step::Descent);
                match reader.peek() {
                    Some('*') => path.extend(field(reader, end)),
                    Some(c) if begins_name(c) => path.extend(field(reader, end)),
                    _ => {}
                }
            }
            '.' => {
                reader.at += 1;
                path.extend(field(reader, end));
            }
            '+' | '-' | '0'..='9' => path.push(Step::Literal(number(reader)?)),
            c if begins_name(c) => path.push(match field(reader, end) {
                Some(Step::Field(name)) if name == "true" => Step::Literal(Value::Bool(true)),
                Some(Step::Field(name)) if name == "false" => Step::Literal(Value::Bool(false)),
                Some(step) => step,
                None => return reader.wrong("a name is missing"),
            }),
            '{' => return reader.wrong("`{` cannot stand inside of an expression"),
            c => return reader.wrong(format!("`{c}` means nothing here")),
        }
    }
}

/// A name in which a backslash takes the meaning from the character after it; none where nothing comes, as in `{.}`.
fn field(reader: &mut Reader, end: End) -> Option<Step> {
    let mut name = String::new();
    let start = reader.at;
    while let Some(c) = reader.peek() {
        match c {
            '\\' => {
                reader.at += 1;
                name.extend(reader.next().filter(|c| *c != '\\'));
            }
            c if ends_name(c, end) => break,
            c => {
                reader.at += 1;
                name.push(c);
            }
        }
    }
    match name.as_str() {
        _ if reader.at == start => None,
        "*" => Some(Step::Wildcard),
        _ => Some(Step::Field(name)),
    }
}

/// The steps of a name in brackets, which may be a path: `['metadata.name']`.
pub(super) fn names(name: &str, at: usize) -> Result<Path, ParseError> {
    let mut reader = Reader::new(&format!(".{name}"));
    until(&mut reader, End::Text).map_err(|error| ParseError {
        at: at + error.at - 1,
        ..error
    })
}

fn number(reader: &mut Reader) -> Result<Value, ParseError> {
    let start = reader.at;
    reader.at += 1;
    while matches!(reader.peek(), Some('0'..='9' | '.')) {
        reader.at += 1;
    }
    let text: String = reader.chars[start..reader.at].iter().collect();
    if let Ok(number) = text.parse::<i64>() {
        return Ok(Value::Number(number.into()));
    }
    match text.parse::<f64>().ok().and_then(Number::from_f64) {
        Some(number) => Ok(Value::Number(number)),
        None => reader.wrong_at(start, format!("`{text}` is no number")),
    }
}
