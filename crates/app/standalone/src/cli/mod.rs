//! The command line: which command is meant ([`Command`]), what can be said to it ([`flags`]) and what that means
//! ([`RunOptions`] and the like).
//!
//! [`parse`] is a function of its arguments: the process environment comes in as one, and nothing is printed there.

mod flags;
mod help;
mod options;

use std::ffi::OsString;
use std::process::ExitCode;

use stunner_flags::{EXIT_USAGE, Environment, Program, UsageError};

pub use help::help;
pub use options::{
    CheckOptions, CheckOutput, InitOptions, RunOptions, RunOutput, TranslateOptions,
    TranslateOutput,
};

use crate::VERSION;

/// What the user wants.
#[derive(Debug)]
pub enum Command {
    Run(Box<RunOptions>),
    Translate(TranslateOptions),
    Check(CheckOptions),
    Init(InitOptions),
    /// The operator with these arguments, the name of the program first.
    Operator(Vec<OsString>),
    /// `stunnerd` with these arguments, the name of the program first.
    Dataplane(Vec<OsString>),
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
    let mut args = args.skip(1);
    let Some(command) = args.next() else {
        return Err(UsageError::new("no command", "see `stunner --help`"));
    };
    let name = command.to_string_lossy().into_owned();
    let rest = std::iter::once(command).chain(args);
    match name.as_str() {
        "run" => read(&help::RUN, rest, env, |given| {
            RunOptions::from_given(given).map(|options| Command::Run(Box::new(options)))
        }),
        "translate" => read(&help::TRANSLATE, rest, env, |given| {
            TranslateOptions::from_given(given).map(Command::Translate)
        }),
        "check" => read(&help::CHECK, rest, env, |given| {
            CheckOptions::from_given(given).map(Command::Check)
        }),
        "init" => read(&help::INIT, rest, env, |given| {
            InitOptions::from_given(given).map(Command::Init)
        }),
        "operator" => Ok(Command::Operator(rest.collect())),
        "dataplane" => Ok(Command::Dataplane(rest.collect())),
        "version" | "--version" => Ok(Command::Version),
        "help" | "--help" | "-h" => Ok(Command::Help(help::OVERVIEW.to_owned())),
        _ => Err(UsageError::new(
            format!("unknown command `{name}`"),
            "see `stunner --help`",
        )),
    }
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
        Ok(Command::Operator(_)) => stunner_operator::runtime::main(),
        Ok(Command::Dataplane(_)) => stunner_dataplane::runtime::main(),
        Ok(Command::Help(text)) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Ok(Command::Version) => {
            println!("stunner {VERSION}");
            ExitCode::SUCCESS
        }
        Err(usage) => {
            eprint!("{}", usage.report());
            ExitCode::from(EXIT_USAGE)
        }
    }
}
