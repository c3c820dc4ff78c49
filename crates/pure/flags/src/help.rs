//! The help text, written from the table of flags.

use crate::table::{Flag, Program, Takes};

const INDENT: &str = "          ";
const WIDTH: usize = 100;

impl Program {
    /// The text that `--help` prints.
    pub fn help(&self) -> String {
        let mut text = self.head.to_owned();
        let mut section = "";
        for flag in self.flags {
            if flag.section != section {
                section = flag.section;
                text.push_str(&format!("\n{section}:\n"));
            }
            describe(flag, &mut text);
        }
        text.push_str(self.foot);
        text
    }
}

fn describe(flag: &Flag, text: &mut String) {
    match flag.short {
        Some(short) => text.push_str(&format!("  -{short}, --{}", flag.long)),
        None => text.push_str(&format!("      --{}", flag.long)),
    }
    match flag.takes {
        Takes::Switch => {}
        Takes::Value(name) => text.push_str(&format!(" {name}")),
        Takes::Values(name) => text.push_str(&format!(" {name}...")),
    }
    text.push('\n');
    let mut line = INDENT.to_owned();
    for word in flag.help.split_whitespace() {
        let started = line.len() > INDENT.len();
        if started && line.len() + 1 + word.len() > WIDTH {
            text.push_str(&format!("{line}\n"));
            line = format!("{INDENT}{word}");
        } else {
            line.push_str(if started { " " } else { "" });
            line.push_str(word);
        }
    }
    text.push_str(&format!("{line}\n"));
    let default = match flag.default {
        "" => None,
        default => Some(format!("[default: {default}]")),
    };
    let env = flag.env.map(|env| format!("[env: {env}]"));
    let extras: Vec<String> = default.into_iter().chain(env).collect();
    if !extras.is_empty() {
        text.push_str(&format!("{INDENT}{}\n", extras.join(" ")));
    }
}
