//! The command line: what can be said ([`flags`]) and what it means ([`Options`]).
//!
//! [`parse`] is a function of its arguments: the process environment comes in as one, and nothing is printed here.

mod flags;
mod help;
mod logs;
mod options;

#[cfg(test)]
mod tests;

use std::ffi::OsString;

use stunner_flags::{Environment, UsageError};

pub use help::{help, man};
pub use logs::Logs;
pub use options::Options;

/// What the user wants.
#[derive(Debug)]
pub enum Command {
    Run(Box<Options>),
    /// Print this text and exit.
    Help(String),
    /// Print the version and exit.
    Version,
}

/// Reads a command line. `args` begins with the name of the program, as [`std::env::args_os`] does.
pub fn parse(
    args: impl Iterator<Item = OsString>,
    env: Environment<'_>,
) -> Result<Command, UsageError> {
    let given = help::PROGRAM.read(args, env)?;
    if given.switch(&flags::HELP)? {
        return Ok(Command::Help(help()));
    }
    if given.switch(&flags::VERSION)? {
        return Ok(Command::Version);
    }
    match given.positionals() {
        [] => Ok(Command::Run(Box::new(Options::from_given(&given, env)?))),
        [word, ..] => Err(UsageError::new(
            format!("unexpected argument `{word}`"),
            "the operator takes flags only; a value may need `=`, as in `--leader-elect=true`",
        )),
    }
}
