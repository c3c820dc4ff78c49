//! What went through, by server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What went through one server.
#[derive(Debug, Default)]
pub struct Counts {
    sent: Volume,
    received: Volume,
    dropped: AtomicU64,
    allocations: AtomicU64,
    reconnects: AtomicU64,
}

#[derive(Debug, Default)]
struct Volume {
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl Volume {
    fn add(&self, bytes: usize) {
        self.packets.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Counts {
    /// Towards the peer.
    pub fn sent(&self, bytes: usize) {
        self.sent.add(bytes);
    }

    /// From the peer.
    pub fn received(&self, bytes: usize) {
        self.received.add(bytes);
    }

    pub fn dropped(&self, packets: u64) {
        self.dropped.fetch_add(packets, Ordering::Relaxed);
    }

    pub fn allocated(&self) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
    }

    pub fn reconnected(&self) {
        self.reconnects.fetch_add(1, Ordering::Relaxed);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let volume = |volume: &Volume| {
            let (packets, bytes) = (of(&volume.packets), of(&volume.bytes));
            format!("{} in {}", count(bytes, "byte"), count(packets, "packet"))
        };
        write!(
            f,
            "sent {}, received {}, dropped {}; {}, {}",
            volume(&self.sent),
            volume(&self.received),
            count(of(&self.dropped), "packet"),
            count(of(&self.allocations), "allocation"),
            count(of(&self.reconnects), "reconnection"),
        )
    }
}

fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

/// Of the whole process.
#[derive(Debug, Default)]
pub struct Statistics {
    counts_by_server: Mutex<BTreeMap<String, Arc<Counts>>>,
    /// What clients sent faster than it went on, or while there was no server, or when there were too many of them.
    dropped: AtomicU64,
}

impl Statistics {
    pub fn server(&self, name: &str) -> Arc<Counts> {
        let mut servers = self
            .counts_by_server
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(servers.entry(name.to_owned()).or_default())
    }

    pub fn dropped_on_arrival(&self, packets: u64) {
        self.dropped.fetch_add(packets, Ordering::Relaxed);
    }

    /// A line for each server, or for the one that was never needed, and one for what reached none.
    pub fn report(&self, unused: &str) -> String {
        let servers = self
            .counts_by_server
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        if servers.is_empty() {
            text.push_str(&format!("{unused}: {}\n", Counts::default()));
        }
        for (name, counts) in servers.iter() {
            text.push_str(&format!("{name}: {counts}\n"));
        }
        let dropped = self.dropped.load(Ordering::Relaxed);
        if dropped > 0 {
            text.push_str(&format!(
                "dropped before it got to a server: {}\n",
                count(dropped, "packet")
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_a_line_for_each_server() {
        let statistics = Statistics::default();
        let unused = "turn:192.0.2.3:3478?transport=udp";
        assert_eq!(
            statistics.report(unused),
            "turn:192.0.2.3:3478?transport=udp: sent 0 bytes in 0 packets, received 0 bytes in 0 packets, \
             dropped 0 packets; 0 allocations, 0 reconnections\n"
        );
        let first = statistics.server("turn:192.0.2.1:3478?transport=udp");
        first.allocated();
        first.sent(7);
        first.sent(8);
        first.received(1);
        let second = statistics.server("turn:192.0.2.2:3478?transport=udp");
        second.allocated();
        second.reconnected();
        second.dropped(2);
        statistics.dropped_on_arrival(1);
        assert_eq!(
            statistics.report(unused),
            "turn:192.0.2.1:3478?transport=udp: sent 15 bytes in 2 packets, received 1 byte in 1 packet, \
             dropped 0 packets; 1 allocation, 0 reconnections\n\
             turn:192.0.2.2:3478?transport=udp: sent 0 bytes in 0 packets, received 0 bytes in 0 packets, \
             dropped 2 packets; 1 allocation, 1 reconnection\n\
             dropped before it got to a server: 1 packet\n"
        );
    }
}
