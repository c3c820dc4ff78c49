//! What is wrong with manifests, and where.

use std::fmt;

use serde::{Serialize, Serializer};
use stunner_document::Place;
pub use stunner_document::Severity;

/// The class of a [`Problem`], for programs; people read the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The file cannot be opened or read.
    Unreadable,
    /// More bytes than a file may have.
    TooLarge,
    /// Not text in UTF-8.
    Encoding,
    /// Neither YAML nor JSON.
    Syntax,
    /// A template that has to be rendered first.
    Template,
    /// A key that is given twice in one mapping.
    DuplicateKey,
    /// No `kind` or `apiVersion`, or one of ours with an unknown version.
    Kind,
    /// A version from before the current one; it has been read as the current one.
    OldVersion,
    /// No name, or one that Kubernetes does not allow.
    Name,
    UnknownField,
    WrongType,
    WrongValue,
    MissingField,
    /// Read though Kubernetes would refuse it.
    Leniency,
    /// Not an IP address or prefix.
    Prefix,
    /// `port` and `endPort` that are no range.
    PortRange,
    /// An annotation of ours whose value has no meaning.
    Annotation,
    /// Something named that no file has.
    DanglingReference,
    DuplicateObject,
    DuplicateListener,
    /// A file without any manifest of ours.
    Empty,
    /// Allowed, and probably not meant.
    Suspicious,
}

/// One finding about a file.
///
/// The texts never contain the value of a secret field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The name that the file was read under.
    pub file: String,
    /// Line of the file, from 1.
    pub line: u32,
    /// Column of the file in characters, from 1.
    pub column: u32,
    #[serde(serialize_with = "severity_word")]
    pub severity: Severity,
    #[serde(skip)]
    pub fault: Fault,
    /// Where in the object, such as `spec.listeners[1].protocol`; empty for the whole.
    pub field: String,
    pub message: String,
    /// What to change.
    pub hint: Option<String>,
}

impl Problem {
    /// An error about the field at `place`.
    pub fn error(
        file: &str,
        place: Place,
        fault: Fault,
        field: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Problem {
            file: file.to_owned(),
            line: place.line,
            column: place.column,
            severity: Severity::Error,
            fault,
            field: printable(field.into()),
            message: printable(message.into()),
            hint: None,
        }
    }

    /// A warning about the field at `place`.
    pub fn warning(
        file: &str,
        place: Place,
        fault: Fault,
        field: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Problem {
            severity: Severity::Warning,
            ..Problem::error(file, place, fault, field, message)
        }
    }

    /// The same with a hint that says what to change.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Problem {
            hint: Some(printable(hint.into())),
            ..self
        }
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

fn severity_word<S: Serializer>(severity: &Severity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(severity.as_str())
}

/// Texts may quote what a file holds: that must neither break the lines of a report nor speak to a terminal.
fn printable(text: String) -> String {
    if text.contains(is_command) {
        return text.replace(is_command, " ");
    }
    text
}

/// Characters that do something: controls, the line breaks of Unicode, and those that turn the direction of a text.
fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `FILE:LINE:COL: error: MESSAGE`, with the hint on a line of its own.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { line, column, .. } = self;
        // Programs get the name as it is.
        let file = printable(self.file.clone());
        write!(f, "{file}:{line}:{column}: {}: ", self.severity.as_str())?;
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}
