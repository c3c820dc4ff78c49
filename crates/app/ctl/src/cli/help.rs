//! What `stunnerctl help` prints.

use stunner_document::nearest;
use stunner_flags::{Manual, Program, UsageError};

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
    let others = [
        ("version", "print the version"),
        ("help [COMMAND]", "print this help, or that of a command"),
    ];
    let groups = commands::groups().map(|(title, group)| {
        let lines = group.iter().map(|entry| (entry.usage, entry.summary));
        (title, lines.collect::<Vec<_>>())
    });
    let groups: Vec<_> = groups
        .into_iter()
        .chain([("Other", others.to_vec())])
        .collect();
    let lines = groups.iter().flat_map(|(_, lines)| lines);
    let width = lines.map(|(usage, _)| usage.len()).max().unwrap_or(0);
    let mut text = HEAD.to_owned();
    for (title, lines) in groups {
        text.push_str(&format!("\n{title}:\n"));
        for (usage, summary) in lines {
            text.push_str(&format!("  {usage:<width$}  {summary}\n"));
        }
    }
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

/// The manual page.
pub fn man() -> String {
    let commands: Vec<&Program> = commands::ALL.iter().map(|entry| &entry.program).collect();
    let manual = Manual {
        name: "stunnerctl",
        version: crate::VERSION,
        purpose: "look into gateways, their dataplanes and the way to them",
        head: HEAD,
        flags: flags::ALL,
        commands: &commands,
        foot: FOOT,
        see_also: &["stunner", "stunnerd", "turncat", "icetester", "authd"],
    };
    manual.page()
}
