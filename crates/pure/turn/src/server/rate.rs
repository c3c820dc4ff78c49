//! How often one source may be answered before it has authenticated.
//!
//! A fixed table of packed counters, shared by all shards without locks. A source is an IPv4 address or an IPv6 /64.
//! Each falls into a set of four entries; an entry holds the second it counts in, so entries of the past are free
//! without anybody sweeping. When a set is full of other sources of the same second, the one with the smallest count
//! makes room: whoever floods keeps its entry.

use std::fmt;
use std::hash::Hasher as _;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

const SETS: usize = 1 << 14;
const WAYS: usize = 4;

/// An entry: which source (24 bits of its hash), in which second (20 bits), how often (20 bits).
#[derive(Clone, Copy)]
struct Entry(u64);

impl Entry {
    const MASK: u64 = (1 << 20) - 1;

    fn new(tag: u64, second: u64, count: u64) -> Self {
        Entry(tag << 40 | (second & Self::MASK) << 20 | count.min(Self::MASK))
    }

    fn tag(self) -> u64 {
        self.0 >> 40
    }

    fn is_of(self, second: u64) -> bool {
        self.count() > 0 && (self.0 >> 20) & Self::MASK == second & Self::MASK
    }

    fn count(self) -> u64 {
        self.0 & Self::MASK
    }
}

/// Counts answers per source and second.
pub(super) struct RateTable {
    entries: Box<[AtomicU64]>,
    key: [u8; 32],
    per_second: u64,
}

impl RateTable {
    /// `per_second` 0 sets no limit.
    pub(super) fn new(key: [u8; 32], per_second: u32) -> Self {
        let entries = if per_second == 0 { 0 } else { SETS * WAYS };
        RateTable {
            entries: (0..entries).map(|_| AtomicU64::new(0)).collect(),
            key,
            per_second: u64::from(per_second).min(Entry::MASK - 1),
        }
    }

    /// Counts one answer; `false` when the source has had enough for this second.
    pub(super) fn allow(&self, source: IpAddr, millis: u64) -> bool {
        if self.entries.is_empty() {
            return true;
        }
        let second = millis / 1000;
        let hash = self.hash(source);
        let tag = hash >> 40;
        let first = (hash as usize % SETS) * WAYS;
        let set = &self.entries[first..first + WAYS];

        // Shards race for entries. Losing a race a few times in a row costs at most one uncounted answer.
        for _ in 0..4 {
            let mut place = 0;
            let mut seen = Entry(0);
            let mut smallest = u64::MAX;
            for (index, entry) in set.iter().enumerate() {
                let value = Entry(entry.load(Ordering::Relaxed));
                let current = value.is_of(second);
                if current && value.tag() == tag {
                    (place, seen) = (index, value);
                    break;
                }
                let weight = if current { value.count() } else { 0 };
                if weight < smallest {
                    (place, seen, smallest) = (index, value, weight);
                }
            }
            let ours = seen.is_of(second) && seen.tag() == tag;
            let count = if ours { seen.count() } else { 0 };
            if count >= self.per_second {
                return false;
            }
            let next = Entry::new(tag, second, count + 1);
            let won = set[place].compare_exchange_weak(
                seen.0,
                next.0,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if won.is_ok() {
                return true;
            }
        }
        true
    }

    /// SipHash with a secret in front, so that nobody can aim at another source's entry.
    fn hash(&self, source: IpAddr) -> u64 {
        let mut hasher = std::collections::hash_map::DefaultHasher::new();
        hasher.write(&self.key);
        match source.to_canonical() {
            IpAddr::V4(v4) => hasher.write_u32(v4.to_bits()),
            IpAddr::V6(v6) => hasher.write_u64((v6.to_bits() >> 64) as u64),
        }
        hasher.finish()
    }
}

impl fmt::Debug for RateTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateTable")
            .field("per_second", &self.per_second)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(table: &RateTable, source: &str, millis: u64, tries: usize) -> usize {
        let source = source.parse().unwrap();
        (0..tries).filter(|_| table.allow(source, millis)).count()
    }

    #[test]
    fn a_source_gets_its_number_every_second() {
        let table = RateTable::new([7; 32], 10);
        assert_eq!(allowed(&table, "192.0.2.1", 500, 25), 10);
        assert_eq!(allowed(&table, "192.0.2.1", 999, 25), 0);
        assert_eq!(allowed(&table, "192.0.2.1", 1000, 25), 10);
        assert_eq!(allowed(&table, "192.0.2.2", 1000, 25), 10);
    }

    #[test]
    fn an_ipv6_source_is_a_whole_64() {
        let table = RateTable::new([7; 32], 10);
        assert_eq!(allowed(&table, "2001:db8::1", 0, 6), 6);
        assert_eq!(allowed(&table, "2001:db8::2", 0, 6), 4);
        assert_eq!(allowed(&table, "2001:db8:0:1::2", 0, 6), 6);
    }

    #[test]
    fn a_mapped_address_is_the_same_source() {
        let table = RateTable::new([7; 32], 10);
        assert_eq!(allowed(&table, "192.0.2.1", 0, 6), 6);
        assert_eq!(allowed(&table, "::ffff:192.0.2.1", 0, 6), 4);
    }

    #[test]
    fn zero_sets_no_limit() {
        let table = RateTable::new([7; 32], 0);
        assert_eq!(allowed(&table, "192.0.2.1", 0, 5000), 5000);
    }

    #[test]
    fn a_flooding_source_stays_limited_while_a_million_others_pass_by() {
        let table = RateTable::new([7; 32], 10);
        let flooder: IpAddr = "192.0.2.1".parse().unwrap();
        let mut answers = 0;
        for i in 0..1_000_000u32 {
            let other = IpAddr::from((0x0a00_0000 + i).to_be_bytes());
            table.allow(other, 0);
            if i % 100 == 0 {
                answers += usize::from(table.allow(flooder, 0));
            }
        }
        assert!(answers <= 40, "{answers} answers instead of 10");
    }
}
