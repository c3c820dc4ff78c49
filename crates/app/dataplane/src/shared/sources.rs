//! Connections and handshakes per source address, in tables of fixed size.

use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};

const SLOTS: usize = 1 << 14;

/// Counts things that a source has open, without keeping anything per source but a table slot.
///
/// Two sources that share a slot share its budget. With 16,384 slots and a keyed hash that is rare,
/// cannot be aimed at, and only ever makes the cap stricter.
#[derive(Debug)]
pub struct SourceTable {
    limit: u32,
    slots: Box<[AtomicU32]>,
    hasher: foldhash::quality::RandomState,
}

impl SourceTable {
    /// A table that admits `limit` at a time per source; 0 means no limit.
    pub fn new(limit: u32) -> Self {
        Self {
            limit,
            slots: (0..SLOTS).map(|_| AtomicU32::new(0)).collect(),
            hasher: foldhash::quality::RandomState::default(),
        }
    }

    /// Counts one more of `source`, unless it has as many as it may.
    pub fn acquire(&self, source: IpAddr) -> bool {
        let slot = self.slot(source);
        let before = slot.fetch_add(1, Ordering::Relaxed);
        if self.limit != 0 && before >= self.limit {
            slot.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Counts one less of `source`.
    pub fn release(&self, source: IpAddr) {
        self.slot(source).fetch_sub(1, Ordering::Relaxed);
    }

    fn slot(&self, source: IpAddr) -> &AtomicU32 {
        let hash = self.hasher.hash_one(source_key(source));
        &self.slots[hash as usize % SLOTS]
    }
}

/// An IPv4 address, or the /64 of an IPv6 address: one subscriber usually has a whole /64.
fn source_key(source: IpAddr) -> u64 {
    match source.to_canonical() {
        IpAddr::V4(v4) => u64::from(u32::from(v4)),
        IpAddr::V6(v6) => (u128::from(v6) >> 64) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_each_source_on_its_own() {
        let table = SourceTable::new(2);
        let a: IpAddr = "10.0.0.1".parse().unwrap();
        assert!(table.acquire(a) && table.acquire(a));
        assert!(!table.acquire(a));
        table.release(a);
        assert!(table.acquire(a));
    }

    #[test]
    fn an_ipv6_source_is_its_64_bit_prefix() {
        let a: IpAddr = "2001:db8::1".parse().unwrap();
        let b: IpAddr = "2001:db8::ffff:2".parse().unwrap();
        let c: IpAddr = "2001:db8:0:1::1".parse().unwrap();
        assert_eq!(source_key(a), source_key(b));
        assert_ne!(source_key(a), source_key(c));
    }

    #[test]
    fn no_limit_means_no_limit() {
        let table = SourceTable::new(0);
        let a: IpAddr = "10.0.0.1".parse().unwrap();
        assert!((0..10_000).all(|_| table.acquire(a)));
    }
}
