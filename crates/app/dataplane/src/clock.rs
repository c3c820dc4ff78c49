//! The one place that reads clocks for the TURN machines.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use stunner_turn::Now;

/// Milliseconds since the process started, and wall-clock seconds for credential expiry.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that starts now; copies of it agree, so that all shards and the controller share one.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    pub fn now(&self) -> Now {
        Now {
            millis: self.millis(),
            unix: unix_seconds(),
        }
    }

    pub fn millis(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}

pub fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
