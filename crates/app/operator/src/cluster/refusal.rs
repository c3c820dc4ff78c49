//! What the API server's refusals mean.

use std::fmt;
use std::time::Duration;

/// How long the API server must have refused before we go on without what it refuses.
const BELIEVED_AFTER: Duration = Duration::from_millis(2500);

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
            403 => Refusal::Forbidden(said),
            // Credentials are being renewed, or are those of nobody: not an answer about rights.
            401 => Refusal::Unreachable(format!("it does not accept our credentials: {said}")),
            404 => Refusal::NotFound(said),
            409 if status.reason == "AlreadyExists" => Refusal::AlreadyExists,
            409 => Refusal::Conflict,
            // Overload and start-up: the same request may well succeed later.
            429 | 500..=599 => Refusal::Unreachable(said),
            _ => Refusal::Other(said),
        }
    }

    /// Whether asking again will get the same answer until somebody changes something. An API server that has just
    /// started may not know all roles and kinds yet, so a refusal counts only after it has been asked for a while.
    pub fn is_definite(&self, asked_for: Duration) -> bool {
        match self {
            Refusal::Forbidden(_) | Refusal::NotFound(_) => asked_for >= BELIEVED_AFTER,
            Refusal::Other(_) | Refusal::AlreadyExists => true,
            Refusal::Unreachable(_) | Refusal::Conflict => false,
        }
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
                write!(f, "the API server cannot be reached or used: {said}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn status(code: u16, reason: &str) -> Status {
        Status::failure("said", reason).with_code(code)
    }

    #[test]
    fn answers_are_told_from_failures_to_answer() {
        let long = BELIEVED_AFTER;
        for (code, reason, definite) in [
            (403, "Forbidden", true),
            (404, "NotFound", true),
            (409, "AlreadyExists", true),
            (422, "Invalid", true),
            (401, "Unauthorized", false),
            (409, "Conflict", false),
            (429, "TooManyRequests", false),
            (500, "InternalError", false),
            (503, "ServiceUnavailable", false),
        ] {
            let refusal = Refusal::of_status(&status(code, reason));
            assert_eq!(refusal.is_definite(long), definite, "{code}");
        }
    }

    #[test]
    fn a_server_that_has_just_started_is_not_believed_at_once() {
        for code in [403, 404] {
            let refusal = Refusal::of_status(&status(code, ""));
            assert!(!refusal.is_definite(Duration::ZERO), "{code}");
        }
    }
}
