//! When to translate.

use std::time::Duration;

use tokio::time::Instant;

/// How long a pass waits, beyond its window, for Secrets that were referred to a moment ago.
const SECRET_PATIENCE: Duration = Duration::from_secs(2);

/// The first change opens a window; at its end everything that came meanwhile is dealt with at once. So the delay of a
/// change is bounded, however many follow it.
#[derive(Debug)]
pub(super) struct Window {
    length: Duration,
    end: Option<Instant>,
}

impl Window {
    pub(super) fn new(length: Duration) -> Self {
        Window { length, end: None }
    }

    /// There is something to do. `false` when the window was open already.
    pub(super) fn open(&mut self, now: Instant) -> bool {
        let opened = self.end.is_none();
        self.end.get_or_insert(now + self.length);
        opened
    }

    /// When to translate next, given whether Secrets are still being read.
    pub(super) fn due(&self, secrets_pending: bool) -> Option<Instant> {
        let patience = match secrets_pending {
            true => SECRET_PATIENCE,
            false => Duration::ZERO,
        };
        Some(self.end? + patience)
    }

    pub(super) fn close(&mut self) {
        self.end = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_millis(250);

    #[test]
    fn later_changes_do_not_move_the_end() {
        let mut window = Window::new(LENGTH);
        let start = Instant::now();
        assert_eq!(window.due(false), None);
        assert!(window.open(start));
        assert!(!window.open(start + LENGTH / 2));
        assert_eq!(window.due(false), Some(start + LENGTH));
        window.close();
        assert_eq!(window.due(false), None);
        assert!(window.open(start + LENGTH));
    }

    #[test]
    fn a_pass_waits_for_secrets_but_not_for_ever() {
        let mut window = Window::new(LENGTH);
        let start = Instant::now();
        window.open(start);
        assert_eq!(window.due(true), Some(start + LENGTH + SECRET_PATIENCE));
    }
}
