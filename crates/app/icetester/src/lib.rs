//! A WHIP server (RFC 9725) whose peer echoes: the far end of ICE tests.

#![forbid(unsafe_code)]

pub mod cli {
    use std::process::ExitCode;

    /// The program, from its arguments to its exit code.
    pub fn main() -> ExitCode {
        ExitCode::SUCCESS
    }
}
