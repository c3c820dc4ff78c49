//! Why a write did not happen.

use std::time::Duration;

use kube::core::Status;

/// How long a request may take before it counts as failed.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WriteError {
    /// The API server understood the request and does not want it; only a change of something helps.
    #[error("{0}")]
    Refused(String),
    /// The object has changed since it was read.
    #[error("the object was changed by somebody else at the same time")]
    Conflict,
    #[error("the object does not exist")]
    NotFound,
    /// There is such an object, and it is somebody else's.
    #[error("the name is taken by an object that is not ours")]
    Taken,
    /// The object is on its way out; it is made anew once it is gone.
    #[error("the object is being deleted")]
    Terminating,
    /// The API server cannot be reached, or cannot answer now.
    #[error("the API server does not answer: {0}")]
    Unavailable(String),
}

impl WriteError {
    /// Whether status and Events should say it: it will not go away by itself.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, WriteError::Refused(_) | WriteError::Taken)
    }
}

impl From<kube::Error> for WriteError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => WriteError::from(*status),
            // The whole chain: the outermost error of a connection says little.
            other => {
                let mut message = other.to_string();
                let mut source = std::error::Error::source(&other);
                while let Some(cause) = source {
                    let cause_message = cause.to_string();
                    if !message.contains(&cause_message) {
                        message = format!("{message}: {cause_message}");
                    }
                    source = cause.source();
                }
                WriteError::Unavailable(message)
            }
        }
    }
}

impl From<Status> for WriteError {
    fn from(status: Status) -> Self {
        match status.code {
            // A create in a namespace that does not exist is answered with 404 as well, and names the namespace.
            404 if names_namespace(&status) => WriteError::Refused(status.message),
            404 => WriteError::NotFound,
            409 => WriteError::Conflict,
            // Unauthorized: our credentials are being renewed. Too many requests: later.
            401 | 408 | 429 => WriteError::Unavailable(status.message),
            400..=499 => WriteError::Refused(status.message),
            _ => WriteError::Unavailable(status.message),
        }
    }
}

fn names_namespace(status: &Status) -> bool {
    let details = status.details.as_ref();
    details.is_some_and(|details| details.kind == "namespaces")
}

/// Bounds a request in time: a write that never ends would hold up its unit for ever.
pub(super) async fn bounded<T>(
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, WriteError> {
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(WriteError::Unavailable(format!(
            "no answer within {} s",
            TIMEOUT.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, message: &str) -> Status {
        Status::failure(message, "").with_code(code)
    }

    #[test]
    fn a_validation_error_is_a_refusal_and_an_overload_is_not() {
        let refused = WriteError::from(status(422, "provided port is already allocated"));
        assert_eq!(
            refused,
            WriteError::Refused("provided port is already allocated".to_owned())
        );
        assert!(refused.is_refusal());
        assert!(WriteError::from(status(403, "denied")).is_refusal());
        for code in [401, 409, 429, 500, 503] {
            assert!(!WriteError::from(status(code, "")).is_refusal(), "{code}");
        }
    }

    #[test]
    fn a_missing_namespace_is_a_refusal() {
        let mut missing = status(404, "namespaces \"x\" not found");
        assert_eq!(WriteError::from(missing.clone()), WriteError::NotFound);
        missing.details = serde_json::from_str(r#"{"kind": "namespaces"}"#).ok();
        assert!(WriteError::from(missing).is_refusal());
    }
}
