//! How a command fails, and what is told about it.

use std::error::Error;
use std::fmt;

use stunner_cluster::ClusterError;
use stunner_flags::{EXIT_OK, EXIT_PROBLEM, EXIT_USAGE, UsageError, report};

/// How a command ended that could do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Fine,
    /// The work was to find a problem, and there is one; it has been told.
    Problem,
}

impl Outcome {
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Outcome::Fine => EXIT_OK,
            Outcome::Problem => EXIT_PROBLEM,
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is in the way; the error and its causes are told, and the hint below them.
    Problem {
        error: Box<dyn Error + Send + Sync>,
        hint: Option<String>,
    },
    /// The command line is wrong.
    Usage(UsageError),
    /// Nobody reads the results any more, as after `| head -1`. There is nothing to tell and nobody to tell it to.
    ReaderGone,
}

impl Failure {
    pub(crate) fn new(
        error: impl Into<Box<dyn Error + Send + Sync>>,
        hint: impl Into<String>,
    ) -> Failure {
        Failure::Problem {
            error: error.into(),
            hint: Some(hint.into()),
        }
    }

    /// What to do about it, where that is known.
    pub(crate) fn hint(&self) -> Option<&str> {
        match self {
            Failure::Problem { hint, .. } => hint.as_deref(),
            Failure::Usage(_) | Failure::ReaderGone => None,
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Problem { .. } => EXIT_PROBLEM,
            Failure::Usage(_) => EXIT_USAGE,
            Failure::ReaderGone => EXIT_OK,
        }
    }

    /// The lines for the terminal.
    pub(crate) fn report(&self) -> String {
        match self {
            Failure::Problem { error, hint } => report(error.as_ref(), hint.as_deref()),
            Failure::Usage(usage) => usage.report(),
            Failure::ReaderGone => String::new(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Problem { error, .. } => error.fmt(f),
            Failure::Usage(usage) => usage.fmt(f),
            Failure::ReaderGone => f.write_str("nobody reads the results"),
        }
    }
}

impl From<UsageError> for Failure {
    fn from(usage: UsageError) -> Failure {
        Failure::Usage(usage)
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Failure {
        Failure::Problem {
            hint: error.hint(),
            error: error.into(),
        }
    }
}
