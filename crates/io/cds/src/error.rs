//! Why a configuration could not be had from an origin.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use stunner_config::Problem;
use tokio_tungstenite::tungstenite;

use crate::origin::OriginError;

/// Largest configuration that is read, from a file or the network.
pub(crate) const MAX_CONFIG_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Origin(#[from] OriginError),
    #[error("cannot read config file `{}`", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("config file `{}` is empty", path.display())]
    EmptyFile { path: PathBuf },
    #[error("the config from `{place}` is larger than 16 MiB")]
    TooLarge { place: String },
    #[error("the config from `{place}` is not UTF-8 text")]
    NotText { place: String },
    #[error("cannot connect to `{server}`")]
    Connect {
        server: String,
        #[source]
        source: io::Error,
    },
    #[error("`{server}` did not {step} within {}s", after.as_secs_f32())]
    Timeout {
        server: String,
        step: &'static str,
        after: Duration,
    },
    #[error("no TLS connection to `{server}`")]
    Tls {
        server: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot read root certificates")]
    Roots {
        #[source]
        source: io::Error,
    },
    #[error("no root certificates to check `{server}` against")]
    NoRoots { server: String },
    #[error("cannot read the token file `{}`", path.display())]
    Token {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("HTTP exchange with `{server}` failed")]
    Http {
        server: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("`{server}` answered {status} to `{target}`{}", with_colon(message))]
    Status {
        server: String,
        target: String,
        status: u16,
        message: String,
    },
    #[error("WebSocket to `{server}` failed")]
    WebSocket {
        server: String,
        #[source]
        source: Box<tungstenite::Error>,
    },
    #[error("`{server}` closed the WebSocket")]
    Closed { server: String },
    #[error("`{server}` sent a binary frame")]
    BinaryFrame { server: String },
    #[error("the config from `{place}` has {}", count(problems))]
    Invalid {
        place: String,
        problems: Vec<Problem>,
    },
}

impl LoadError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            LoadError::Origin(error) => error.hint(),
            LoadError::File { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => {
                    "check the path; a discovery service is given as `HOST:PORT`"
                }
                io::ErrorKind::PermissionDenied => "let the user that stunnerd runs as read it",
                io::ErrorKind::IsADirectory => "give a file, not a folder",
                _ => return None,
            },
            LoadError::EmptyFile { .. } => "a config needs at least `version: v1` and `auth`",
            LoadError::TooLarge { .. } | LoadError::NotText { .. } => {
                "a config is YAML or JSON text of at most 16 MiB"
            }
            LoadError::Connect { .. } | LoadError::Timeout { .. } => {
                "check that the config discovery service runs and can be reached from here"
            }
            LoadError::Tls { .. } | LoadError::Roots { .. } | LoadError::NoRoots { .. } => {
                "name a PEM file with the right root certificates in SSL_CERT_FILE"
            }
            LoadError::Status { status: 404, .. } => {
                "check the id: it is `NAMESPACE/NAME` of the Gateway"
            }
            LoadError::Status {
                status: 401 | 403, ..
            } => "the discovery service wants a valid token, or another Host",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Whether the origin said nothing at all, so that what it said last may stand in.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(
            self,
            LoadError::Connect { .. }
                | LoadError::Timeout { .. }
                | LoadError::Tls { .. }
                | LoadError::Http { .. }
                | LoadError::WebSocket { .. }
                | LoadError::Closed { .. }
                | LoadError::Status { status: 500.., .. }
        )
    }

    /// The error and its causes on one line, for a log.
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

fn with_colon(message: &str) -> String {
    match message {
        "" => String::new(),
        message => format!(": {message}"),
    }
}

fn count(problems: &[Problem]) -> String {
    match problems.iter().filter(|problem| problem.is_error()).count() {
        1 => "1 error".to_owned(),
        errors => format!("{errors} errors"),
    }
}
