//! Times without the API server, told once and not by every watch.

use std::time::{Duration, Instant};

/// Longer than any watch waits before it tries again.
const QUIET: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Outage {
    last_failure: Option<Instant>,
}

impl Outage {
    /// A watch could not reach the API server. `true` for the first of them.
    pub(super) fn failed(&mut self, now: Instant) -> bool {
        self.last_failure.replace(now).is_none()
    }

    /// `true` once, when all watches have been quiet for a while.
    pub(super) fn is_over(&mut self, now: Instant) -> bool {
        let quiet = |at: &mut Instant| now.saturating_duration_since(*at) >= QUIET;
        self.last_failure.take_if(quiet).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_once_at_its_beginning_and_once_at_its_end() {
        let start = Instant::now();
        let mut outage = Outage::default();
        assert!(!outage.is_over(start));
        assert!(outage.failed(start));
        assert!(!outage.failed(start + QUIET / 2));
        assert!(!outage.is_over(start + QUIET));
        assert!(outage.is_over(start + QUIET * 2));
        assert!(!outage.is_over(start + QUIET * 2));
        assert!(outage.failed(start + QUIET * 2));
    }
}
