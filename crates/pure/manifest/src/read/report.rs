//! Collecting what is wrong.

use stunner_document::Place;

use crate::problem::{Fault, Problem, Severity};

/// Most problems that are kept of a file: one of nothing but mistakes shall not become a larger list of complaints.
const MOST: usize = 10_000;

/// The problems of a file.
#[derive(Debug)]
pub(super) struct Report {
    file: String,
    problems: Vec<Problem>,
    dropped: usize,
}

impl Report {
    pub(super) fn new(file: &str) -> Self {
        Report {
            file: file.to_owned(),
            problems: Vec::new(),
            dropped: 0,
        }
    }

    pub(super) fn error(
        &mut self,
        place: Place,
        fault: Fault,
        field: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(
            Severity::Error,
            place,
            fault,
            field,
            message.into(),
            hint.into(),
        );
    }

    pub(super) fn warning(
        &mut self,
        place: Place,
        fault: Fault,
        field: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(
            Severity::Warning,
            place,
            fault,
            field,
            message.into(),
            hint.into(),
        );
    }

    /// What is added now is only counted.
    pub(super) fn is_full(&self) -> bool {
        self.problems.len() >= MOST
    }

    pub(super) fn push(&mut self, problem: Problem) {
        if self.problems.len() < MOST {
            self.problems.push(problem);
        } else {
            self.dropped += 1;
        }
    }

    fn add(
        &mut self,
        severity: Severity,
        place: Place,
        fault: Fault,
        field: &str,
        message: String,
        hint: String,
    ) {
        if self.is_full() {
            self.dropped += 1;
            return;
        }
        self.problems.push(Problem {
            severity,
            ..Problem::error(&self.file, place, fault, field, message).hint(hint)
        });
    }

    /// All problems in the order of the file.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        self.problems
            .sort_by_key(|problem| (problem.line, problem.column));
        if self.dropped > 0 {
            let message = format!("{} more problems are not shown", self.dropped);
            let last = self.problems.last();
            let place = last.map_or(Place::START, |last| Place {
                line: last.line,
                column: last.column,
            });
            let problem = Problem::error(&self.file, place, Fault::TooLarge, "", message);
            self.problems.push(problem.hint("fix the ones above first"));
        }
        self.problems
    }
}
