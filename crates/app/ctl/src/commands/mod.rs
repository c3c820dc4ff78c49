//! The commands, one folder each.
//!
//! To fill a command in, edit only its folder: `flags.rs` is the table of its own flags (made with
//! `stunner_flags::flags!`, so that help, completion, man page and reference page follow by themselves), and `mod.rs` has
//!
//! - `ENTRY`: name, aliases, one line of summary, and the [`Program`] with the text above and below the flags;
//! - `Options` and `Options::from_given`: what was said, in types; mistakes are a `UsageError` with a hint (exit 2);
//! - `run(options, globals, out)`: the work. Results go to [`Output::text`] or [`Output::value`] (the machine forms of
//!   `globals.form`), everything else to [`Output::note`]. `Ok(Outcome::Problem)` is exit 1 when the command did its
//!   work and found a problem, `Err(Failure::new(error, hint))` is exit 1 when it could not.
//!
//! The flags of every command (`-n`, `-o`, `--context`, …) are in [`Globals`]; a flag of a command must not share their
//! names.

mod auth;
mod completion;
mod config;
mod doctor;
mod explain;
mod icetest;
mod license;
mod sessions;
mod status;
mod top;

use stunner_flags::{Given, Program, UsageError};

use crate::cli::Globals;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// A command as the command line and the help know it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Its names in older scripts.
    pub(crate) aliases: &'static [&'static str],
    /// The command with its arguments, as the overview shows it.
    pub(crate) usage: &'static str,
    /// What it does, on the line of the overview.
    pub(crate) summary: &'static str,
    /// `-o wide` shows more columns.
    pub(crate) has_wide: bool,
    /// Its help and all it understands: its own flags first, then those of every command.
    pub(crate) program: Program,
    pub(crate) read: fn(&Given<'_>) -> Result<Command, UsageError>,
}

/// The commands in the order of the overview.
pub(crate) static ALL: &[&Entry] = &[
    &config::ENTRY,
    &status::ENTRY,
    &auth::ENTRY,
    &license::ENTRY,
    &top::ENTRY,
    &sessions::ENTRY,
    &explain::ENTRY,
    &doctor::ENTRY,
    &icetest::ENTRY,
    &completion::ENTRY,
];

/// A command and what was said to it.
#[derive(Debug)]
pub(crate) enum Command {
    Config(config::Options),
    Status(status::Options),
    Auth(auth::Options),
    License(license::Options),
    Top(top::Options),
    Sessions(sessions::Options),
    Explain(explain::Options),
    Doctor(doctor::Options),
    IceTest(icetest::Options),
    Completion(completion::Options),
}

impl Command {
    pub(crate) async fn run(
        self,
        globals: Globals,
        out: &mut Output<'_>,
    ) -> Result<Outcome, Failure> {
        match self {
            Command::Config(options) => config::run(options, globals, out).await,
            Command::Status(options) => status::run(options, globals, out).await,
            Command::Auth(options) => auth::run(options, globals, out).await,
            Command::License(options) => license::run(options, globals, out).await,
            Command::Top(options) => top::run(options, globals, out).await,
            Command::Sessions(options) => sessions::run(options, globals, out).await,
            Command::Explain(options) => explain::run(options, globals, out).await,
            Command::Doctor(options) => doctor::run(options, globals, out).await,
            Command::IceTest(options) => icetest::run(options, globals, out).await,
            Command::Completion(options) => completion::run(options, globals, out).await,
        }
    }
}

/// The command of this name or alias.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter()
        .copied()
        .find(|entry| entry.name == name || entry.aliases.contains(&name))
}

/// The commands by what they are for, in the order of the overview.
pub(crate) fn groups() -> [(&'static str, &'static [&'static Entry]); 3] {
    [
        ("What is configured, and what runs", &ALL[..4]),
        ("What goes on, and why not", &ALL[4..9]),
        ("Shell", &ALL[9..]),
    ]
}

/// The one argument that a command may take, such as a gateway.
pub(crate) fn at_most_one(given: &Given<'_>, hint: &str) -> Result<Option<String>, UsageError> {
    match given.positionals() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        [_, extra, ..] => Err(UsageError::new(
            format!("unexpected argument `{extra}`"),
            hint,
        )),
    }
}
