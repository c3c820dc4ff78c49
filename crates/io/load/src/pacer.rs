//! When the next burst of a fixed rate leaves.

use crate::gaps::Gaps;

/// A generator this late was itself held up; it skips instead of sending a burst nobody asked for.
const MAX_LATE: u64 = 5_000_000;

/// The clock of a sender, in nanoseconds.
#[derive(Debug)]
pub(crate) struct Pacer {
    gaps: Gaps,
    due: u64,
}

impl Pacer {
    pub(crate) fn starting(at: u64) -> Self {
        Pacer {
            gaps: Gaps::new(),
            due: at,
        }
    }

    /// Whether a burst is due. With `interval` nanoseconds between bursts on average, the next one then gets its time.
    /// What is left out is counted in bursts.
    pub(crate) fn is_due(&mut self, now: u64, interval: f64, left_out: &mut u64) -> bool {
        if self.due > now {
            return false;
        }
        if now - self.due > MAX_LATE {
            *left_out += ((now - self.due) as f64 / interval) as u64;
            self.due = now;
        }
        self.due += self.gaps.next(interval);
        true
    }

    /// Nanoseconds until the next burst.
    pub(crate) fn rest(&self, now: u64) -> u64 {
        self.due.saturating_sub(now)
    }

    /// Nothing was to be sent until now.
    pub(crate) fn restart(&mut self, now: u64) {
        self.due = self.due.max(now);
    }
}

/// With a window, packets not back after this long are lost.
const GIVE_UP: u64 = 20_000_000;

/// Lets packets go while few enough are under way.
#[derive(Debug)]
pub(crate) struct Window {
    under_way: u64,
    /// When the last packet came, in nanoseconds.
    progress: u64,
}

impl Window {
    pub(crate) fn starting(at: u64) -> Self {
        Window {
            under_way: 0,
            progress: at,
        }
    }

    /// Whether `burst` more packets fit under `limit`. A burst always does when nothing is under way.
    pub(crate) fn has_room(&self, burst: u64, limit: u64) -> bool {
        self.under_way + burst <= limit.max(burst)
    }

    pub(crate) fn sent(&mut self, packets: u64) {
        self.under_way += packets;
    }

    /// Takes note of what came; late arrivals of packets already written off do not count twice.
    pub(crate) fn received(&mut self, packets: u64, now: u64) {
        if packets > 0 {
            self.under_way = self.under_way.saturating_sub(packets);
            self.progress = now;
        } else if now - self.progress > GIVE_UP {
            self.under_way = 0;
            self.progress = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_sender_skips_what_it_missed() {
        let mut pacer = Pacer::starting(0);
        let mut left_out = 0;
        assert!(pacer.is_due(50_000_000, 1_000_000.0, &mut left_out));
        assert_eq!(left_out, 50);
        assert!(pacer.rest(50_000_000) > 0);
    }

    #[test]
    fn a_punctual_sender_keeps_its_rate_and_skips_nothing() {
        let mut pacer = Pacer::starting(0);
        let (mut sent, mut left_out) = (0, 0);
        // Ten seconds, looked at ten times a millisecond, with a packet per millisecond.
        for now in (0..10_000_000_000).step_by(100_000) {
            sent += u64::from(pacer.is_due(now, 1_000_000.0, &mut left_out));
        }
        assert!((9_500..10_500).contains(&sent), "{sent}");
        assert_eq!(left_out, 0);
    }

    #[test]
    fn a_window_opens_again_when_nothing_comes_back() {
        let mut window = Window::starting(0);
        window.sent(8);
        assert!(!window.has_room(1, 8));
        window.received(0, GIVE_UP);
        assert!(!window.has_room(1, 8));
        window.received(0, GIVE_UP + 1);
        assert!(window.has_room(8, 8));
        window.received(8, GIVE_UP + 2);
        assert!(window.has_room(8, 8), "never below nothing");
    }

    #[test]
    fn a_burst_longer_than_the_window_goes_alone() {
        let mut window = Window::starting(0);
        assert!(window.has_room(32, 8));
        window.sent(32);
        assert!(!window.has_room(32, 8));
    }
}
