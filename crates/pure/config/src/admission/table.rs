//! Prefixes with port ranges, compiled for lookup.
//!
//! Prefixes either nest or are disjoint, so they cut the address space into intervals each of which has one innermost
//! prefix. A lookup finds the interval by binary search and then climbs from the innermost prefix to those around it,
//! rarely more than one or two. Keeping the climb, instead of copying every outer prefix into every interval inside
//! it, keeps the table linear in the number of rules, whatever the configuration says.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::PortRange;

/// An address as a number.
pub trait Key: Copy + Ord {
    /// The last address of the prefix of that length that begins at `self`.
    fn last(self, prefix_len: u8) -> Self;
    /// The address after this one.
    fn next(self) -> Option<Self>;
}

impl Key for u32 {
    fn last(self, prefix_len: u8) -> Self {
        self | u32::MAX.checked_shr(prefix_len.into()).unwrap_or(0)
    }

    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl Key for u128 {
    fn last(self, prefix_len: u8) -> Self {
        self | u128::MAX.checked_shr(prefix_len.into()).unwrap_or(0)
    }

    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

/// One rule, reduced to what lookups need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item<K> {
    /// First address; host bits are zero.
    pub start: K,
    pub prefix_len: u8,
    /// Not empty.
    pub ports: PortRange,
    /// Position in route order: of several rules that match, the lowest wins.
    pub order: u32,
}

/// All rules with one prefix.
#[derive(Debug)]
struct Level {
    prefix_len: u8,
    /// The next prefix outward, or [`NONE`].
    parent: u32,
    /// Lowest order of any rule here.
    order: u32,
    /// Where its spans are: disjoint, sorted.
    spans: std::ops::Range<u32>,
}

/// Ports that one rule decides.
#[derive(Debug, Clone, Copy)]
struct Span {
    ports: PortRange,
    order: u32,
}

const NONE: u32 = u32::MAX;

/// The compiled rules of one transport and address family.
#[derive(Debug)]
pub struct Table<K> {
    /// Where intervals begin; the first begins where the first rule does.
    starts: Vec<K>,
    /// The innermost level of each interval, or [`NONE`].
    innermost: Vec<u32>,
    levels: Vec<Level>,
    spans: Vec<Span>,
}

impl<K: Key> Table<K> {
    pub fn build(mut items: Vec<Item<K>>) -> Self {
        // An outer prefix comes before those inside it.
        items.sort_unstable_by_key(|item| (item.start, item.prefix_len, item.order));
        let mut table = Table {
            starts: Vec::new(),
            innermost: Vec::new(),
            levels: Vec::new(),
            spans: Vec::new(),
        };
        let mut open: Vec<(K, u32)> = Vec::new();
        for group in items.chunk_by(|a, b| (a.start, a.prefix_len) == (b.start, b.prefix_len)) {
            let Item {
                start,
                prefix_len,
                order,
                ..
            } = group[0];
            while let Some((last, _)) = open.pop_if(|(last, _)| *last < start) {
                table.close(last, &open);
            }
            let level = number(table.levels.len());
            let first_span = number(table.spans.len());
            table.spans.extend(disjoint(group));
            table.levels.push(Level {
                prefix_len,
                parent: open.last().map_or(NONE, |(_, level)| *level),
                order,
                spans: first_span..number(table.spans.len()),
            });
            table.cut(start, level);
            open.push((start.last(prefix_len), level));
        }
        while let Some((last, _)) = open.pop() {
            table.close(last, &open);
        }
        table
    }

    /// After the end of a prefix the one around it goes on.
    fn close(&mut self, last: K, open: &[(K, u32)]) {
        if let Some(next) = last.next() {
            self.cut(next, open.last().map_or(NONE, |(_, level)| *level));
        }
    }

    fn cut(&mut self, start: K, level: u32) {
        if self.starts.last() == Some(&start) {
            self.innermost.pop();
        } else {
            self.starts.push(start);
        }
        self.innermost.push(level);
    }

    /// The first rule for the address and port whose prefix is at least `min_prefix` long.
    #[inline]
    pub fn find(&self, address: K, port: u16, min_prefix: u8) -> Option<u32> {
        let mut best = NONE;
        for level in self.climb(address, min_prefix) {
            if level.order >= best {
                continue;
            }
            let spans = &self.spans[level.spans.start as usize..level.spans.end as usize];
            let at = spans.partition_point(|span| span.ports.last < port);
            if let Some(span) = spans.get(at)
                && span.ports.first <= port
            {
                best = best.min(span.order);
            }
        }
        (best != NONE).then_some(best)
    }

    /// The first rule for the address, with any port, whose prefix is at least `min_prefix` long.
    pub fn find_any(&self, address: K, min_prefix: u8) -> Option<u32> {
        self.climb(address, min_prefix)
            .map(|level| level.order)
            .min()
    }

    /// The prefixes that hold the address, the longest first.
    #[inline]
    fn climb(&self, address: K, min_prefix: u8) -> impl Iterator<Item = &Level> {
        let after = self.starts.partition_point(|start| *start <= address);
        let mut at = if after == 0 {
            NONE
        } else {
            self.innermost[after - 1]
        };
        std::iter::from_fn(move || {
            let level = self.levels.get(at as usize)?;
            at = level.parent;
            Some(level)
        })
        .take_while(move |level| level.prefix_len >= min_prefix)
    }
}

/// Table positions are 32 bits wide. The reader's bounds are far below; beyond them positions would only repeat the
/// last one, which denies.
fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(NONE)
}

/// Cuts overlapping port ranges into disjoint ones, each decided by the lowest order.
fn disjoint<K: Key>(group: &[Item<K>]) -> Vec<Span> {
    let mut by_first: Vec<(PortRange, u32)> =
        group.iter().map(|item| (item.ports, item.order)).collect();
    by_first.sort_unstable();
    // Ports are widened, so that the port after the last one exists.
    let mut cuts: Vec<u32> = by_first
        .iter()
        .flat_map(|(ports, _)| [u32::from(ports.first), u32::from(ports.last) + 1])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();

    let mut waiting = by_first.into_iter().peekable();
    let mut active: BinaryHeap<Reverse<(u32, u16)>> = BinaryHeap::new();
    let mut spans: Vec<Span> = Vec::new();
    for pair in cuts.windows(2) {
        let (Ok(first), Ok(last)) = (u16::try_from(pair[0]), u16::try_from(pair[1] - 1)) else {
            continue;
        };
        while let Some((ports, order)) = waiting.next_if(|(ports, _)| ports.first <= first) {
            active.push(Reverse((order, ports.last)));
        }
        while active.peek().is_some_and(|Reverse((_, end))| *end < first) {
            active.pop();
        }
        let Some(&Reverse((order, _))) = active.peek() else {
            continue;
        };
        match spans.last_mut() {
            Some(before)
                if before.order == order && before.ports.last.checked_add(1) == Some(first) =>
            {
                before.ports.last = last;
            }
            _ => spans.push(Span {
                ports: PortRange::new(first, last),
                order,
            }),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(start: u32, prefix_len: u8, first: u16, last: u16, order: u32) -> Item<u32> {
        Item {
            start,
            prefix_len,
            ports: PortRange::new(first, last),
            order,
        }
    }

    #[test]
    fn an_empty_table_finds_nothing() {
        let table = Table::<u32>::build(Vec::new());
        assert_eq!(table.find(0, 1, 0), None);
        assert_eq!(table.find_any(u32::MAX, 0), None);
    }

    #[test]
    fn the_whole_space_and_its_ends_are_found() {
        let table = Table::build(vec![item(0, 0, 1, 65535, 3), item(u32::MAX, 32, 7, 7, 1)]);
        assert_eq!(table.find(0, 65535, 0), Some(3));
        assert_eq!(table.find(u32::MAX, 7, 0), Some(1));
        assert_eq!(table.find(u32::MAX, 8, 0), Some(3));
        assert_eq!(table.find(u32::MAX, 8, 1), None);
        assert_eq!(table.find_any(u32::MAX, 32), Some(1));
    }

    #[test]
    fn overlapping_ports_go_to_the_lowest_order() {
        let table = Table::build(vec![
            item(8, 29, 10, 20, 2),
            item(8, 29, 15, 30, 1),
            item(8, 29, 1, 65535, 9),
        ]);
        let found: Vec<_> = [9, 10, 14, 15, 30, 31]
            .map(|port| table.find(9, port, 0))
            .into();
        assert_eq!(
            found,
            [Some(9), Some(2), Some(2), Some(1), Some(1), Some(9)]
        );
        assert_eq!(table.find(16, 10, 0), None);
    }

    #[test]
    fn the_table_stays_linear_in_the_rules() {
        // Copying the outer prefix's port ranges into each inner interval would make 10^8 entries of this.
        let outer = (0..10_000).map(|n| item(0, 0, 2 * n, 2 * n, u32::from(n)));
        let inner = (0..10_000).map(|n| item(n * 4, 32, 1, 1, 10_000 + n));
        let table = Table::build(outer.chain(inner).collect());
        assert_eq!(table.spans.len(), 20_000);
        assert_eq!(table.find(4000, 2000, 0), Some(1000));
        assert_eq!(table.find(4000, 1, 0), Some(11_000));
    }
}
