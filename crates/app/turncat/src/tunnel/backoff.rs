//! How long to wait before the next attempt.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(5);

/// Doubles from attempt to attempt, up to a bound. `jitter` in 0.0..1.0 takes off up to half of it, to spread clients that
/// lost the same server at once.
pub(super) fn delay(attempt: u32, jitter: f64) -> Duration {
    let doubled = FIRST.saturating_mul(1 << attempt.min(16));
    doubled
        .min(LONGEST)
        .mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_bound() {
        assert_eq!(delay(0, 0.0), Duration::from_millis(200));
        assert_eq!(delay(2, 0.0), Duration::from_millis(800));
        assert_eq!(delay(u32::MAX, 0.0), LONGEST);
        assert_eq!(delay(0, 1.0), Duration::from_millis(100));
    }
}
