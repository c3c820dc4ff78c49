//! How mistakes are said on the terminal: `error:`, `caused by:` and `hint:` lines.

use std::error::Error;

/// A mistake on the command line or in the environment that stands for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UsageError {
    message: String,
    hint: String,
}

impl UsageError {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> UsageError {
        UsageError {
            message: message.into(),
            hint: hint.into(),
        }
    }

    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// The lines for the terminal.
    pub fn report(&self) -> String {
        report(self, Some(&self.hint))
    }
}

/// An error with its causes and what to do about it, one line each.
pub fn report(error: &dyn Error, hint: Option<&str>) -> String {
    let mut text = format!("error: {error}\n");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!("caused by: {error}\n"));
        cause = error.source();
    }
    if let Some(hint) = hint {
        text.push_str(&format!("hint: {hint}\n"));
    }
    text
}
