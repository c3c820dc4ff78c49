//! What is remembered about a unit between its writes.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_translate::{WorkloadKind, WriteFailure};
use tokio::time::{Duration, Instant};

use super::back_off::BackOff;

/// A thing of a unit that is written by itself, and fails by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    LastGood,
    Workload(WorkloadKind, NamespacedName),
    Status,
}

#[derive(Debug, Default)]
pub(super) struct Progress {
    /// A plan for the unit was written: it was ours.
    pub(super) was_ours: bool,
    parts: BTreeMap<Part, PartProgress>,
}

impl Progress {
    pub(super) fn part(&mut self, part: Part) -> &mut PartProgress {
        self.parts.entry(part).or_default()
    }

    /// When the first of those that failed is due again.
    pub(super) fn retry(&self) -> Option<Instant> {
        self.parts.values().filter_map(|part| part.not_before).min()
    }

    /// Forgets the parts that a plan does not have any more.
    pub(super) fn retain(&mut self, keep: impl Fn(&Part) -> bool) {
        self.parts.retain(|part, _| keep(part));
    }
}

/// A Service that the API server takes only without `externalIPs`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RefusedExternalIps {
    pub(super) with: Value,
    pub(super) without: Value,
    pub(super) message: String,
}

#[derive(Debug, Default)]
pub(super) struct PartProgress {
    back_off: BackOff,
    /// Set while the last try is a failure.
    not_before: Option<Instant>,
    /// What could not be written. A new value is tried at once.
    failed: Option<u64>,
    /// What the engine was told last.
    pub(super) reported: Option<Option<WriteFailure>>,
    /// The version that our last write made; a cache that is older knows nothing of it.
    pub(super) written: Option<String>,
    pub(super) external_ips: Option<RefusedExternalIps>,
    /// Set by a request that changed something.
    pub(super) has_written: bool,
    contest: Contest,
}

/// Tells whether somebody else keeps changing what we write.
#[derive(Debug, Default)]
struct Contest {
    last: Option<(u64, Instant)>,
    rounds: u32,
}

impl Contest {
    /// Writing the same value again so soon means that somebody undid it. Longer than the longest wait between tries.
    const SOON: Duration = Duration::from_secs(120);
    /// So often it is put right at once.
    const ROUNDS: u32 = 3;

    /// Notes a write; `true` if it is one of too many.
    fn note(&mut self, value: u64, now: Instant) -> bool {
        let is_again = self
            .last
            .is_some_and(|(last, at)| last == value && now < at + Self::SOON);
        self.rounds = if is_again { self.rounds + 1 } else { 0 };
        self.last = Some((value, now));
        self.rounds >= Self::ROUNDS
    }
}

/// Stands for a value that is only compared: values are large, and some are secret.
fn fingerprint(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}

impl PartProgress {
    /// Whether to leave it for later, because the same value failed a moment ago.
    pub(super) fn must_wait(&self, desired: &Value, now: Instant) -> bool {
        self.not_before.is_some_and(|at| now < at) && self.failed == Some(fingerprint(desired))
    }

    pub(super) fn has_failed(&self) -> bool {
        self.back_off.failures() > 0
    }

    pub(super) fn succeeded(&mut self) {
        self.back_off.reset();
        self.not_before = None;
        self.failed = None;
    }

    /// Whether somebody keeps undoing what was just written.
    pub(super) fn is_contested(&mut self, desired: &Value, now: Instant) -> bool {
        std::mem::take(&mut self.has_written) && self.contest.note(fingerprint(desired), now)
    }

    pub(super) fn failed(&mut self, desired: &Value, now: Instant) {
        let value = fingerprint(desired);
        if self.failed != Some(value) {
            self.back_off.reset();
            self.failed = Some(value);
        }
        self.not_before = Some(now + self.back_off.next(rand::random()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failed_value_waits_and_a_new_one_does_not() {
        let now = Instant::now();
        let mut part = PartProgress::default();
        assert!(!part.must_wait(&json!(1), now));
        part.failed(&json!(1), now);
        assert!(part.must_wait(&json!(1), now));
        assert!(!part.must_wait(&json!(2), now));
        assert!(!part.must_wait(&json!(1), now + Duration::from_millis(250)));
    }

    #[test]
    fn a_new_value_starts_with_a_short_wait() {
        let now = Instant::now();
        let mut part = PartProgress::default();
        for _ in 0..10 {
            part.failed(&json!(1), now);
        }
        assert!(part.must_wait(&json!(1), now + Duration::from_secs(20)));
        part.failed(&json!(2), now);
        assert!(!part.must_wait(&json!(2), now + Duration::from_millis(250)));
    }

    #[test]
    fn what_is_undone_again_and_again_is_put_right_less_often() {
        let now = Instant::now();
        let mut part = PartProgress::default();
        let mut write = |value: i32, now| {
            part.has_written = true;
            part.is_contested(&json!(value), now)
        };
        assert_eq!([0; 4].map(|_| write(1, now)), [false, false, false, true]);
        assert!(!write(2, now));
        assert_eq!([0; 3].map(|_| write(1, now)), [false; 3]);
        assert!(!write(1, now + Contest::SOON));
        assert!(!part.is_contested(&json!(1), now));
    }

    #[test]
    fn a_unit_is_due_when_the_first_of_its_parts_is() {
        let now = Instant::now();
        let mut progress = Progress::default();
        assert_eq!(progress.retry(), None);
        for _ in 0..9 {
            progress.part(Part::Status).failed(&json!(1), now);
        }
        progress.part(Part::LastGood).failed(&json!(1), now);
        assert!(
            progress
                .retry()
                .is_some_and(|at| at <= now + Duration::from_millis(250))
        );
        progress.part(Part::LastGood).succeeded();
        assert!(
            progress
                .retry()
                .is_some_and(|at| at > now + Duration::from_secs(20))
        );
        progress.part(Part::Status).succeeded();
        assert_eq!(progress.retry(), None);
    }
}
