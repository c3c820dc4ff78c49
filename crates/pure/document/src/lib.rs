//! YAML and JSON texts as trees in which every node knows its place.
//!
//! **What it is.** [`read_first`] gives the first document of a text, [`documents`] all of them; a syntax error in
//! one does not hide the others. The text comes from files and from the network, so everything is
//! bounded by [`Limits`]: bytes, nesting, keys, and the number of nodes *after* aliases are resolved.
//! [`text`] turns bytes into text or says what they are instead, [`nearest`] finds the known word
//! that an unknown one was probably meant to be, and [`Severity`] grades what the readers of documents complain about.
//!
//! **What it is not.** It knows no schema. A scalar is kept as text with a note on whether it was quoted: `no` may be a word or
//! a truth value, and only the schema can tell which. Repeated keys are kept for the schema's
//! owner to complain about.

#![forbid(unsafe_code)]

mod build;
mod documents;
mod error;
mod json;
mod limits;
mod node;
mod severity;
mod suggest;
mod text;

pub use documents::{Document, First, documents, read_first};
pub use error::DocumentError;
pub use limits::{Keys, Limits};
pub use node::{Entry, Node, Place, Scalar, Value};
pub use severity::Severity;
pub use suggest::nearest;
pub use text::{NotText, text};
