//! The command line: what can be said ([`flags`]) and what that means ([`Options`]).
//!
//! [`parse`] is a function of its arguments: the process environment comes in as one, and nothing is printed there.

mod flags;
mod run;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::process::ExitCode;

use stunner_flags::{EXIT_USAGE, Environment, Given, Program, UsageError, Wrong, values};
use stunner_http::BindAddress;
use stunner_process::{print_only, say};
use stunner_telemetry::logging::LogSpec;

use crate::{Settings, SettingsError, VERSION};

static PROGRAM: Program = Program {
    name: "icetester",
    flags: flags::ALL,
    head: "\
A WHIP server whose peer echoes: the far end of ICE tests

Usage:
  icetester [FLAGS]

POST an SDP offer with a data channel to /whip: every message on the channel comes back. DELETE the
address of the answer's Location header to hang up. GET and POST of /config read and change, as JSON,
what the environment says.
",
    foot: "
Environment:
      ICE_SERVERS
          TURN servers on which the echo peer has candidates: a JSON list as browsers take it,
          [{\"urls\":[\"turn:192.0.2.1:3478?transport=udp\"],\"username\":\"U\",\"credential\":\"C\"}]; the transports
          are udp and tcp with turn:, and TLS (tcp) and DTLS (udp) with turns:
      ICE_TRANSPORT_POLICY
          `all` (the default), or `relay` for candidates on TURN servers only
      BEARER_TOKEN
          What callers have to send as `Authorization: Bearer TOKEN`; without it everybody may call, and only
          this host may use /config
      WHIP_ENDPOINT
          The path for offers, `/whip` unless given

Flags that take no value also take =true or =false. A flag beats its environment variable.
SIGTERM and SIGINT hang up and exit 0. Exit codes: 0 fine, 1 problem, 2 wrong usage.
",
    single_dash: false,
};

/// What was said.
#[derive(Debug)]
pub struct Options {
    pub address: BindAddress,
    pub max_sessions: usize,
    pub insecure: bool,
    pub log: String,
    pub settings: Settings,
}

/// What the user wants.
#[derive(Debug)]
pub enum Command {
    Run(Box<Options>),
    /// Print this text and exit.
    Print(String),
}

/// Why the program does not start.
#[derive(Debug, thiserror::Error)]
pub enum Mistake {
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// In the environment, which is no matter of the command line.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

/// What `icetester --help` prints.
pub fn help() -> String {
    PROGRAM.help()
}

/// The manual page.
pub fn man() -> String {
    PROGRAM.man(VERSION, &["stunnerctl", "stunner"])
}

/// Reads a command line. `args` begins with the name of the program, as [`std::env::args_os`] does.
pub fn parse(
    args: impl Iterator<Item = OsString>,
    env: Environment<'_>,
) -> Result<Command, Mistake> {
    let given = PROGRAM.read(args, env)?;
    if given.switch(&flags::HELP)? {
        return Ok(Command::Print(help()));
    }
    if given.switch(&flags::VERSION)? {
        return Ok(Command::Print(format!("icetester {VERSION}\n")));
    }
    if let Some(extra) = given.positionals().first() {
        let message = format!("unexpected argument `{extra}`");
        return Err(UsageError::new(message, "icetester takes flags only; see --help").into());
    }
    Ok(Command::Run(Box::new(Options {
        address: address(&given)?,
        max_sessions: given
            .value(&flags::MAX_SESSIONS, at_least_one)?
            .unwrap_or(64),
        insecure: given.switch(&flags::INSECURE)?,
        log: log(&given)?,
        settings: Settings::from_env(&|name| given.variable(name))?,
    })))
}

/// One that takes no calls is of no use to anybody.
fn at_least_one(text: &str) -> Result<usize, Wrong> {
    match values::count(text)? {
        0 => Err(Wrong {
            why: "nobody could call".to_owned(),
            hint: "give a whole number from 1",
        }),
        count => Ok(count as usize),
    }
}

fn address(given: &Given<'_>) -> Result<BindAddress, UsageError> {
    let text = given.text(&flags::ADDR);
    let text = text.unwrap_or_else(|| flags::ADDR.default.to_owned());
    text.parse().map_err(|error| {
        UsageError::new(
            format!("invalid value `{text}` for `--addr`: {error}"),
            "give ADDR:PORT, or :PORT for all addresses of this host",
        )
    })
}

fn log(given: &Given<'_>) -> Result<String, UsageError> {
    let verbose = given.switch(&flags::VERBOSE)?;
    let said = given.value(&flags::LOG, |text| match LogSpec::parse(text).1.first() {
        None => Ok(text.to_owned()),
        Some(_) => Err(Wrong {
            why: "it holds something that is not SCOPE:LEVEL".to_owned(),
            hint: "give pairs such as `all:WARN,icetester:DEBUG`",
        }),
    })?;
    Ok(match said {
        Some(spec) => spec,
        None if verbose => "all:DEBUG".to_owned(),
        None => flags::LOG.default.to_owned(),
    })
}

/// The program, from its arguments to its exit code.
pub fn main() -> ExitCode {
    let env = |name: &str| std::env::var(name).ok();
    match parse(std::env::args_os(), &env) {
        Ok(Command::Run(options)) => run::run(*options),
        Ok(Command::Print(text)) => print_only(&text),
        Err(Mistake::Usage(usage)) => {
            say(&usage.report());
            ExitCode::from(EXIT_USAGE)
        }
        Err(Mistake::Settings(error)) => run::fail(&error, &error.hint()),
    }
}
