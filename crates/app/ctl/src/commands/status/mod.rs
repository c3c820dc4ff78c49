//! `stunnerctl status`: what the dataplane pods of a gateway run.

mod flags;

use stunner_flags::{Given, Program, UsageError, joined};

use super::{Command, Entry};
use crate::cli::{Globals, flags as global};
use crate::failure::{Failure, Outcome};
use crate::output::Output;

pub(super) static ENTRY: Entry = Entry {
    name: "status",
    aliases: &["dataplane-status"],
    usage: "status [GATEWAY]",
    summary: "what the dataplane pods of a gateway run",
    program: Program {
        name: "stunnerctl status",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
What the dataplane pods of a gateway run

Usage:
  stunnerctl status [FLAGS] [GATEWAY]
",
        foot: "",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Status),
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
