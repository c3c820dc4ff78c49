//! What `stunnerctl help` prints.

use stunner_document::nearest;
use stunner_flags::{Program, UsageError};

use super::flags;
use crate::commands;

const HEAD: &str = "\
Looks into gateways, their dataplanes and the way to them

Usage:
  stunnerctl COMMAND [FLAGS] [ARGUMENTS]

";

const FOOT: &str = "
`stunnerctl COMMAND --help` lists the flags of a command. Flags may stand before the command too.
Exit codes: 0 fine, 1 problem, 2 wrong usage.
";

/// The flags of every command, for a line without a command.
pub(super) static ROOT: Program = Program {
    name: "stunnerctl",
    flags: flags::ALL,
    head: HEAD,
    foot: FOOT,
    single_dash: false,
};

pub(super) fn overview() -> String {
    let mut text = HEAD.to_owned();
    for (title, group) in commands::groups() {
        text.push_str(&format!("{title}:\n"));
        for entry in group {
            text.push_str(&format!("  {:<24} {}\n", entry.usage, entry.summary));
        }
        text.push('\n');
    }
    text.push_str(
        "Other:\n  version                  print the version\n  help [COMMAND]           print this help, or that of a command\n",
    );
    text.push_str(FOOT);
    text
}

pub(super) fn unknown(name: &str) -> UsageError {
    let names: Vec<&str> = commands::ALL
        .iter()
        .flat_map(|entry| std::iter::once(&entry.name).chain(entry.aliases))
        .copied()
        .chain(["help", "version"])
        .collect();
    let hint = match nearest(name, &names) {
        Some(similar) => format!("did you mean `stunnerctl {similar}`? see `stunnerctl help`"),
        None => "see `stunnerctl help`".to_owned(),
    };
    UsageError::new(format!("unknown command `{name}`"), hint)
}

/// The help of the program and of each command, by name, in the order of the overview.
pub fn help() -> Vec<(&'static str, String)> {
    let overview = ("stunnerctl", overview());
    let commands = commands::ALL
        .iter()
        .map(|entry| (entry.program.name, entry.program.help()));
    std::iter::once(overview).chain(commands).collect()
}
