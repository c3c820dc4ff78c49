//! Completion scripts for shells, written from the tables of flags.

mod bash;
mod fish;
mod zsh;

use crate::table::{Flag, Takes};
use crate::values::Wrong;

/// The shells that scripts can be written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    pub const ALL: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

    pub fn name(self) -> &'static str {
        match self {
            Shell::Bash => "bash",
            Shell::Zsh => "zsh",
            Shell::Fish => "fish",
        }
    }

    /// Reads the name of a shell.
    pub fn parse(name: &str) -> Result<Shell, Wrong> {
        let found = Shell::ALL.into_iter().find(|shell| shell.name() == name);
        found.ok_or_else(|| Wrong {
            why: "there is no completion for this shell".to_owned(),
            hint: "give `bash`, `zsh` or `fish`",
        })
    }
}

/// A command line to complete.
#[derive(Debug)]
pub struct Completion<'a> {
    /// The program as it is called.
    pub program: &'a str,
    /// The flags that are understood before a command, and everywhere.
    pub flags: &'a [&'static Flag],
    /// Empty for a program without commands.
    pub commands: &'a [Subcommand<'a>],
}

/// A command of a program.
#[derive(Debug)]
pub struct Subcommand<'a> {
    pub name: &'a str,
    /// Understood, but not offered.
    pub aliases: &'a [&'a str],
    /// A few words about it.
    pub summary: &'a str,
    /// All flags that it understands.
    pub flags: &'a [&'static Flag],
    /// Words that its arguments can be; empty where nobody can know.
    pub arguments: &'a [&'a str],
}

impl Completion<'_> {
    /// The script, to be read by the shell.
    pub fn script(&self, shell: Shell) -> String {
        match shell {
            Shell::Bash => bash::script(self),
            Shell::Zsh => zsh::script(self),
            Shell::Fish => fish::script(self),
        }
    }

    /// Every flag of the program and its commands once.
    fn all_flags(&self) -> Vec<&'static Flag> {
        let commands = self.commands.iter().flat_map(|command| command.flags);
        let mut all: Vec<&'static Flag> = Vec::new();
        for flag in self.flags.iter().chain(commands).copied() {
            if !all.iter().any(|known| known.long == flag.long) {
                all.push(flag);
            }
        }
        all
    }
}

impl Subcommand<'_> {
    fn names(&self) -> Vec<&str> {
        std::iter::once(self.name)
            .chain(self.aliases.iter().copied())
            .collect()
    }
}

/// What the value of a flag can be.
#[derive(Debug, PartialEq, Eq)]
enum Values {
    Words(Vec<&'static str>),
    Files,
    Folders,
    /// Nobody can know.
    Any,
}

/// What follows a flag: its table says so in the name of the value.
fn values(flag: &Flag) -> Option<Values> {
    let name = match flag.takes {
        Takes::Switch => return None,
        Takes::Value(name) | Takes::Values(name) => name,
    };
    Some(match name {
        "FILE" | "PATH" => Values::Files,
        "DIR" => Values::Folders,
        name if name.contains('|') => Values::Words(
            name.split('|')
                // `jsonpath=TEMPLATE` is begun, the rest is the user's.
                .map(|word| match word.find('=') {
                    Some(at) => &word[..=at],
                    None => word,
                })
                // `ADDR|off`: what is in capitals stands for something.
                .filter(|word| word.contains(|c: char| c.is_ascii_lowercase()))
                .collect(),
        ),
        _ => Values::Any,
    })
}

/// The words before the cursor name a flag this way.
fn spellings(flag: &Flag) -> Vec<String> {
    let short = flag.short.map(|short| format!("-{short}"));
    short
        .into_iter()
        .chain([format!("--{}", flag.long)])
        .collect()
}

/// The first sentence of what the table says about a flag.
fn gist(flag: &Flag) -> String {
    let text = flag.help.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = [". ", "; ", ": "]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min()
        .unwrap_or(text.len());
    text[..end].to_owned()
}

/// The name of a function of the script.
fn identifier(program: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("_{}", program.chars().map(plain).collect::<String>())
}
