//! `stunnerctl config`: configs of dataplanes, as the operator serves them.

mod flags;

use stunner_flags::{Given, Program, UsageError, joined};

use super::{Command, Entry};
use crate::cli::{Globals, flags as global};
use crate::failure::{Failure, Outcome};
use crate::output::Output;

pub(super) static ENTRY: Entry = Entry {
    name: "config",
    aliases: &["stunner-config"],
    usage: "config [GATEWAY]",
    summary: "configs of dataplanes, as the operator serves them",
    program: Program {
        name: "stunnerctl config",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Configs of dataplanes, as the operator serves them

Usage:
  stunnerctl config [FLAGS] [GATEWAY]
",
        foot: "",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Config),
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
