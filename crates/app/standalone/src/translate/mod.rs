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

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Write};
use std::process::ExitCode;

use stunner_flags::{EXIT_PROBLEM, EXIT_USAGE, UsageError};
use stunner_manifest::{Fault, Manifest, Problem, Reading};
use stunner_translate::overview::overview;
use stunner_translate::{ObjectKey, Plan, Settings, Snapshot};

use crate::cli::{TranslateOptions, TranslateOutput};
use crate::input::{Input, Sources};
use crate::provider::World;

pub use result::Translation;
pub use table::table;

/// Translates, prints, and gives the exit code.
pub fn translate(options: TranslateOptions) -> ExitCode {
    match run(options) {
        Ok(code) => code,
        Err(usage) => {
            eprint!("{}", usage.report());
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
            let other_translated = Translated::of(other);
            is_fine &= report(&other_translated.problems);
            let name = |sources: &Sources| sources.paths.join(" ");
            let text = diff::diff(
                (&name(other), &other_translated.result()),
                (&name(&sources), &translated.result()),
            );
            is_fine &= text.is_empty();
            text
        }
    };
    // A reader that has seen enough, such as `head`, is no problem.
    let _ = io::stdout().lock().write_all(text.as_bytes());
    Ok(match is_fine {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(EXIT_PROBLEM),
    })
}

/// Prints problems; whether none of them is an error.
fn report(problems: &[Problem]) -> bool {
    for problem in problems {
        eprintln!("{problem}");
    }
    !problems.iter().any(Problem::is_error)
}

/// The world of some files and what becomes of it.
struct Translated {
    snapshot: Snapshot,
    settings: Settings,
    plan: Plan,
    problems: Vec<Problem>,
}

impl Translated {
    fn of(sources: &Sources) -> Translated {
        let Input {
            readings,
            mut problems,
        } = sources.read();
        for reading in &readings {
            problems.extend(reading.problems.iter().cloned());
        }
        problems.extend(defined_twice(&readings));
        let snapshot = World::snapshot(readings);
        let settings = Settings::default();
        Translated {
            plan: stunner_translate::translate(&snapshot, &settings),
            snapshot,
            settings,
            problems,
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

/// An object that is there twice breaks no schema, but only one of the two is translated.
fn defined_twice(readings: &[Reading]) -> Vec<Problem> {
    let mut first_by_key: BTreeMap<&ObjectKey, &Manifest> = BTreeMap::new();
    let mut problems = Vec::new();
    for manifest in readings.iter().flat_map(|reading| &reading.manifests) {
        let place = manifest.root.place;
        match first_by_key.entry(&manifest.key) {
            Entry::Vacant(free) => drop(free.insert(manifest)),
            Entry::Occupied(first) => {
                let first = first.get();
                let at = format!("{}:{}", first.file, first.root.place.line);
                let ObjectKey { kind, name } = &manifest.key;
                let name = name.to_string();
                // A cluster-scoped object has no namespace in front.
                let name = name.trim_start_matches('/');
                let message =
                    format!("{kind} {name} is defined at {at} already, and that one counts");
                let fault = Fault::DuplicateObject;
                problems.push(
                    Problem::warning(&manifest.file, place, fault, "metadata.name", message)
                        .hint("remove one of the two, or give it another name"),
                );
            }
        }
    }
    problems
}
