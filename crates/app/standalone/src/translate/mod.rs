//! `stunner translate`.

use std::process::ExitCode;

use crate::cli::TranslateOptions;

pub fn translate(_options: TranslateOptions) -> ExitCode {
    ExitCode::FAILURE
}
