//! The command line: which command is meant, and what was said to it.
//!
//! [`parse`] is a function of its arguments: the process environment comes in as one, and nothing is printed there.
//! Flags may stand before the command and after it, as users of kubectl are used to: `stunnerctl -n stunner config gw`.

pub(crate) mod flags;
mod globals;
mod help;
#[cfg(test)]
mod tests;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use stunner_flags::{EXIT_USAGE, Environment, Given, UsageError};
use stunner_telemetry::logging;

pub(crate) use globals::Globals;
pub use help::{help, man};

use crate::VERSION;
use crate::commands::{self, Command};
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// What the user wants.
#[derive(Debug)]
enum Wish {
    Command(Box<Command>, Box<Globals>),
    /// Print this text and exit.
    Print(String),
}

/// Reads a command line. `args` begins with the name of the program, as [`std::env::args_os`] does.
fn parse(args: impl Iterator<Item = OsString>, env: Environment<'_>) -> Result<Wish, UsageError> {
    let line = words::split(args);
    let Some(name) = line.command else {
        if line.help {
            return Ok(Wish::Print(help::overview()));
        }
        if line.version {
            return Ok(Wish::Print(format!("stunnerctl {VERSION}\n")));
        }
        // A wrong flag is told before the missing command is.
        help::ROOT.read(line.words.into_iter(), env)?;
        return Err(UsageError::new(
            "`stunnerctl` needs a command",
            "start with `stunnerctl config` or `stunnerctl doctor`; `stunnerctl help` lists all commands",
        ));
    };
    match name.as_str() {
        "help" => return help_of(&help::ROOT.read(line.words.into_iter(), env)?),
        "version" => return version(&help::ROOT.read(line.words.into_iter(), env)?),
        _ => {}
    }
    let Some(entry) = commands::find(&name) else {
        return Err(help::unknown(&name));
    };
    let program = &entry.program;
    let given = program.read(line.words.into_iter(), env)?;
    if given.switch(&flags::HELP)? {
        return Ok(Wish::Print(program.help()));
    }
    let globals = Globals::from_given(&given, entry.has_wide)?;
    let command = (entry.read)(&given)?;
    Ok(Wish::Command(Box::new(command), Box::new(globals)))
}

fn version(given: &Given<'_>) -> Result<Wish, UsageError> {
    match given.positionals() {
        [] => Ok(Wish::Print(format!("stunnerctl {VERSION}\n"))),
        [extra, ..] => Err(UsageError::new(
            format!("unexpected argument `{extra}`"),
            "`version` takes none",
        )),
    }
}

/// `stunnerctl help COMMAND` is the same as `stunnerctl COMMAND --help`.
fn help_of(given: &Given<'_>) -> Result<Wish, UsageError> {
    match given.positionals() {
        [] => Ok(Wish::Print(help::overview())),
        [name] => match commands::find(name) {
            Some(entry) => Ok(Wish::Print(entry.program.help())),
            None if ["help", "version"].contains(&name.as_str()) => {
                Ok(Wish::Print(help::overview()))
            }
            None => Err(help::unknown(name)),
        },
        [_, extra, ..] => Err(UsageError::new(
            format!("unexpected argument `{extra}`"),
            "`help` takes one command",
        )),
    }
}

/// The `stunnerctl` program: reads the command line, does what it says, gives the exit code.
pub fn main() -> ExitCode {
    let env = |name: &str| std::env::var(name).ok();
    let mut out = Output::of_process();
    match parse(std::env::args_os(), &env) {
        Ok(Wish::Print(text)) => exit(out.text(&text).map(|()| Outcome::Fine), &mut out),
        Ok(Wish::Command(command, globals)) => {
            let log = logging::init_on(logging::Format::Text, &globals.log, std::io::stderr()).ok();
            let mut runtime = tokio::runtime::Builder::new_multi_thread();
            let ended = stunner_process::block_on(&mut runtime, command.run(*globals, &mut out))
                .unwrap_or_else(|error| {
                    Err(Failure::new(
                        format!("cannot start: {error}"),
                        "the limits of this process (`ulimit -a`) may be too low",
                    ))
                });
            if let Some(log) = log {
                log.flush(std::time::Duration::from_millis(200));
            }
            exit(ended, &mut out)
        }
        Err(usage) => {
            out.report(&Failure::Usage(usage));
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn exit(ended: Result<Outcome, Failure>, out: &mut Output<'_>) -> ExitCode {
    match ended {
        Ok(outcome) => ExitCode::from(outcome.exit_code()),
        Err(failure) => {
            out.report(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
