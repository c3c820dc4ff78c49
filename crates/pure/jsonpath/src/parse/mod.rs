//! From text to a template.

mod brackets;
mod filter;
mod path;
mod quote;

use crate::template::Part;

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at character {at}")]
pub struct ParseError {
    /// Counted in characters, from 1.
    pub at: usize,
    pub what: String,
}

/// Ranges, filters and brackets can stand in each other only so deep.
const DEEPEST: usize = 32;

/// A text and a place in it.
#[derive(Debug)]
struct Reader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

impl Reader {
    fn new(text: &str) -> Reader {
        Reader {
            chars: text.chars().collect(),
            at: 0,
            depth: 0,
        }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    /// Goes past `text` if it comes next.
    fn eat(&mut self, text: &str) -> bool {
        let len = text.chars().count();
        let comes = self.chars[self.at..].iter().copied().take(len);
        let is_next = comes.eq(text.chars());
        self.at += if is_next { len } else { 0 };
        is_next
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    /// Goes one level deeper, and back after `read`.
    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Reader) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        if self.depth == DEEPEST {
            return self.wrong("the template is nested too deeply");
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, ParseError> {
        self.wrong_at(self.at, what)
    }

    fn wrong_at<T>(&self, at: usize, what: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError {
            at: at + 1,
            what: what.into(),
        })
    }
}

pub(crate) fn template(text: &str) -> Result<Vec<Part>, ParseError> {
    let mut reader = Reader::new(text);
    if is_bare_path(text) {
        let path = path::until(&mut reader, path::End::Text)?;
        return Ok(vec![Part::Path(path)]);
    }
    parts(&mut reader, false)
}

/// A path without braces, as kubectl takes it for `--sort-by` and columns. Text that is just text has no need of a
/// template.
fn is_bare_path(text: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && c != '{' && c != '}';
    let word = text
        .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
        .starts_with(['.', '[']);
    (text.starts_with(['.', '$', '@']) && text.len() > 1 || word) && text.chars().all(is_plain)
}

/// Text and expressions, up to the end of the text or of the range. A range that nothing ends, ends with the text.
fn parts(reader: &mut Reader, in_range: bool) -> Result<Vec<Part>, ParseError> {
    let mut parts = Vec::new();
    let mut text = String::new();
    loop {
        let start = reader.at;
        match reader.next() {
            Some('{') => {}
            Some(c) => {
                text.push(c);
                continue;
            }
            None => break,
        }
        if !text.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut text)));
        }
        reader.skip_blanks();
        match word(reader).as_deref() {
            Some("range") => {
                let path = path::until(reader, path::End::Brace)?;
                let body = reader.deeper(|reader| self::parts(reader, true))?;
                parts.push(Part::Range(path, body));
            }
            Some("end") => {
                reader.skip_blanks();
                if !reader.eat("}") {
                    return reader.wrong("`end` takes nothing else");
                }
                if !in_range {
                    return reader.wrong_at(start, "there is no `{range}` that this `{end}` ends");
                }
                return Ok(parts);
            }
            _ => parts.push(Part::Path(path::until(reader, path::End::Brace)?)),
        }
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(parts)
}

/// Goes past the word `range` or `end`, if it comes next and is not the beginning of a longer path.
fn word(reader: &mut Reader) -> Option<String> {
    for word in ["range", "end"] {
        let start = reader.at;
        if reader.eat(word) {
            // `{end.x}` and `{ending}` are fields.
            if matches!(reader.peek(), None | Some(' ' | '\t' | '}' | '$' | '@'))
                || (word == "range" && reader.peek() == Some('.'))
            {
                return Some(word.to_owned());
            }
            reader.at = start;
        }
    }
    None
}
