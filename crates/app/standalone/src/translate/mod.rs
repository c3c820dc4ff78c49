//! `stunner translate`: what the operator would make of manifests.
//!
//! It is the operator's own function with the operator's default settings, over the world that the files describe.

mod diff;
mod hidden;
mod lines;
mod result;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;

use stunner_flags::{EXIT_PROBLEM, EXIT_USAGE, UsageError};
use stunner_manifest::{Problem, Reading, Severity};
use stunner_process::{print, say};
use stunner_translate::overview::overview;
use stunner_translate::{Plan, Settings, Snapshot};

use crate::cli::{TranslateOptions, TranslateOutput};
use crate::input::Sources;
use crate::provider::World;

pub use result::Translation;
pub use table::table;

/// Translates, prints, and gives the exit code.
pub fn translate(options: TranslateOptions) -> ExitCode {
    match run(options) {
        Ok(code) => code,
        Err(usage) => {
            say(&usage.report());
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn run(options: TranslateOptions) -> Result<ExitCode, UsageError> {
    let sources = options.sources.or_current_folder("translate")?;
    let translated = Translated::of(&sources);
    let mut is_fine = report(&translated.problems);
    let text = match &options.diff {
        None => translated.text(options.output),
        Some(other) => {
            let old = Translated::of(other);
            is_fine &= report(&old.problems);
            // Against what is not there everything would differ, which says nothing.
            let text = match old.is_missing || translated.is_missing {
                true => String::new(),
                false => diff::diff(
                    (&other.paths.join(" "), &old.result()),
                    (&sources.paths.join(" "), &translated.result()),
                ),
            };
            is_fine &= text.is_empty();
            text
        }
    };
    is_fine &= print(&text);
    Ok(match is_fine {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(EXIT_PROBLEM),
    })
}

/// Prints problems; whether none of them is an error.
fn report(problems: &[Problem]) -> bool {
    let mut stderr = io::stderr().lock();
    for problem in problems {
        let _ = writeln!(stderr, "{problem}");
    }
    !problems.iter().any(Problem::is_error)
}

/// The world of some files and what becomes of it.
struct Translated {
    snapshot: Snapshot,
    settings: Settings,
    plan: Plan,
    problems: Vec<Problem>,
    /// Something that was named could not be found or opened.
    is_missing: bool,
}

impl Translated {
    fn of(sources: &Sources) -> Translated {
        let input = sources.read();
        let mut told = input.problems;
        let is_missing = told.iter().any(Problem::is_error);
        told.extend(problems(&input.readings));
        let snapshot = World::snapshot(input.readings);
        let settings = Settings::default();
        Translated {
            plan: stunner_translate::translate(&snapshot, &settings),
            snapshot,
            settings,
            problems: told,
            is_missing,
        }
    }

    fn result(&self) -> Translation {
        Translation::of(&self.plan)
    }

    fn text(&self, output: TranslateOutput) -> String {
        match output {
            TranslateOutput::Yaml => self.result().to_yaml(),
            TranslateOutput::Json => self.result().to_json(),
            TranslateOutput::Table => table(&overview(&self.snapshot, &self.plan, &self.settings)),
        }
    }
}

/// What is wrong with the input. Only what breaks the schema of an object is an error here: that one object does not fit
/// another is a result, and stands in conditions; where in the files it comes from is worth a warning.
fn problems(readings: &[Reading]) -> Vec<Problem> {
    type Identity<'a> = (&'a str, u32, u32, &'a str, &'a str);
    fn identity(problem: &Problem) -> Identity<'_> {
        let Problem {
            file,
            field,
            message,
            ..
        } = problem;
        (file, problem.line, problem.column, field, message)
    }
    let of_readings = readings.iter().flat_map(|reading| &reading.problems);
    let of_readings: BTreeSet<Identity<'_>> = of_readings.map(identity).collect();
    let mut problems = stunner_manifest::check(readings);
    for problem in &mut problems {
        if !of_readings.contains(&identity(problem)) {
            problem.severity = Severity::Warning;
        }
    }
    problems
}
