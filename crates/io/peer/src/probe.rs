//! Packets with a number and a time, sent to be sent back.

use std::time::{Duration, Instant};

/// The number and the time.
const STAMP: usize = 16;

/// What to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Packets per second; 0 is as many as go.
    pub rate: u32,
    pub duration: Duration,
    /// Bytes of each packet; a stamp of 16 is always there.
    pub size: usize,
}

impl Default for Probe {
    fn default() -> Self {
        Probe {
            rate: 50,
            duration: Duration::from_secs(20),
            size: 100,
        }
    }
}

/// How far a probe is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub elapsed: Duration,
    pub sent: u64,
    pub received: u64,
}

/// The packets of a running probe.
#[derive(Debug)]
pub(crate) struct Tally {
    started: Instant,
    interval: Option<Duration>,
    packet: Vec<u8>,
    sent: u64,
    /// Which have come back: one that comes twice counts once.
    is_back: Vec<bool>,
    times: Vec<Duration>,
}

impl Tally {
    pub(crate) fn new(probe: &Probe, now: Instant) -> Self {
        Tally {
            started: now,
            interval: (probe.rate > 0).then(|| Duration::from_secs(1) / probe.rate),
            packet: vec![0; probe.size.max(STAMP)],
            sent: 0,
            is_back: Vec::new(),
            times: Vec::new(),
        }
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// When the next packet is due; `None` for at once.
    pub(crate) fn due(&self) -> Option<Instant> {
        let after = self
            .interval?
            .as_nanos()
            .saturating_mul(u128::from(self.sent));
        Some(self.started + Duration::from_nanos(u64::try_from(after).unwrap_or(u64::MAX)))
    }

    /// The next packet. It counts once [`Tally::sent`] says so.
    pub(crate) fn packet(&mut self, now: Instant) -> &[u8] {
        let nanos = now.saturating_duration_since(self.started).as_nanos();
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        self.packet[..8].copy_from_slice(&self.sent.to_be_bytes());
        self.packet[8..STAMP].copy_from_slice(&nanos.to_be_bytes());
        &self.packet
    }

    pub(crate) fn sent(&mut self) {
        self.sent += 1;
        self.is_back.push(false);
    }

    /// Takes note of what came back.
    pub(crate) fn back(&mut self, bytes: &[u8], now: Instant) {
        let Some((stamp, _)) = bytes.split_first_chunk::<STAMP>() else {
            return;
        };
        let (number, nanos) = stamp.split_at(8);
        let read = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let place = usize::try_from(read(number)).unwrap_or(usize::MAX);
        let sent_after = Duration::from_nanos(read(nanos));
        let elapsed = now.saturating_duration_since(self.started);
        let (Some(is_back), Some(time)) =
            (self.is_back.get_mut(place), elapsed.checked_sub(sent_after))
        else {
            return;
        };
        if !std::mem::replace(is_back, true) {
            self.times.push(time);
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.times.len() == self.is_back.len()
    }

    pub(crate) fn progress(&self, now: Instant) -> Progress {
        Progress {
            elapsed: now.saturating_duration_since(self.started),
            sent: self.sent,
            received: self.times.len() as u64,
        }
    }

    pub(crate) fn into_times(self) -> Vec<Duration> {
        self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_counts_once_and_only_if_it_was_sent() {
        let start = Instant::now();
        let mut tally = Tally::new(&Probe::default(), start);
        let first = tally.packet(start).to_vec();
        assert_eq!(first.len(), 100);
        tally.sent();
        let later = start + Duration::from_millis(30);
        tally.back(&first, later);
        tally.back(&first, later);
        tally.back(&first[..10], later);
        let mut foreign = first.clone();
        foreign[7] = 1;
        tally.back(&foreign, later);
        assert!(tally.is_complete());
        assert_eq!(tally.progress(later).received, 1);
        assert_eq!(tally.into_times(), [Duration::from_millis(30)]);
    }

    #[test]
    fn packets_are_due_at_their_rate() {
        let start = Instant::now();
        let mut tally = Tally::new(&Probe::default(), start);
        assert_eq!(tally.due(), Some(start));
        tally.sent();
        assert_eq!(tally.due(), Some(start + Duration::from_millis(20)));
        let flood = Probe {
            rate: 0,
            ..Probe::default()
        };
        assert_eq!(Tally::new(&flood, start).due(), None);
    }
}
