//! The command line: which command is meant ([`Command`]), what can be said to it ([`flags`]) and what that means
//! ([`RunOptions`] and the like).
//!
//! [`parse`] is a function of its arguments: the process environment comes in as one, and nothing is printed there.

pub(crate) mod flags;
mod help;
mod options;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::iter::once;
use std::path::Path;
use std::process::ExitCode;

use stunner_document::nearest;
use stunner_flags::{EXIT_USAGE, Environment, Program, UsageError};
use stunner_process::{print_only, say};

pub use help::{help, man};
pub use options::{
    CheckOptions, CheckOutput, InitOptions, RunOptions, RunOutput, TranslateOptions,
    TranslateOutput,
};

use crate::VERSION;
use crate::bench::BenchOptions;

/// What the user wants.
#[derive(Debug)]
pub enum Command {
    Run(Box<RunOptions>),
    Translate(TranslateOptions),
    Check(CheckOptions),
    Init(InitOptions),
    Bench(Box<BenchOptions>),
    /// The operator with these arguments, the name of the program first.
    Operator(Vec<OsString>),
    /// `stunnerd` with these arguments, the name of the program first.
    Dataplane(Vec<OsString>),
    /// `authd` with these arguments, the name of the program first.
    Auth(Vec<OsString>),
    /// Print this text and exit.
    Help(String),
    /// Print the version and exit.
    Version,
}

const COMMANDS: [&str; 10] = [
    "run",
    "translate",
    "check",
    "init",
    "bench",
    "operator",
    "dataplane",
    "auth",
    "version",
    "help",
];

/// Reads a command line. `args` begins with the name of the program, as [`std::env::args_os`] does.
pub fn parse(
    mut args: impl Iterator<Item = OsString>,
    env: Environment<'_>,
) -> Result<Command, UsageError> {
    let program = args.next().unwrap_or_default();
    // Called by the name of one of the other programs, as a link in a container image may have it, it is that program.
    match Path::new(&program).file_name().and_then(OsStr::to_str) {
        Some("stunnerd") => return Ok(Command::Dataplane(once(program).chain(args).collect())),
        Some("stunner-gateway-operator") => {
            return Ok(Command::Operator(once(program).chain(args).collect()));
        }
        Some("authd") => return Ok(Command::Auth(once(program).chain(args).collect())),
        _ => {}
    }
    let Some(command) = args.next() else {
        return Err(UsageError::new(
            "`stunner` needs a command",
            "start with `stunner run PATH` or `stunner init DIR`; `stunner help` lists all commands",
        ));
    };
    let name = command.to_string_lossy().into_owned();
    let mut args = once(command).chain(args);
    match name.as_str() {
        "run" => read(&help::RUN, args, env, |given| {
            RunOptions::from_given(given).map(|options| Command::Run(Box::new(options)))
        }),
        "translate" => read(&help::TRANSLATE, args, env, |given| {
            TranslateOptions::from_given(given).map(Command::Translate)
        }),
        "check" => read(&help::CHECK, args, env, |given| {
            CheckOptions::from_given(given).map(Command::Check)
        }),
        "init" => read(&help::INIT, args, env, |given| {
            InitOptions::from_given(given).map(Command::Init)
        }),
        "bench" => read(&help::BENCH, args, env, |given| {
            BenchOptions::from_given(given).map(|options| Command::Bench(Box::new(options)))
        }),
        "operator" => Ok(Command::Operator(args.collect())),
        "dataplane" => Ok(Command::Dataplane(args.collect())),
        "auth" => Ok(Command::Auth(args.collect())),
        "version" | "--version" => match args.nth(1) {
            None => Ok(Command::Version),
            Some(extra) => Err(unexpected(&extra, "`version` takes none")),
        },
        "help" | "--help" | "-h" => help_of(args.skip(1)),
        _ => Err(unknown(&name)),
    }
}

/// `stunner help COMMAND` is the same as `stunner COMMAND --help`.
fn help_of(mut args: impl Iterator<Item = OsString>) -> Result<Command, UsageError> {
    let Some(command) = args.next() else {
        return Ok(Command::Help(help::OVERVIEW.to_owned()));
    };
    if let Some(extra) = args.next() {
        return Err(unexpected(&extra, "`help` takes one command"));
    }
    let program = command.clone();
    let with_help = || vec![program, "--help".into()];
    match command.to_string_lossy().as_ref() {
        "run" => Ok(Command::Help(help::RUN.help())),
        "translate" => Ok(Command::Help(help::TRANSLATE.help())),
        "check" => Ok(Command::Help(help::CHECK.help())),
        "init" => Ok(Command::Help(help::INIT.help())),
        "bench" => Ok(Command::Help(help::BENCH.help())),
        "operator" => Ok(Command::Operator(with_help())),
        "dataplane" => Ok(Command::Dataplane(with_help())),
        "auth" => Ok(Command::Auth(with_help())),
        "version" | "help" => Ok(Command::Help(help::OVERVIEW.to_owned())),
        name => Err(unknown(name)),
    }
}

fn unexpected(argument: &OsStr, hint: &str) -> UsageError {
    let argument = argument.to_string_lossy();
    UsageError::new(format!("unexpected argument `{argument}`"), hint)
}

fn unknown(name: &str) -> UsageError {
    let message = match name.starts_with('-') {
        true => format!("`{name}` stands where a command belongs"),
        false => format!("unknown command `{name}`"),
    };
    let hint = match nearest(name, &COMMANDS) {
        Some(similar) => format!("did you mean `stunner {similar}`? see `stunner help`"),
        // The most likely wish of somebody who names a folder.
        None if Path::new(name).exists() => format!("did you mean `stunner run {name}`?"),
        None => "see `stunner help`".to_owned(),
    };
    UsageError::new(message, hint)
}

fn read<'a>(
    program: &Program,
    args: impl Iterator<Item = OsString>,
    env: Environment<'a>,
    options: impl Fn(&stunner_flags::Given<'a>) -> Result<Command, UsageError>,
) -> Result<Command, UsageError> {
    let given = program.read(args, env)?;
    // Every command has the same `--help`.
    if given.switch(&flags::run::HELP)? {
        return Ok(Command::Help(program.help()));
    }
    options(&given)
}

/// The `stunner` program: reads the command line, does what it says, gives the exit code.
pub fn main() -> ExitCode {
    let env = |name: &str| std::env::var(name).ok();
    match parse(std::env::args_os(), &env) {
        Ok(Command::Run(options)) => crate::run::run(*options),
        Ok(Command::Translate(options)) => crate::translate::translate(options),
        Ok(Command::Check(options)) => crate::check::check(options),
        Ok(Command::Init(options)) => crate::init::init(options),
        Ok(Command::Bench(options)) => crate::bench::bench(*options),
        Ok(Command::Operator(args)) => stunner_operator::runtime::main_with(args.into_iter()),
        Ok(Command::Dataplane(args)) => stunner_dataplane::runtime::main_with(args.into_iter()),
        Ok(Command::Auth(args)) => stunner_auth::cli::main_with(args.into_iter()),
        Ok(Command::Help(text)) => print_only(&text),
        Ok(Command::Version) => print_only(&format!("stunner {VERSION}\n")),
        Err(usage) => {
            say(&usage.report());
            ExitCode::from(EXIT_USAGE)
        }
    }
}
