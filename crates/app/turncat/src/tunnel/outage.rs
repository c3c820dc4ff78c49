//! Whether the server answers: told once per outage, not by every client and every attempt.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::warn;

#[derive(Debug, Default)]
pub(super) struct Outage(AtomicBool);

impl Outage {
    pub(super) fn begins(&self, why: impl Display) {
        if self.begun() {
            warn!("{why}; trying again");
        }
    }

    pub(super) fn ends(&self, server: impl Display) {
        if self.ended() {
            warn!("{server} answers again");
        }
    }

    /// Whether that is news.
    fn begun(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    fn ended(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_and_its_end_are_news_once() {
        let outage = Outage::default();
        assert!(!outage.ended(), "nothing was wrong");
        assert!(outage.begun() && !outage.begun());
        assert!(outage.ended() && !outage.ended());
        assert!(outage.begun(), "the next one is news again");
    }
}
