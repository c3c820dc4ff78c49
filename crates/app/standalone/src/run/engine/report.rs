//! What came of a change.

use std::collections::{BTreeMap, HashMap};

use stunner_api::NamespacedName;
use stunner_manifest::Problem;

use super::Flip;
use crate::local::Sessions;
use crate::provider::{Change, Source, World};

#[derive(Debug, Default)]
pub struct Report {
    /// Objects of files; what was supplied beside them is nobody's edit.
    pub changes: Vec<Change>,
    pub flips: Vec<Flip>,
    /// Live sessions, once it is in force.
    pub sessions: Sessions,
    /// Sessions that ended, because their listener is gone.
    pub ended: u64,
    /// Gateways that were gone and whose drain is over, and how many sessions ended with it.
    pub closed: BTreeMap<NamespacedName, u64>,
    pub new_problems: Vec<Problem>,
    pub solved_problems: Vec<Problem>,
    /// Problems are at other places than before, which is nothing to tell but something to show.
    moved_problems: bool,
    /// Objects that stay as an earlier content of a file with new problems had them, by file.
    pub held: BTreeMap<String, usize>,
}

impl Report {
    pub(super) fn set_changes(&mut self, changes: Vec<Change>) {
        let from_files = changes.into_iter();
        let from_files = from_files.filter(|change| change.source == Source::File);
        self.changes = from_files.collect();
    }

    pub(super) fn set_problems(&mut self, before: &[Problem], now: &[Problem], world: &World) {
        (self.new_problems, self.solved_problems) = differences(before, now);
        self.moved_problems = before != now;
        for problem in &self.new_problems {
            let held = world.held_objects(&problem.file);
            if held > 0 {
                self.held.insert(problem.file.clone(), held);
            }
        }
    }

    /// Nothing that anybody would notice.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
            && self.flips.is_empty()
            && self.closed.is_empty()
            && self.new_problems.is_empty()
            && self.solved_problems.is_empty()
            && !self.moved_problems
    }

    /// Whether more than problems is to be told.
    pub fn is_change(&self) -> bool {
        !self.changes.is_empty()
            || !self.flips.is_empty()
            || !self.closed.is_empty()
            || !self.solved_problems.is_empty()
    }
}

/// The problems that are new and those that are solved. One that only moved, as lines were added above it, is neither.
fn differences(before: &[Problem], now: &[Problem]) -> (Vec<Problem>, Vec<Problem>) {
    // The same may be wrong several times in a file: as many as there were are no news.
    type Said<'a> = (&'a str, &'a str, &'a str);
    fn said(problem: &Problem) -> Said<'_> {
        (&problem.file, problem.severity.as_str(), &problem.message)
    }
    fn beyond(known: &[Problem], problems: &[Problem]) -> Vec<Problem> {
        let mut count: HashMap<Said<'_>, usize> = HashMap::new();
        for problem in known {
            *count.entry(said(problem)).or_default() += 1;
        }
        let mut unknown = Vec::new();
        for problem in problems {
            match count.get_mut(&said(problem)) {
                Some(left) if *left > 0 => *left -= 1,
                _ => unknown.push(problem.clone()),
            }
        }
        unknown
    }
    (beyond(before, now), beyond(now, before))
}
