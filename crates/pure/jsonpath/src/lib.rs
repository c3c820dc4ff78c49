//! Output templates in kubectl's JSONPath dialect.
//!
//! **What it is.** A [`Template`] is text with expressions in braces (`{.items[*].name}`); filled in with a JSON value
//! it gives text, as `kubectl -o jsonpath=…` does: results of one expression are joined by spaces, objects and lists are
//! printed as JSON, `{range …}…{end}` repeats.
//!
//! **What it is not.** It is no RFC 9535: kubectl's dialect is older, and differs in quoting, filters and results.
//! Neither is it kubectl to the letter. Where kubectl refuses or prints nothing, this does what was meant:
//!
//! - a field that is nowhere is an error ([`RenderError::Missing`]), so that scripts notice; in a filter it is no match;
//! - the leading dot may be left out (`{admin.name}`), and so may the braces of a template that is one path;
//! - filters may be joined by `&&` and `||`, and nested; integers and fractions can be compared;
//! - `["key"]` is as good as `['key']`, `{.}` is the whole, `{..*}` is everything;
//! - the names of Go fields find the JSON fields they stand for (`{.Admin.Name}`).

#![forbid(unsafe_code)]

mod parse;
mod render;
mod template;

pub use parse::ParseError;
pub use render::RenderError;
pub use template::Template;
