//! How much it matters that something in a text is wrong.

/// How much a problem with a text matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// What it is about cannot be used.
    Error,
    /// What it is about is used, but probably does not say what its author means, or should be written otherwise.
    Warning,
}

impl Severity {
    /// The word used in diagnostics.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}
