//! `stunnerctl completion`: print the completion script of a shell.

mod flags;

use stunner_flags::{Given, Program, UsageError, joined};

use super::{Command, Entry};
use crate::cli::{Globals, flags as global};
use crate::failure::{Failure, Outcome};
use crate::output::Output;

pub(super) static ENTRY: Entry = Entry {
    name: "completion",
    aliases: &[],
    usage: "completion bash|zsh|fish",
    summary: "print the completion script of a shell",
    program: Program {
        name: "stunnerctl completion",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Print the completion script of a shell

Usage:
  stunnerctl completion [FLAGS] bash|zsh|fish
",
        foot: "",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Completion),
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
