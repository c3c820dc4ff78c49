//! Packets as they come in: traffic is counted, everything else is handed on.

use std::net::SocketAddr;
use std::time::Instant;

use stunner_net::udp::{RecvBatch, UdpSocket};
use stunner_stun::channel_data;

use crate::stamp::Stamp;
use crate::traffic::Outcome;

/// Datagrams that are read at once.
pub(crate) const RECEIVE_SLOTS: usize = 64;

/// Reads all that waits at a socket.
pub(crate) fn receive_batches(
    received: &mut RecvBatch,
    socket: &UdpSocket,
    mut each: impl FnMut(SocketAddr, &[u8]),
) -> std::io::Result<()> {
    loop {
        let count = received.recv(socket, 0, RECEIVE_SLOTS)?;
        for slot in 0..count {
            let group = received.get(slot);
            for datagram in group.datagrams() {
                each(group.from, datagram);
            }
        }
        if count < RECEIVE_SLOTS {
            return Ok(());
        }
    }
}

/// What came of one event.
pub(crate) struct Arrivals<'a> {
    pub(crate) run: u32,
    pub(crate) clock: Instant,
    pub(crate) outcome: &'a mut Outcome,
    /// Sessions that were heard of, and from where.
    pub(crate) greetings: Vec<(usize, Option<SocketAddr>)>,
    /// Answers to requests: rare, so that copies are fine.
    pub(crate) control: Vec<Vec<u8>>,
}

impl Arrivals<'_> {
    pub(crate) fn at_peer(&mut self, from: SocketAddr, datagram: &[u8]) {
        if let Some(stamp) = Stamp::read(datagram) {
            match stamp.is_greeting() {
                true => self.greetings.push((stamp.session as usize, Some(from))),
                false => self.count(&stamp, true),
            }
        }
    }

    pub(crate) fn at_client(&mut self, packet: &[u8], is_echo: bool) {
        let Ok(frame) = channel_data::parse(packet) else {
            self.control.push(packet.to_vec());
            return;
        };
        if let Some(stamp) = Stamp::read(frame.payload) {
            match stamp.is_greeting() {
                true => self.greetings.push((stamp.session as usize, None)),
                false => self.count(&stamp, is_echo),
            }
        }
    }

    fn count(&mut self, stamp: &Stamp, to_peer: bool) {
        if stamp.run != self.run {
            return;
        }
        let now = self.clock.elapsed().as_nanos() as u64;
        let flow = match to_peer {
            true => &mut self.outcome.to_peer,
            false => &mut self.outcome.to_client,
        };
        flow.received += 1;
        self.outcome
            .latencies
            .record(now.saturating_sub(stamp.sent_at));
    }
}
