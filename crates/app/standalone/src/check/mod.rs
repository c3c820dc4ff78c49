//! `stunner check`.

use std::process::ExitCode;

use crate::cli::CheckOptions;

pub fn check(_options: CheckOptions) -> ExitCode {
    ExitCode::FAILURE
}
