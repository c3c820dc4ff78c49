//! What the samples of all threads come to.

use std::collections::BTreeMap;
use std::time::Duration;

use stunner_load::{Failure, Flow, Latencies, Outcome, Sample};

/// How often a point of the plot is made.
pub(super) const POINT: Duration = Duration::from_millis(500);

/// One point of the plot: figures only, as a long measurement has many.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Point {
    pub(super) at: Duration,
    /// How much time it stands for.
    pub(super) length: Duration,
    pub(super) flow: Flow,
    pub(super) p50: Option<Duration>,
    pub(super) p99: Option<Duration>,
    pub(super) ready: usize,
    pub(super) is_measured: bool,
}

impl Point {
    pub(super) fn sent_per_second(&self) -> f64 {
        self.flow.sent as f64 / self.length.as_secs_f64().max(1e-9)
    }

    pub(super) fn received_per_second(&self) -> f64 {
        self.flow.received as f64 / self.length.as_secs_f64().max(1e-9)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Worker {
    ready: usize,
    measured: Duration,
}

/// The load so far.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) asked: usize,
    workers: Vec<Worker>,
    /// Since all sessions had been started.
    pub(super) measured: Outcome,
    pub(super) points: Vec<Point>,
    /// Since the last point.
    current: Outcome,
    is_measured: bool,
    failures: BTreeMap<String, Failure>,
    /// Sessions that carried traffic at the same time.
    pub(super) most_ready: usize,
}

impl Tally {
    pub(super) fn new(asked: usize) -> Self {
        Tally {
            asked,
            workers: Vec::new(),
            measured: Outcome::default(),
            points: Vec::new(),
            current: Outcome::default(),
            is_measured: false,
            failures: BTreeMap::new(),
            most_ready: 0,
        }
    }

    /// Adds a sample that came `at` this time; whether a point is complete.
    pub(super) fn add(&mut self, sample: Sample, at: Duration) -> bool {
        if self.workers.len() <= sample.worker {
            self.workers.resize(sample.worker + 1, Worker::default());
        }
        let worker = &mut self.workers[sample.worker];
        worker.ready = sample.ready;
        if sample.is_measured {
            worker.measured += sample.outcome.elapsed;
            self.measured.merge(&sample.outcome);
        }
        for failure in sample.failures {
            let same = self.failures.entry(failure.what.clone());
            same.and_modify(|known| known.sessions += failure.sessions)
                .or_insert(failure);
        }
        self.most_ready = self.most_ready.max(self.ready());
        self.current.merge(&sample.outcome);
        self.is_measured = sample.is_measured;
        let is_complete = self.unfinished(at) >= POINT;
        if is_complete {
            self.complete(at);
        }
        is_complete
    }

    /// Makes a point of what is left, unless that is too short to say something.
    pub(super) fn finish(&mut self, at: Duration) {
        if self.unfinished(at) >= POINT / 2 {
            self.complete(at);
        }
    }

    /// How long ago the last point was made.
    fn unfinished(&self, at: Duration) -> Duration {
        let begun = self.points.last().map_or(Duration::ZERO, |point| point.at);
        at.saturating_sub(begun)
    }

    fn complete(&mut self, at: Duration) {
        let outcome = std::mem::take(&mut self.current);
        self.points.push(Point {
            at,
            length: self.unfinished(at),
            flow: outcome.total(),
            p50: outcome.latencies.percentile(50.0),
            p99: outcome.latencies.percentile(99.0),
            ready: self.ready(),
            is_measured: self.is_measured,
        });
    }

    pub(super) fn ready(&self) -> usize {
        self.workers.iter().map(|worker| worker.ready).sum()
    }

    /// The time that counts: that of the longest thread.
    pub(super) fn seconds(&self) -> f64 {
        let measured = self.workers.iter().map(|worker| worker.measured);
        measured.max().unwrap_or_default().as_secs_f64()
    }

    /// Sessions that failed, by reason, the most frequent first.
    pub(super) fn failures(&self) -> Vec<&Failure> {
        let mut failures: Vec<&Failure> = self.failures.values().collect();
        failures.sort_by_key(|failure| std::cmp::Reverse(failure.sessions));
        failures
    }

    pub(super) fn failed(&self) -> usize {
        self.failures.values().map(|failure| failure.sessions).sum()
    }

    pub(super) fn latencies(&self) -> &Latencies {
        &self.measured.latencies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(worker: usize, sent: u64, is_measured: bool) -> Sample {
        let mut sample = Sample {
            worker,
            is_measured,
            ready: 5,
            ..Sample::default()
        };
        sample.outcome.to_peer.sent = sent;
        sample.outcome.elapsed = Duration::from_millis(100);
        sample
    }

    #[test]
    fn only_what_comes_after_the_start_of_all_sessions_counts() {
        let mut tally = Tally::new(10);
        tally.add(sample(0, 100, false), Duration::from_millis(100));
        tally.add(sample(0, 7, true), Duration::from_millis(200));
        tally.add(sample(1, 8, true), Duration::from_millis(200));
        assert_eq!(tally.measured.to_peer.sent, 15);
        assert!(
            (tally.seconds() - 0.1).abs() < 1e-9,
            "threads run at the same time"
        );
        assert_eq!(tally.ready(), 10);
    }

    #[test]
    fn points_are_made_of_half_a_second() {
        let mut tally = Tally::new(10);
        for number in 1..=10 {
            let complete = tally.add(sample(0, 50, true), Duration::from_millis(number * 100));
            assert_eq!(complete, number % 5 == 0, "{number}");
        }
        assert_eq!(tally.points.len(), 2);
        assert!((tally.points[1].sent_per_second() - 500.0).abs() < 1e-6);
    }

    #[test]
    fn points_are_figures_and_keep_no_histogram() {
        let mut tally = Tally::new(1);
        let mut sample = sample(0, 2, true);
        sample.outcome.latencies.record(1_000_000);
        sample.outcome.latencies.record(9_000_000);
        tally.add(sample, POINT);
        let in_millis = |latency: Option<Duration>| latency.map(|latency| latency.as_millis());
        let point = tally.points[0];
        assert_eq!(
            (in_millis(point.p50), in_millis(point.p99)),
            (Some(1), Some(9))
        );
        // Whoever has memory of its own frees it.
        assert!(!std::mem::needs_drop::<Point>());
    }

    #[test]
    fn failures_are_summed_by_reason() {
        let mut tally = Tally::new(10);
        for (what, sessions) in [("a", 1), ("b", 3), ("a", 1)] {
            let mut sample = sample(0, 0, false);
            sample.failures.push(Failure {
                what: what.to_owned(),
                kind: stunner_load::FailureKind::Silence,
                sessions,
            });
            tally.add(sample, Duration::ZERO);
        }
        let failures: Vec<_> = tally
            .failures()
            .into_iter()
            .map(|f| (f.what.as_str(), f.sessions))
            .collect();
        assert_eq!(failures, [("b", 3), ("a", 2)]);
        assert_eq!(tally.failed(), 5);
    }
}
