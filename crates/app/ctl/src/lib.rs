//! Looks into gateways, their dataplanes and the way to them.

#![forbid(unsafe_code)]

pub mod cli {
    use std::process::ExitCode;

    /// The program, from its arguments to its exit code.
    pub fn main() -> ExitCode {
        ExitCode::SUCCESS
    }
}
