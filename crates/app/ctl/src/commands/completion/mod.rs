//! `stunnerctl completion`: print the completion script of a shell.

mod flags;

use stunner_flags::completion::{Completion, Shell, Subcommand};
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
    has_wide: false,
    program: Program {
        name: "stunnerctl completion",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Prints the script with which a shell completes the words of stunnerctl

Usage:
  stunnerctl completion bash|zsh|fish
",
        foot: "
For this shell only:
  source <(stunnerctl completion bash)      stunnerctl completion fish | source

For every shell:
  stunnerctl completion bash > /etc/bash_completion.d/stunnerctl
  stunnerctl completion zsh > \"${fpath[1]}/_stunnerctl\"
  stunnerctl completion fish > ~/.config/fish/completions/stunnerctl.fish
",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Completion),
};

/// What was said.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    shell: Shell,
}

impl Options {
    fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        match given.positionals() {
            [name] => match Shell::parse(name) {
                Ok(shell) => Ok(Options { shell }),
                Err(wrong) => Err(UsageError::new(
                    format!("`{name}`: {}", wrong.why),
                    wrong.hint,
                )),
            },
            [] => Err(UsageError::new(
                "`completion` needs a shell",
                "give `bash`, `zsh` or `fish`",
            )),
            [_, extra, ..] => Err(UsageError::new(
                format!("unexpected argument `{extra}`"),
                "`completion` takes one shell",
            )),
        }
    }
}

pub(super) async fn run(
    options: Options,
    _globals: Globals,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    out.text(&script(options.shell))?;
    Ok(Outcome::Fine)
}

fn script(shell: Shell) -> String {
    let names: Vec<&str> = super::ALL.iter().map(|entry| entry.name).collect();
    let entries = super::ALL.iter().map(|entry| Subcommand {
        name: entry.name,
        aliases: entry.aliases,
        summary: entry.summary,
        flags: entry.program.flags,
        arguments: arguments(entry.name),
    });
    let others = [
        ("version", "print the version", &[] as &[&str]),
        ("help", "print the help of a command", &names),
    ];
    let others = others.map(|(name, summary, arguments)| Subcommand {
        name,
        aliases: &[],
        summary,
        flags: &[],
        arguments,
    });
    let commands: Vec<Subcommand<'_>> = entries.chain(others).collect();
    let completion = Completion {
        program: "stunnerctl",
        flags: global::ALL,
        commands: &commands,
    };
    completion.script(shell)
}

/// The words that the arguments of a command can be, where that is known without asking a cluster.
fn arguments(command: &str) -> &'static [&'static str] {
    match command {
        "completion" => &["bash", "zsh", "fish"],
        "icetest" => &["udp", "tcp", "tls", "dtls"],
        _ => &[],
    }
}
