//! The command line: what can be said ([`flags`]) and what it means ([`Options`]).
//!
//! [`parse`] is a function of its arguments: the process environment comes in as one, and nothing is printed here.

mod flags;
mod help;
mod options;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::process::ExitCode;

use stunner_flags::{EXIT_USAGE, Environment, UsageError};
use stunner_process::{print_only, say};

pub use help::{help, man};
pub use options::{Options, Review};

use crate::VERSION;

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
        [] => Ok(Command::Run(Box::new(Options::from_given(&given)?))),
        [word, ..] => Err(UsageError::new(
            format!("unexpected argument `{word}`"),
            "authd takes flags only; a path is given by --config",
        )),
    }
}

/// The `authd` program: reads the command line, does what it says, gives the exit code.
pub fn main() -> ExitCode {
    main_with(std::env::args_os())
}

/// The program with these arguments, of which the first is its name.
pub fn main_with(args: impl Iterator<Item = OsString>) -> ExitCode {
    let env = |name: &str| std::env::var(name).ok();
    match parse(args, &env) {
        Ok(Command::Help(text)) => print_only(&text),
        Ok(Command::Version) => print_only(&format!("authd {VERSION}\n")),
        Ok(Command::Run(options)) => crate::run::execute(*options),
        Err(usage) => {
            say(&usage.report());
            ExitCode::from(EXIT_USAGE)
        }
    }
}
