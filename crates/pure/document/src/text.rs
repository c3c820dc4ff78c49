//! Bytes as text.

use std::fmt;

use crate::node::Place;

/// Why bytes are no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotText {
    Utf16,
    /// A NUL byte, which no text has.
    Binary(Place),
    /// Not UTF-8.
    Encoding(Place),
}

impl NotText {
    /// Where the first byte is that shows it.
    pub fn place(self) -> Place {
        match self {
            NotText::Utf16 => Place::START,
            NotText::Binary(place) | NotText::Encoding(place) => place,
        }
    }

    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            NotText::Utf16 => "save it as UTF-8",
            NotText::Binary(_) => {
                "this is a binary file; move it elsewhere, or give it another ending"
            }
            NotText::Encoding(_) => {
                "save it as UTF-8; if it is a binary file, move it elsewhere or give it another ending"
            }
        }
    }
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotText::Utf16 => "the text is encoded in UTF-16, not in UTF-8",
            NotText::Binary(_) => "not a text: it holds a NUL byte",
            NotText::Encoding(_) => "not a text in UTF-8",
        })
    }
}

impl std::error::Error for NotText {}

/// The text that bytes are, without a byte order mark.
pub fn text(bytes: &[u8]) -> Result<&str, NotText> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if is_utf16(bytes) {
        return Err(NotText::Utf16);
    }
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(NotText::Binary(place(bytes, at)));
    }
    std::str::from_utf8(bytes).map_err(|error| NotText::Encoding(place(bytes, error.valid_up_to())))
}

/// By the byte order mark, or by the zeros around the first two characters, which are ASCII in YAML and JSON (RFC 4627 §3).
fn is_utf16(bytes: &[u8]) -> bool {
    let printable = |byte: u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [0, a, 0, b, ..] | [a, 0, b, 0, ..] => printable(*a) && printable(*b),
        _ => false,
    }
}

fn place(bytes: &[u8], at: usize) -> Place {
    let before = bytes.get(..at).unwrap_or(bytes);
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let start = before.iter().rposition(|&byte| byte == b'\n');
    let start = start.map_or(0, |newline| newline + 1);
    let column = 1 + String::from_utf8_lossy(&before[start..]).chars().count();
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place {
        line: number(line),
        column: number(column),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert_eq!(text(b"\xef\xbb\xbfa: 1"), Ok("a: 1"));
        assert_eq!(text(b""), Ok(""));
    }

    #[test]
    fn utf_16_is_named_with_and_without_its_mark() {
        let little =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        assert_eq!(text(&little("\u{feff}kind: Gateway")), Err(NotText::Utf16));
        assert_eq!(text(&little("kind: Gateway")), Err(NotText::Utf16));
        assert_eq!(text(b"\0k\0i\0n\0d"), Err(NotText::Utf16));
    }

    #[test]
    fn what_is_no_text_is_shown_where_it_begins() {
        let place = |line, column| Place { line, column };
        assert_eq!(
            text(b"a: 1\nb: \xc3\xa4\0"),
            Err(NotText::Binary(place(2, 5)))
        );
        assert_eq!(text(b"a: \xff"), Err(NotText::Encoding(place(1, 4))));
        assert_eq!(
            text(b"\x7fELF\x02\x01\x01\0"),
            Err(NotText::Binary(place(1, 8)))
        );
    }
}
