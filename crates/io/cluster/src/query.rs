//! Paths with parameters, for [`Http`](crate::Http).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but the unreserved characters of RFC 3986 §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The path with those of the parameters that have a value, in their order.
pub fn with_query(path: &str, parameters: &[(&str, Option<&str>)]) -> String {
    let mut text = path.to_owned();
    let given = parameters
        .iter()
        .filter_map(|(name, value)| Some((name, (*value)?)));
    for (number, (name, value)) in given.enumerate() {
        text.push(if number == 0 { '?' } else { '&' });
        text.push_str(&format!("{name}={}", encode(value)));
    }
    text
}

/// A text as a part of a path or as a value of a parameter.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}
