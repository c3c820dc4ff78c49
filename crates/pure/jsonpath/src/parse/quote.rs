//! Text in quotes, with the escapes of Go.

use super::{ParseError, Reader};

/// What stands between the quotes, backslashes and all, to behind the closing one.
pub(super) fn raw(reader: &mut Reader, mark: char) -> Result<String, ParseError> {
    let start = reader.at;
    reader.at += 1;
    let mut text = String::new();
    loop {
        match reader.next() {
            None | Some('\n') => {
                return reader.wrong_at(
                    start,
                    format!("the text that begins with {mark} has no end"),
                );
            }
            Some(c) if c == mark => return Ok(text),
            Some('\\') => {
                text.push('\\');
                text.extend(reader.next().filter(|c| *c != '\n'));
            }
            Some(c) => text.push(c),
        }
    }
}

/// The text, from its opening quote to behind the closing one.
pub(super) fn quoted(reader: &mut Reader) -> Result<String, ParseError> {
    let start = reader.at;
    let mark = reader.peek().unwrap_or('"');
    let text = raw(reader, mark)?;
    let mut chars = text.chars();
    let mut plain = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match escape(&mut chars, mark) {
                Some(c) => plain.push(c),
                None => {
                    return reader.wrong_at(
                        start,
                        "there is an escape that means nothing in the text that begins",
                    );
                }
            },
            c => plain.push(c),
        }
    }
    Ok(plain)
}

fn escape(chars: &mut std::str::Chars<'_>, mark: char) -> Option<char> {
    match chars.next()? {
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\u{b}'),
        '\\' => Some('\\'),
        'x' => number(chars, 2, 16, 0),
        'u' => number(chars, 4, 16, 0),
        'U' => number(chars, 8, 16, 0),
        c @ '0'..='7' => number(chars, 2, 8, c.to_digit(8)?),
        c if c == mark => Some(c),
        _ => None,
    }
}

/// The character whose number has `count` more digits.
fn number(chars: &mut std::str::Chars<'_>, count: usize, radix: u32, first: u32) -> Option<char> {
    let mut value = first;
    for _ in 0..count {
        value = value.checked_mul(radix)? + chars.next()?.to_digit(radix)?;
    }
    char::from_u32(value)
}
