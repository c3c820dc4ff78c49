//! Which allocation a 5-tuple has.

use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::allocation::Allocations;
use super::nonce::address_bits;
use crate::FiveTuple;

/// A hash table of places in [`Allocations`]. The tuples themselves stay in the allocations, which a packet has to touch
/// anyway, so that an entry costs five bytes.
#[derive(Debug)]
pub(super) struct Tuples {
    places: HashTable<u32>,
    state: FixedState,
}

impl Tuples {
    pub(super) fn new(seed: u64) -> Self {
        Tuples {
            places: HashTable::new(),
            state: FixedState::with_seed(seed),
        }
    }

    #[inline]
    pub(super) fn find(&self, tuple: &FiveTuple, allocations: &Allocations) -> Option<u32> {
        let is_same = |&place: &u32| {
            let allocation = allocations.at(place);
            allocation.is_some_and(|(_, a)| a.path.tuple == *tuple)
        };
        self.places.find(hash(&self.state, tuple), is_same).copied()
    }

    /// Notes an allocation that is in the table and whose tuple has no other.
    pub(super) fn insert(&mut self, place: u32, allocations: &Allocations) {
        let state = &self.state;
        let rehash = |&place: &u32| match allocations.at(place) {
            Some((_, allocation)) => hash(state, &allocation.path.tuple),
            None => 0,
        };
        let hash = rehash(&place);
        self.places.insert_unique(hash, place, rehash);
    }

    /// Forgets an allocation that is still in the table.
    pub(super) fn remove(&mut self, tuple: &FiveTuple, place: u32) {
        let hash = hash(&self.state, tuple);
        if let Ok(entry) = self.places.find_entry(hash, |&other| other == place) {
            entry.remove();
        }
    }
}

#[inline]
fn hash(state: &FixedState, tuple: &FiveTuple) -> u64 {
    let ports = u64::from(tuple.client.port()) << 16 | u64::from(tuple.local.port());
    let mut hasher = state.build_hasher();
    hasher.write_u128(address_bits(tuple.client.ip()));
    hasher.write_u128(address_bits(tuple.local.ip()));
    hasher.write_u64(ports << 8 | tuple.transport as u64);
    hasher.finish()
}
