//! The command line of `stunnerd`: what can be said ([`flags`], and [`serving`] for what other programs take too), what
//! it means ([`Options`]), how mistakes are answered ([`UsageError`]), and the `check` command ([`check`]).
//!
//! [`parse`] is a function of its arguments: the process environment comes in as one, and nothing is printed here.

mod check;
mod flags;
mod help;
mod options;
mod report;
pub mod serving;

#[cfg(test)]
mod tests;

use std::ffi::OsString;

pub use check::{CheckReport, check};
pub use help::{help, man};
pub use options::{KubernetesFlags, LogFormat, Options};
pub use report::report_load;
pub use stunner_flags::{EXIT_OK, EXIT_PROBLEM, EXIT_USAGE, UsageError, report};

/// What the user wants.
#[derive(Debug)]
pub enum Command {
    /// Serve.
    Run(Box<Options>),
    /// Say everything that is wrong with the config at `origin`, and exit.
    Check {
        origin: String,
        options: Box<Options>,
    },
    /// Print this text and exit.
    Help(String),
    /// Print the version and exit.
    Version,
}

/// Reads a command line. `args` begins with the name of the program, as [`std::env::args_os`] does.
pub fn parse(
    args: impl Iterator<Item = OsString>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Command, UsageError> {
    let given = help::PROGRAM.read(args, env)?;
    if given.switch(&flags::HELP)? {
        return Ok(Command::Help(help()));
    }
    if given.switch(&flags::VERSION)? {
        return Ok(Command::Version);
    }
    let options = |turn_uri| Options::from_given(&given, turn_uri).map(Box::new);
    match given.positionals() {
        [] => Ok(Command::Run(options(None)?)),
        [word] if word == "check" => Err(UsageError::new(
            "`check` needs a config origin",
            "for example `stunnerd check /etc/stunnerd/stunnerd.yaml`",
        )),
        [word, origin] if word == "check" => Ok(Command::Check {
            origin: origin.clone(),
            options: options(None)?,
        }),
        [word, _, extra, ..] if word == "check" => Err(UsageError::new(
            format!("unexpected argument `{extra}`"),
            "`check` takes one config origin",
        )),
        [turn_uri] => Ok(Command::Run(options(Some(turn_uri.clone()))?)),
        // Not repeated: it may be a URI with a password.
        [_, _, ..] => Err(UsageError::new(
            "more than one argument",
            "give one TURN URI, or `check` and a config origin; see `stunnerd --help`",
        )),
    }
}
