//! The auth service: hands applications the TURN credentials and ICE configurations of gateways.

#![forbid(unsafe_code)]

pub mod cli {
    use std::process::ExitCode;

    /// The program, from its arguments to its exit code.
    pub fn main() -> ExitCode {
        ExitCode::SUCCESS
    }
}
