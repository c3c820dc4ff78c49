//! `stunnerctl doctor`: walk the path of a client and name the hop that is dead.

mod flags;

use stunner_flags::{Given, Program, UsageError, joined};

use super::{Command, Entry};
use crate::cli::{Globals, flags as global};
use crate::failure::{Failure, Outcome};
use crate::output::Output;

pub(super) static ENTRY: Entry = Entry {
    name: "doctor",
    aliases: &[],
    usage: "doctor [GATEWAY]",
    summary: "walk the path of a client and name the hop that is dead",
    program: Program {
        name: "stunnerctl doctor",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Walk the path of a client and name the hop that is dead

Usage:
  stunnerctl doctor [FLAGS] [GATEWAY]
",
        foot: "",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Doctor),
};

/// What was said.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) arguments: Vec<String>,
}

impl Options {
    fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        Ok(Options {
            arguments: given.positionals().to_vec(),
        })
    }
}

pub(super) async fn run(
    options: Options,
    globals: Globals,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    out.note(&format!("{:?} {globals:?}", options.arguments));
    Ok(Outcome::Fine)
}
