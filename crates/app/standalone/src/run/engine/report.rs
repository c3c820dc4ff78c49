//! What came of a change.

use std::collections::BTreeMap;

use stunner_api::NamespacedName;
use stunner_manifest::Problem;

use super::Flip;
use crate::local::Served;
use crate::provider::{Change, Source, World};

#[derive(Debug, Default)]
pub struct Report {
    /// Objects of files; what was supplied beside them is nobody's edit.
    pub changes: Vec<Change>,
    pub flips: Vec<Flip>,
    pub served: BTreeMap<NamespacedName, Served>,
    pub new_problems: Vec<Problem>,
    pub solved_problems: Vec<Problem>,
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
        let missing = |from: &[Problem], other: &[Problem]| -> Vec<Problem> {
            let missing = from.iter().filter(|problem| !other.contains(problem));
            missing.cloned().collect()
        };
        self.new_problems = missing(now, before);
        // A problem that only moved, as lines were added above it, is not solved.
        self.solved_problems = missing(before, now);
        self.solved_problems.retain(|old| {
            let same = |new: &&Problem| new.file == old.file && new.message == old.message;
            !now.iter().any(|new| same(&new))
        });
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
            && self.new_problems.is_empty()
            && self.solved_problems.is_empty()
    }

    /// Whether more than problems is to be told.
    pub fn is_change(&self) -> bool {
        !self.changes.is_empty() || !self.flips.is_empty() || !self.solved_problems.is_empty()
    }

    /// Sessions that went on and sessions that ended.
    pub fn sessions(&self) -> (u64, u64) {
        let served = self.served.values();
        served.fold((0, 0), |(kept, ended), served| {
            (kept + served.sessions, ended + served.ended)
        })
    }
}
