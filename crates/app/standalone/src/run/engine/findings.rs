//! What checking says about the objects in force, as `stunner check` would.

use std::collections::HashSet;

use stunner_manifest::{Fault, Problem, Reading, check};

/// Files to be checked. Whoever asks goes on meanwhile.
#[derive(Debug)]
pub struct Question {
    edition: u64,
    readings: Vec<Reading>,
}

/// What came of a [`Question`].
#[derive(Debug)]
pub struct Findings {
    pub(super) edition: u64,
    pub(super) problems: Vec<Problem>,
}

impl Question {
    pub(super) fn new(edition: u64, readings: Vec<Reading>) -> Self {
        Question { edition, readings }
    }

    /// The problems that reading the files has not told already.
    pub fn answer(self) -> Findings {
        let own = self.readings.iter().flat_map(|reading| &reading.problems);
        let own: HashSet<_> = own.map(identity).collect();
        let mut problems = check(&self.readings);
        problems.retain(|problem| {
            // The world settles who defines an object, and says so.
            problem.fault != Fault::DuplicateObject && !own.contains(&identity(problem))
        });
        Findings {
            edition: self.edition,
            problems,
        }
    }
}

fn identity(problem: &Problem) -> (&str, u32, u32, &str, &str) {
    (
        &problem.file,
        problem.line,
        problem.column,
        &problem.field,
        &problem.message,
    )
}
