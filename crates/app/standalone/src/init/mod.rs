//! `stunner init`.

use std::process::ExitCode;

use crate::cli::InitOptions;

pub fn init(_options: InitOptions) -> ExitCode {
    ExitCode::FAILURE
}
