//! The crate from outside, one module per topic.

mod admission;
mod admission_model;
mod bounds;
mod diagnostics;
mod diff;
mod reading;
mod recordings;
mod status;
mod uri;

use stunner_config::{Config, Parsed, Problem};

/// An environment without variables.
fn no_env(_: &str) -> Option<String> {
    None
}

/// The config of a text that must be fine.
fn config(text: &str) -> Config {
    parsed(text).config
}

fn parsed(text: &str) -> Parsed {
    stunner_config::parse(text, &no_env).unwrap_or_else(|problems| panic!("{}", lines(&problems)))
}

/// Problems as they read on a terminal.
fn lines(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}
