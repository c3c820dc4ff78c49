//! Datagrams that wait for their reader.

use std::collections::VecDeque;
use std::net::SocketAddr;

/// Bytes that may wait: a few hundred milliseconds of a fast stream.
const MAX_BYTES: usize = 2 << 20;
/// Datagrams that may wait, however small.
const MAX_DATAGRAMS: usize = 4096;

/// All payloads in one ring, so that a packet costs a copy and no allocation.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: VecDeque<u8>,
    datagrams: VecDeque<(SocketAddr, usize)>,
}

impl Inbox {
    /// `false` when it is full and the datagram is lost.
    pub(crate) fn push(&mut self, peer: SocketAddr, payload: &[u8]) -> bool {
        if self.bytes.len() + payload.len() > MAX_BYTES || self.datagrams.len() >= MAX_DATAGRAMS {
            return false;
        }
        self.bytes.extend(payload);
        self.datagrams.push_back((peer, payload.len()));
        true
    }

    /// What does not fit the buffer is cut off.
    pub(crate) fn pop(&mut self, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        let (peer, length) = self.datagrams.pop_front()?;
        let taken = length.min(buffer.len());
        let (front, back) = self.bytes.as_slices();
        let from_front = taken.min(front.len());
        buffer[..from_front].copy_from_slice(&front[..from_front]);
        buffer[from_front..taken].copy_from_slice(&back[..taken - from_front]);
        self.bytes.drain(..length);
        Some((taken, peer))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    #[test]
    fn datagrams_come_out_whole_and_in_order_also_around_the_end_of_the_ring() {
        let mut inbox = Inbox::default();
        let mut buffer = [0; 1000];
        for round in 0..10_000_u32 {
            let sizes = [round as usize % 997, 3, 0];
            for (port, size) in (1..).zip(sizes) {
                assert!(inbox.push(peer(port), &vec![round as u8; size]));
            }
            for (port, size) in (1..).zip(sizes) {
                assert_eq!(inbox.pop(&mut buffer), Some((size, peer(port))));
                assert!(buffer[..size].iter().all(|byte| *byte == round as u8));
            }
            assert!(inbox.is_empty());
        }
    }

    #[test]
    fn a_small_buffer_cuts_a_datagram_and_leaves_the_next_alone() {
        let mut inbox = Inbox::default();
        inbox.push(peer(1), b"first");
        inbox.push(peer(2), b"second");
        let mut buffer = [0; 2];
        assert_eq!(inbox.pop(&mut buffer), Some((2, peer(1))));
        assert_eq!(&buffer, b"fi");
        assert_eq!(inbox.pop(&mut buffer), Some((2, peer(2))));
        assert_eq!(&buffer, b"se");
        assert_eq!(inbox.pop(&mut buffer), None);
    }

    #[test]
    fn a_full_inbox_loses_what_comes_and_keeps_what_it_has() {
        let mut inbox = Inbox::default();
        let pushed = (0..100)
            .filter(|_| inbox.push(peer(1), &[7; 60_000]))
            .count();
        assert_eq!(pushed, MAX_BYTES / 60_000);
        let mut inbox = Inbox::default();
        let pushed = (0..10_000).filter(|_| inbox.push(peer(1), &[])).count();
        assert_eq!(pushed, MAX_DATAGRAMS);
    }
}
