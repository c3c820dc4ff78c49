//! What a run sends and what became of it.

use std::time::Duration;

use crate::statistics::Latencies;

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Clients send ChannelData, the peer receives.
    ToPeer,
    /// The peer sends, clients receive ChannelData.
    ToClient,
    /// Bursts alternate between the two.
    Both,
}

/// How the packets of one burst reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstMode {
    /// One segmented message (UDP_SEGMENT).
    Gso,
    /// One sendmmsg.
    Mmsg,
}

/// The shape of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of payload, at least [`STAMP_LEN`](crate::stamp::STAMP_LEN).
    pub payload: usize,
    /// Packets of one session in a row.
    pub burst: usize,
    /// How they are sent.
    pub mode: BurstMode,
    /// Which way they go.
    pub direction: Direction,
}

/// When the next burst leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Whatever comes back: packets per second of all sessions together. Many senders that know
    /// nothing of each other make gaps of exponential length, and so does this.
    Rate(u64),
    /// As soon as fewer than this many packets are on their way.
    Window(usize),
}

/// What became of the packets of one run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Packets given to the kernel.
    pub sent: u64,
    /// Packets that came out at the other side.
    pub received: u64,
    /// Of those, while sending went on.
    pub received_in_time: u64,
    /// Packets left out because the generator was late.
    pub skipped: u64,
    /// How long sending went on.
    pub elapsed: Duration,
    /// Times of flight.
    pub latencies: Latencies,
}

impl Outcome {
    /// The share of sent packets that did not arrive.
    pub fn loss(&self) -> f64 {
        match self.sent {
            0 => 0.0,
            sent => 1.0 - self.received.min(sent) as f64 / sent as f64,
        }
    }

    /// Relayed packets per second.
    pub fn packets_per_second(&self) -> f64 {
        self.received_in_time as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_a_share_and_never_negative() {
        let mut outcome = Outcome {
            sent: 200,
            received: 150,
            ..Outcome::default()
        };
        assert_eq!(outcome.loss(), 0.25);
        outcome.received = 201;
        assert_eq!(outcome.loss(), 0.0);
    }
}
