//! What is wrong with a configuration text, and where.

use std::fmt;

pub use stunner_document::Severity;

/// One finding about a configuration text.
///
/// The texts never contain the value of a secret field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub severity: Severity,
    /// Where in the document, such as `listeners[1].protocol`; empty for the document itself.
    pub path: String,
    /// Line of the text, from 1.
    pub line: Option<u32>,
    /// Column of the text in characters, from 1.
    pub column: Option<u32>,
    pub message: String,
    /// What to change.
    pub hint: Option<String>,
}

impl Problem {
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// `LINE:COL: error: path: message`, with the hint on a line of its own.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "{line}:{}: ", self.column.unwrap_or(1))?;
        }
        write!(f, "{}: ", self.severity.as_str())?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}
