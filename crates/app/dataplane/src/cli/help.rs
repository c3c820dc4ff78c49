//! The help text, written from the table of flags.

use super::flags::{ALL, Flag, Takes};

const INDENT: &str = "          ";
const WIDTH: usize = 100;

const HEAD: &str = "\
STUN/TURN server that takes its configuration live

Usage:
  stunnerd [FLAGS]                 serve the config at an origin
  stunnerd [FLAGS] TURN-URI        serve one listener, such as turn://user:pass@127.0.0.1:3478
  stunnerd check [FLAGS] ORIGIN    print every problem of a config; ORIGIN may be a TURN URI
";

const FOOT: &str = "
Durations are written as in Go (250ms, 1h30m); a bare number is seconds. Flags that take no value
also take =true or =false. A flag beats its environment variable.
Exit codes: 0 fine, 1 problem, 2 wrong usage.
";

/// The text that `--help` prints.
pub fn help() -> String {
    let mut text = HEAD.to_owned();
    let mut section = "";
    for flag in ALL {
        if flag.section != section {
            section = flag.section;
            text.push_str(&format!("\n{section}:\n"));
        }
        describe(flag, &mut text);
    }
    text.push_str(FOOT);
    text
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
