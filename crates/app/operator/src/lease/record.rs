//! What the Lease says, and what follows from it.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use super::LEASE_DURATION;

/// The Lease as it was last seen, and since when it has been so by our own clock.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) lease: Lease,
    since: Instant,
}

/// What to do about the Lease.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Somebody else holds it.
    Wait,
    /// Write this.
    Take(Box<Lease>),
}

impl Observed {
    pub(super) fn new(lease: Lease, now: Instant) -> Self {
        Observed { lease, since: now }
    }

    /// Takes in what the API server has now. Only a changed record is a sign of life.
    pub(super) fn update(&mut self, lease: Lease, now: Instant) {
        if self.lease.spec != lease.spec {
            self.since = now;
        }
        self.lease = lease;
    }

    fn holder(&self) -> &str {
        let spec = self.lease.spec.as_ref();
        spec.and_then(|spec| spec.holder_identity.as_deref())
            .unwrap_or_default()
    }

    pub(super) fn is_held_by(&self, identity: &str) -> bool {
        self.holder() == identity
    }

    fn has_expired(&self, now: Instant) -> bool {
        let spec = self.lease.spec.as_ref();
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
        let duration = seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map_or(LEASE_DURATION, Duration::from_secs);
        now.saturating_duration_since(self.since) >= duration
    }

    pub(super) fn step(&self, identity: &str, now: Instant, wall: Timestamp) -> Step {
        if !self.holder().is_empty() && !self.is_held_by(identity) && !self.has_expired(now) {
            return Step::Wait;
        }
        let spec = self.lease.spec.clone().unwrap_or_default();
        let transitions = spec.lease_transitions.unwrap_or(0);
        let (acquired, transitions) = match self.is_held_by(identity) {
            true => (spec.acquire_time, transitions),
            false => (Some(MicroTime(wall)), transitions.saturating_add(1)),
        };
        let spec = LeaseSpec {
            acquire_time: acquired,
            lease_transitions: Some(transitions),
            ..held(identity, wall)
        };
        Step::Take(Box::new(Lease {
            metadata: self.lease.metadata.clone(),
            spec: Some(spec),
        }))
    }

    /// The Lease with nobody holding it; others may take it at once.
    pub(super) fn released(&self, wall: Timestamp) -> Lease {
        let transitions = self
            .lease
            .spec
            .as_ref()
            .and_then(|spec| spec.lease_transitions);
        Lease {
            metadata: self.lease.metadata.clone(),
            spec: Some(LeaseSpec {
                holder_identity: Some(String::new()),
                lease_duration_seconds: Some(1),
                acquire_time: Some(MicroTime(wall)),
                renew_time: Some(MicroTime(wall)),
                lease_transitions: transitions,
                ..LeaseSpec::default()
            }),
        }
    }
}

/// The record of a holder that has just taken it.
pub(super) fn held(identity: &str, wall: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: i32::try_from(LEASE_DURATION.as_secs()).ok(),
        acquire_time: Some(MicroTime(wall)),
        renew_time: Some(MicroTime(wall)),
        lease_transitions: Some(0),
        ..LeaseSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str, renewed: i64) -> Lease {
        let wall = Timestamp::from_second(renewed).expect("a time");
        Lease {
            spec: Some(held(holder, wall)),
            ..Lease::default()
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn a_lease_of_another_is_left_alone_until_its_record_stands_still() {
        let start = Instant::now();
        let mut observed = Observed::new(lease("other", 1), start);
        let later = start + Duration::from_secs(14);
        assert_eq!(observed.step("me", later, at(20)), Step::Wait);
        observed.update(lease("other", 2), later);
        let much_later = start + Duration::from_secs(20);
        assert_eq!(
            observed.step("me", much_later, at(20)),
            Step::Wait,
            "it was renewed"
        );
        let Step::Take(taken) = observed.step("me", later + LEASE_DURATION, at(40)) else {
            panic!("it has run out");
        };
        let spec = taken.spec.expect("a record");
        assert_eq!(spec.holder_identity.as_deref(), Some("me"));
        assert_eq!(spec.lease_transitions, Some(1));
        assert_eq!(spec.acquire_time, Some(MicroTime(at(40))));
    }

    #[test]
    fn the_clock_of_the_holder_does_not_matter() {
        let start = Instant::now();
        let observed = Observed::new(lease("other", -1_000_000), start);
        assert_eq!(observed.step("me", start, at(0)), Step::Wait);
    }

    #[test]
    fn renewing_keeps_the_time_of_taking() {
        let start = Instant::now();
        let observed = Observed::new(lease("me", 1), start);
        let Step::Take(renewed) = observed.step("me", start, at(5)) else {
            panic!("it is ours");
        };
        let spec = renewed.spec.expect("a record");
        assert_eq!(spec.acquire_time, Some(MicroTime(at(1))));
        assert_eq!(spec.renew_time, Some(MicroTime(at(5))));
        assert_eq!(spec.lease_transitions, Some(0));
    }

    #[test]
    fn a_released_lease_is_free_at_once() {
        let start = Instant::now();
        let mine = Observed::new(lease("me", 1), start);
        let released = Observed::new(mine.released(at(2)), start);
        assert!(matches!(
            released.step("other", start, at(2)),
            Step::Take(_)
        ));
    }
}
