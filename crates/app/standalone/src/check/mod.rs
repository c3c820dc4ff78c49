//! `stunner check`: every problem of manifests, for people and for CI.

use std::process::ExitCode;

use stunner_flags::{EXIT_PROBLEM, EXIT_USAGE};
use stunner_manifest::{Problem, Severity};
use stunner_process::{print, say};

use crate::cli::{CheckOptions, CheckOutput};
use crate::input::Input;

/// Checks, prints, and gives the exit code.
pub fn check(options: CheckOptions) -> ExitCode {
    let sources = match options.sources.or_current_folder("check") {
        Ok(sources) => sources,
        Err(usage) => {
            say(&usage.report());
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let problems = problems(sources.read(), options.strict);
    let text = match options.output {
        CheckOutput::Text => text(&problems),
        CheckOutput::Json => json(&problems),
    };
    let is_printed = print(&text);
    match is_printed && !problems.iter().any(Problem::is_error) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(EXIT_PROBLEM),
    }
}

/// Everything there is to say, by file and place, those about the paths themselves first.
fn problems(input: Input, strict: bool) -> Vec<Problem> {
    let mut problems = input.problems;
    problems.extend(stunner_manifest::check(&input.readings));
    if strict {
        for problem in &mut problems {
            problem.severity = Severity::Error;
        }
    }
    problems
}

fn text(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|problem| format!("{problem}\n"))
        .collect()
}

fn json(problems: &[Problem]) -> String {
    let mut text = serde_json::to_string_pretty(problems).unwrap_or_default();
    text.push('\n');
    text
}
