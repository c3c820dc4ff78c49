//! How long to wait before the next attempt.

use std::time::Duration;

/// Waits that double up to a limit, each spread by half its length to either side, so that a fleet which lost its
/// discovery service at one moment does not come back at one moment.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    step: Duration,
}

impl Backoff {
    pub fn new(first: Duration, max: Duration) -> Backoff {
        Backoff {
            first,
            max,
            step: first,
        }
    }

    /// The next wait. `chance` is a random number from 0 to 1.
    pub fn next(&mut self, chance: f64) -> Duration {
        let wait = self.step.mul_f64(0.5 + chance.clamp(0.0, 1.0));
        self.step = self.step.saturating_mul(2).min(self.max);
        wait.min(self.max)
    }

    /// Starts over, after an attempt that went well.
    pub fn reset(&mut self) {
        self.step = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(backoff: &mut Backoff, chance: f64) -> f64 {
        backoff.next(chance).as_secs_f64()
    }

    #[test]
    fn waits_double_up_to_the_limit_and_start_over_after_success() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
        let waits: Vec<f64> = (0..6).map(|_| seconds(&mut backoff, 0.5)).collect();
        assert_eq!(waits, [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]);
        backoff.reset();
        assert_eq!(seconds(&mut backoff, 0.5), 1.0);
    }

    #[test]
    fn chance_spreads_each_wait_around_its_length() {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
        assert_eq!(seconds(&mut backoff.clone(), 0.0), 0.5);
        assert_eq!(seconds(&mut backoff.clone(), 1.0), 1.5);
        assert_eq!(seconds(&mut backoff.clone(), 7.0), 1.5);
    }

    #[test]
    fn a_thousand_clients_do_not_reconnect_in_one_moment() {
        let mut per_tenth = [0u32; 11];
        for _ in 0..1000 {
            let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
            let wait = seconds(&mut backoff, rand::random());
            per_tenth[((wait - 0.5) * 10.0) as usize] += 1;
        }
        let busiest = per_tenth.iter().max().copied().unwrap_or_default();
        assert!(busiest < 200, "{per_tenth:?}");
    }
}
