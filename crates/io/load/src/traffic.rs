//! What a run sends and what became of it.

use std::time::Duration;

use crate::latency::Latencies;

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

/// How the packets of one burst reach the kernel. Only UDP knows bursts.
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
    /// Bytes of payload, at least [`STAMP_LEN`](crate::STAMP_LEN).
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

/// Packets one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Packets given to the kernel.
    pub sent: u64,
    /// Packets that came out at the other side.
    pub received: u64,
}

impl Flow {
    /// The share of sent packets that did not arrive.
    pub fn loss(&self) -> f64 {
        match self.sent {
            0 => 0.0,
            sent => 1.0 - self.received.min(sent) as f64 / sent as f64,
        }
    }

    fn add(&mut self, other: Flow) {
        self.sent += other.sent;
        self.received += other.received;
    }
}

/// What became of the packets of one run, or of a part of one.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Client to peer; with an echo, client to peer and back.
    pub to_peer: Flow,
    /// Peer to client.
    pub to_client: Flow,
    /// Of the received ones, those that came while sending went on.
    pub received_in_time: u64,
    /// Packets left out because the generator was late, or the connection took no more.
    pub skipped: u64,
    /// How long sending went on.
    pub elapsed: Duration,
    /// Times of flight.
    pub latencies: Latencies,
}

impl Outcome {
    pub fn total(&self) -> Flow {
        let mut total = self.to_peer;
        total.add(self.to_client);
        total
    }

    /// The share of sent packets that did not arrive.
    pub fn loss(&self) -> f64 {
        self.total().loss()
    }

    /// Relayed packets per second.
    pub fn packets_per_second(&self) -> f64 {
        self.received_in_time as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Adds another part, of the same time.
    pub fn merge(&mut self, other: &Outcome) {
        self.to_peer.add(other.to_peer);
        self.to_client.add(other.to_client);
        self.received_in_time += other.received_in_time;
        self.skipped += other.skipped;
        self.elapsed = self.elapsed.max(other.elapsed);
        self.latencies.merge(&other.latencies);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_a_share_and_never_negative() {
        let mut outcome = Outcome::default();
        outcome.to_peer.sent = 150;
        outcome.to_client.sent = 50;
        outcome.to_peer.received = 150;
        assert_eq!(outcome.loss(), 0.25);
        outcome.to_client.received = 51;
        assert_eq!(outcome.loss(), 0.0);
    }
}
