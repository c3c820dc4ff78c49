//! The ports of live relay sockets, shared by all shards.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::PeerTransport;

const WORDS: usize = 65536 / 64;

/// One bit per transport and port: whether a live allocation relays there.
///
/// Lock-free, because every shard writes it and any of them asks it on the packet path. Relaxed ordering is enough:
/// a bit guards no other memory, and a packet that races with the end of an allocation may see either side.
pub struct RelayPorts {
    udp: Box<[AtomicU64]>,
    tcp: Box<[AtomicU64]>,
}

impl RelayPorts {
    pub fn new() -> Self {
        let bits = || (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        RelayPorts {
            udp: bits(),
            tcp: bits(),
        }
    }

    pub fn set(&self, transport: PeerTransport, port: u16) {
        let (word, bit) = self.place(transport, port);
        word.fetch_or(bit, Ordering::Relaxed);
    }

    pub fn clear(&self, transport: PeerTransport, port: u16) {
        let (word, bit) = self.place(transport, port);
        word.fetch_and(!bit, Ordering::Relaxed);
    }

    pub fn contains(&self, transport: PeerTransport, port: u16) -> bool {
        let (word, bit) = self.place(transport, port);
        word.load(Ordering::Relaxed) & bit != 0
    }

    fn place(&self, transport: PeerTransport, port: u16) -> (&AtomicU64, u64) {
        let words = match transport {
            PeerTransport::Udp => &self.udp,
            PeerTransport::Tcp => &self.tcp,
        };
        (&words[usize::from(port / 64)], 1 << (port % 64))
    }
}

impl Default for RelayPorts {
    fn default() -> Self {
        RelayPorts::new()
    }
}

impl fmt::Debug for RelayPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |words: &[AtomicU64]| -> u32 {
            words
                .iter()
                .map(|w| w.load(Ordering::Relaxed).count_ones())
                .sum()
        };
        f.debug_struct("RelayPorts")
            .field("udp", &count(&self.udp))
            .field("tcp", &count(&self.tcp))
            .finish()
    }
}
