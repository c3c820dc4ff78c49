//! Why there is no tree.

use std::fmt;

use crate::node::Place;

/// Why a document gives no tree. The texts never repeat any of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentError {
    /// `None` when it is about the text as a whole.
    pub place: Option<Place>,
    pub message: String,
    /// What to change.
    pub hint: Option<String>,
    /// The document is readable as such, and goes beyond a limit.
    pub beyond_limits: bool,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DocumentError {}

impl DocumentError {
    pub(crate) fn syntax(place: Place, message: impl Into<String>) -> Self {
        DocumentError {
            place: Some(place),
            message: message.into(),
            hint: None,
            beyond_limits: false,
        }
    }

    pub(crate) fn limit(place: Option<Place>, message: impl Into<String>) -> Self {
        DocumentError {
            place,
            message: message.into(),
            hint: None,
            beyond_limits: true,
        }
    }
}
