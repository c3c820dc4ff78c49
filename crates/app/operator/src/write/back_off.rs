//! How long to wait before a failed write is tried again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(60);

/// Doubles from 250 ms to one minute and never gives up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BackOff {
    failures: u32,
}

impl BackOff {
    /// The next wait. `jitter` is between 0 and 1: the wait is between one half of the step and the whole, so that
    /// what failed together is not tried again together.
    pub(super) fn next(&mut self, jitter: f64) -> Duration {
        let step = FIRST
            .saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX))
            .min(LONGEST);
        self.failures = self.failures.saturating_add(1).min(16);
        step.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
    }

    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    pub(super) fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_a_minute_and_stays_there() {
        let mut back_off = BackOff::default();
        let waits: Vec<_> = (0..11).map(|_| back_off.next(1.0)).collect();
        assert_eq!(waits[0], Duration::from_millis(250));
        assert_eq!(waits[1], Duration::from_millis(500));
        assert_eq!(waits[7], Duration::from_secs(32));
        assert_eq!(waits[8], LONGEST);
        assert_eq!(waits[10], LONGEST);
        for _ in 0..1000 {
            assert_eq!(back_off.next(1.0), LONGEST);
        }
    }

    #[test]
    fn jitter_takes_away_one_half_at_most() {
        let mut back_off = BackOff::default();
        assert_eq!(back_off.next(0.0), Duration::from_millis(125));
        assert_eq!(back_off.next(0.0), Duration::from_millis(250));
    }

    #[test]
    fn starts_anew_after_a_success() {
        let mut back_off = BackOff::default();
        back_off.next(1.0);
        back_off.next(1.0);
        back_off.reset();
        assert_eq!(back_off.next(1.0), FIRST);
    }
}
