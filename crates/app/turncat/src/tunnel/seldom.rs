//! Warnings that every datagram may be a reason for: said once in a while, not once per datagram.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

const PAUSE: Duration = Duration::from_secs(10);

/// One such warning.
#[derive(Debug, Default)]
pub struct Seldom(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    said: Option<Instant>,
    unsaid: u64,
}

impl Seldom {
    pub fn warn(&self, what: impl Display) {
        match self.due(Instant::now()) {
            None => {}
            Some(0) => warn!("{what}"),
            Some(unsaid) => {
                warn!("{what}; and {unsaid} times more since it was last said");
            }
        }
    }

    /// If it is time to say it: how often it was not said since the last time.
    fn due(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.said.is_some_and(|said| now - said < PAUSE) {
            state.unsaid += 1;
            return None;
        }
        state.said = Some(now);
        Some(std::mem::take(&mut state.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_with_every_datagram_is_said_now_and_then() {
        let (warning, begin) = (Seldom::default(), Instant::now());
        let said: Vec<Option<u64>> = (0..2500)
            .map(|at| warning.due(begin + Duration::from_millis(10 * at)))
            .filter(Option::is_some)
            .collect();
        assert_eq!(said, [Some(0), Some(999), Some(999)]);
    }
}
