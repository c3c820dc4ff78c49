//! What a program says. Unlike with `print!` and `eprint!`, a stream that is closed or full ends nothing by a panic.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Tells something on standard error. Where that does not work, there is nowhere left to complain to.
pub fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints a result on standard output; whether that worked. A reader that has seen enough, such as `head`, is no
/// problem; a full disk is one, as what it holds looks like the whole.
#[must_use]
pub fn print(text: &str) -> bool {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            say(&format!(
                "error: cannot write to standard output\ncaused by: {error}\n"
            ));
            false
        }
        _ => true,
    }
}

/// The whole work of a program that was asked for a text, such as its help.
pub fn print_only(text: &str) -> ExitCode {
    match print(text) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
