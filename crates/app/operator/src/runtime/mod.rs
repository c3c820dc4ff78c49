//! The life of the process.

use std::process::ExitCode;

/// The `stunner-gateway-operator` program: reads the command line, does what it says, gives the exit code.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
