//! What the API server's refusals mean.

use std::fmt;

/// Why a request had no success, as far as it matters what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// RBAC says no; the server's words.
    Forbidden(String),
    /// There is no such object, kind or namespace.
    NotFound(String),
    /// It was made by somebody else in the meantime.
    AlreadyExists,
    /// Somebody else changed it in the meantime.
    Conflict,
    /// The server's words of anything else it said.
    Other(String),
    /// The server was not reached, or gave no sensible answer.
    Unreachable(String),
}

impl Refusal {
    pub fn of(error: &kube::Error) -> Refusal {
        match error {
            kube::Error::Api(status) => Refusal::of_status(status),
            error => Refusal::Unreachable(innermost(error)),
        }
    }

    pub fn of_status(status: &kube::core::Status) -> Refusal {
        let said = status.message.clone();
        match status.code {
            401 | 403 => Refusal::Forbidden(said),
            404 => Refusal::NotFound(said),
            409 if status.reason == "AlreadyExists" => Refusal::AlreadyExists,
            409 => Refusal::Conflict,
            // Overload and start-up: the same request may well succeed later.
            429 | 500..=599 => Refusal::Unreachable(said),
            _ => Refusal::Other(said),
        }
    }

    /// Whether asking again will get the same answer until somebody changes something.
    pub fn is_definite(&self) -> bool {
        !matches!(self, Refusal::Unreachable(_) | Refusal::Conflict)
    }
}

/// The words of the library around them ("ServiceError: client error (Connect)") say less than the cause itself.
fn innermost(error: &kube::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Forbidden(said) | Refusal::NotFound(said) | Refusal::Other(said) => {
                f.write_str(said)
            }
            Refusal::AlreadyExists => f.write_str("it exists already"),
            Refusal::Conflict => f.write_str("it was changed by somebody else at the same time"),
            Refusal::Unreachable(said) => {
                write!(
                    f,
                    "the API server cannot be reached or does not answer: {said}"
                )
            }
        }
    }
}
