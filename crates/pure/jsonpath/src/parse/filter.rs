//! Filters: `[?(@.port > 1024)]`.

use super::{ParseError, Reader, path};
use crate::template::{Comparison, Filter};

/// After `[?(`, to behind `)]`.
pub(super) fn filter(reader: &mut Reader) -> Result<Filter, ParseError> {
    let filter = any(reader)?;
    match reader.eat(")]") {
        true => Ok(filter),
        false => reader.wrong("the filter is not closed by `)]`"),
    }
}

fn any(reader: &mut Reader) -> Result<Filter, ParseError> {
    let mut members = vec![all(reader)?];
    while reader.eat("||") {
        members.push(all(reader)?);
    }
    Ok(match members.len() {
        1 => members.remove(0),
        _ => Filter::Any(members),
    })
}

fn all(reader: &mut Reader) -> Result<Filter, ParseError> {
    let mut members = vec![comparison(reader)?];
    while reader.eat("&&") {
        members.push(comparison(reader)?);
    }
    Ok(match members.len() {
        1 => members.remove(0),
        _ => Filter::All(members),
    })
}

fn comparison(reader: &mut Reader) -> Result<Filter, ParseError> {
    let left = path::until(reader, path::End::Operator)?;
    let start = reader.at;
    while matches!(reader.peek(), Some('=' | '!' | '<' | '>')) {
        reader.at += 1;
    }
    let operator: String = reader.chars[start..reader.at].iter().collect();
    let comparison = match operator.as_str() {
        "" => return Ok(Filter::Exists(left)),
        "==" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        "=" => return reader.wrong_at(start, "`=` compares nothing, `==` does,"),
        other => return reader.wrong_at(start, format!("there is no comparison `{other}`")),
    };
    let start = reader.at;
    let right = path::until(reader, path::End::Operator)?;
    if start == reader.at {
        return reader.wrong("the right side of the comparison is missing");
    }
    Ok(Filter::Compare(left, comparison, right))
}
