//! What a probe found out.

use std::time::Duration;

use crate::candidate::{LocalCandidate, Pair, RemoteCandidate};

/// Round-trip times of the packets that came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrips {
    pub mean: Duration,
    pub median: Duration,
    pub p95: Duration,
    pub p99: Duration,
    pub min: Duration,
    pub max: Duration,
}

/// What a probe found out.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub sent: u64,
    pub received: u64,
    /// How long packets were sent.
    pub elapsed: Duration,
    /// `None` when nothing came back.
    pub round_trips: Option<RoundTrips>,
    pub local: Vec<LocalCandidate>,
    pub remote: Vec<RemoteCandidate>,
    pub selected: Option<Pair>,
}

impl Report {
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// The part of the packets that did not come back, from 0 to 1.
    pub fn loss(&self) -> f64 {
        match self.sent {
            0 => 0.0,
            sent => self.lost() as f64 / sent as f64,
        }
    }

    /// Packets per second that came back.
    pub fn rate(&self) -> f64 {
        match self.elapsed.as_secs_f64() {
            seconds if seconds > 0.0 => self.received as f64 / seconds,
            _ => 0.0,
        }
    }
}

impl RoundTrips {
    /// Of all times; `None` without any.
    pub(crate) fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let (min, max) = (*times.first()?, *times.last()?);
        let sum: Duration = times.iter().sum();
        // The nearest rank: the smallest time that so many are not above.
        let rank = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).max(1);
            times.get(rank - 1).copied().unwrap_or(max)
        };
        Some(RoundTrips {
            mean: sum.div_f64(times.len() as f64),
            median: rank(50),
            p95: rank(95),
            p99: rank(99),
            min,
            max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times = (1..=100).rev().map(Duration::from_millis).collect();
        let found = RoundTrips::of(times).expect("times");
        let ms = Duration::from_millis;
        assert_eq!(
            (found.median, found.p95, found.p99, found.min, found.max),
            (ms(50), ms(95), ms(99), ms(1), ms(100))
        );
        assert_eq!(found.mean, Duration::from_micros(50_500));
        let one = RoundTrips::of(vec![ms(7)]).expect("times");
        assert_eq!((one.mean, one.median, one.p99), (ms(7), ms(7), ms(7)));
        assert_eq!(RoundTrips::of(Vec::new()), None);
    }
}
