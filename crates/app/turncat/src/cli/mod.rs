//! The command line: what can be said ([`flags`]), what it means ([`Options`]) and how mistakes are answered.
//!
//! [`parse`] is a function of its arguments: the process environment comes in as one, and nothing is printed there.

mod flags;
mod help;
mod options;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use stunner_flags::{EXIT_PROBLEM, EXIT_USAGE, Environment, UsageError, report};
use thiserror::Error;

pub use help::{help, man};
pub use options::Options;

use crate::ends::{LocalEndError, PeerEndError};
use crate::server::ServerEndError;

/// What the user wants.
#[derive(Debug)]
pub enum Command {
    Run(Box<Options>),
    /// Print the help and exit.
    Help,
    /// Print the version and exit.
    Version,
}

/// Why a command line is not understood.
#[derive(Debug, Error)]
pub enum CommandLineError {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error(transparent)]
    Local(#[from] LocalEndError),
    #[error(transparent)]
    Server(#[from] ServerEndError),
    #[error(transparent)]
    Peer(#[from] PeerEndError),
}

impl CommandLineError {
    /// The lines for the terminal.
    pub fn report(&self) -> String {
        match self {
            CommandLineError::Usage(error) => error.report(),
            CommandLineError::Local(error) => report(error, Some(error.hint())),
            CommandLineError::Server(error) => report(error, Some(error.hint())),
            CommandLineError::Peer(error) => report(error, Some(error.hint())),
        }
    }

    /// A malformed URI is a problem, not wrong usage.
    pub fn exit_code(&self) -> u8 {
        match self {
            CommandLineError::Usage(_) => EXIT_USAGE,
            _ => EXIT_PROBLEM,
        }
    }
}

/// Reads a command line. `args` begins with the name of the program, as [`std::env::args_os`] does.
pub fn parse(
    args: impl Iterator<Item = OsString>,
    env: Environment<'_>,
) -> Result<Command, CommandLineError> {
    let given = help::PROGRAM.read(args, env)?;
    if given.switch(&flags::HELP)? {
        return Ok(Command::Help);
    }
    if given.switch(&flags::VERSION)? {
        return Ok(Command::Version);
    }
    // The arguments are not repeated: one of them may hold a password.
    let [local, server, peer] = given.positionals() else {
        let count = given.positionals().len();
        return Err(CommandLineError::Usage(UsageError::new(
            format!("`turncat` takes three arguments, not {count}"),
            "for example `turncat udp://127.0.0.1:9000 turn://USER:PASSWORD@HOST:3478 udp://10.0.0.5:5004`; \
             see `turncat --help`",
        )));
    };
    let (local, server, peer) = (local.parse()?, server.parse()?, peer.parse()?);
    let options = Options::from_given(&given, local, server, peer)?;
    Ok(Command::Run(Box::new(options)))
}
