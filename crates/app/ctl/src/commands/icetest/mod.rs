//! `stunnerctl icetest`: WebRTC test calls through a gateway.

mod flags;

use stunner_flags::{Given, Program, UsageError, joined};

use super::{Command, Entry};
use crate::cli::{Globals, flags as global};
use crate::failure::{Failure, Outcome};
use crate::output::Output;

pub(super) static ENTRY: Entry = Entry {
    name: "icetest",
    aliases: &[],
    usage: "icetest [udp|tcp|tls|dtls]",
    summary: "WebRTC test calls through a gateway",
    program: Program {
        name: "stunnerctl icetest",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
WebRTC test calls through a gateway

Usage:
  stunnerctl icetest [FLAGS] [udp|tcp|tls|dtls]
",
        foot: "",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::IceTest),
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
