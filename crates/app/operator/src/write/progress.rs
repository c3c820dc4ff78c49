//! What is remembered about a unit between its writes.

use std::collections::BTreeMap;

use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_translate::{WorkloadKind, WriteFailure};
use tokio::time::Instant;

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
    failed: Option<Value>,
    /// What the engine was told last.
    pub(super) reported: Option<Option<WriteFailure>>,
    /// The version that our last write made; a cache that is older knows nothing of it.
    pub(super) written: Option<String>,
    pub(super) external_ips: Option<RefusedExternalIps>,
}

impl PartProgress {
    /// Whether to leave it for later, because the same value failed a moment ago.
    pub(super) fn must_wait(&self, desired: &Value, now: Instant) -> bool {
        self.not_before.is_some_and(|at| now < at) && self.failed.as_ref() == Some(desired)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.back_off.failures() > 0
    }

    pub(super) fn succeeded(&mut self) {
        self.back_off.reset();
        self.not_before = None;
        self.failed = None;
    }

    pub(super) fn failed(&mut self, desired: &Value, now: Instant) {
        if self.failed.as_ref() != Some(desired) {
            self.back_off.reset();
            self.failed = Some(desired.clone());
        }
        self.not_before = Some(now + self.back_off.next(rand::random()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
