//! Finds the command among the words of a command line.

use std::ffi::OsString;

use stunner_flags::{Flag, Takes};

use super::flags;
use crate::commands;

/// The command, and everything else.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) command: Option<String>,
    /// The words without the command, the name of the program first.
    pub(super) words: Vec<OsString>,
    /// Whether `--help` or `-h` stands before any command.
    pub(super) help: bool,
    pub(super) version: bool,
}

/// The first word that is neither a flag nor the value of one is the command.
pub(super) fn split(mut args: impl Iterator<Item = OsString>) -> Line {
    let mut line = Line::default();
    line.words.extend(args.next());
    let mut value_follows = false;
    let mut only_arguments = false;
    for arg in args {
        let is_flag = arg
            .to_str()
            .filter(|word| word.starts_with('-') && word.len() > 1)
            .filter(|_| !only_arguments && !value_follows);
        let is_value = std::mem::take(&mut value_follows);
        match is_flag {
            Some("--") => {
                only_arguments = true;
                line.words.push(arg);
            }
            Some("-h" | "--help") if line.command.is_none() => line.help = true,
            Some("--version") if line.command.is_none() => line.version = true,
            Some(word) => {
                value_follows = takes_next(word);
                line.words.push(all_namespaces(word).into());
            }
            None if line.command.is_none() && !is_value => {
                line.command = Some(arg.to_string_lossy().into_owned());
            }
            None => line.words.push(arg),
        }
    }
    // `stunnerctl -h config` asks for the help of config.
    if line.command.is_some() && line.help {
        line.words.insert(1, "--help".into());
    }
    line
}

/// `-A`, as kubectl has it, is `-a`, as the Go tool has it.
fn all_namespaces(word: &str) -> String {
    match word {
        "-A" => "-a".to_owned(),
        word => word.to_owned(),
    }
}

/// Whether the value of the flag `word` is the next word.
fn takes_next(word: &str) -> bool {
    if word.contains('=') {
        return false;
    }
    let takes = |flag: Option<&Flag>| flag.is_some_and(|flag| flag.takes != Takes::Switch);
    if let Some(long) = word.strip_prefix("--") {
        return takes(find(|flag| flag.long == long));
    }
    // Short switches may stand together (`-av`); the last letter decides, and a letter that takes a value ends them.
    let letters: Vec<char> = word.chars().skip(1).collect();
    let first = letters
        .iter()
        .position(|letter| takes(find(|flag| flag.short == Some(*letter))));
    first.is_some_and(|at| at + 1 == letters.len())
}

fn find(is_it: impl Fn(&Flag) -> bool) -> Option<&'static Flag> {
    let of_commands = commands::ALL
        .iter()
        .flat_map(|entry| entry.program.flags.iter());
    flags::ALL
        .iter()
        .chain(of_commands)
        .copied()
        .find(|flag| is_it(flag))
}
