//! What JSON may hold and YAML may not.

use std::borrow::Cow;

use crate::build::Origin;

/// JSON strings may hold characters as they are that YAML wants escaped (YAML 1.2 §5.1), and other
/// programs' JSON does.
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
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
pub(crate) fn values(text: &str) -> impl Iterator<Item = (&str, Origin)> {
    let mut rest = Some((text, Origin::default()));
    std::iter::from_fn(move || {
        let (text, origin) = rest.take()?;
        let Some(end) = end_of_value(text) else {
            return Some((text, origin));
        };
        let (value, later) = text.split_at(end);
        if !later.trim_start().starts_with('{') {
            return Some((text, origin));
        }
        rest = Some((later, origin.after(value)));
        Some((value, origin))
    })
}

/// Where the JSON object at the beginning of a text ends.
fn end_of_value(text: &str) -> Option<usize> {
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
