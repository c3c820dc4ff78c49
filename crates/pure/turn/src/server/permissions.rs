//! The peer addresses that an allocation may exchange data with (RFC 8656 §9).

use std::collections::HashMap;
use std::net::IpAddr;

use super::verdict::CachedVerdict;

/// Up to this many rows a walk is faster than a hash.
pub(super) const WALK: usize = 8;

#[derive(Debug)]
pub(super) struct Permission {
    pub address: IpAddr,
    pub expires: u64,
    /// About the port that last sent or was sent to without a channel.
    pub verdict: CachedVerdict,
}

/// Permissions by address.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    rows: Vec<Permission>,
    /// Where the rows are, once there are more than [`WALK`].
    index: Option<Box<Index>>,
}

/// A fixed hash is enough: whoever makes its own addresses collide walks its own table, which has a bound.
#[derive(Debug)]
struct Index(HashMap<IpAddr, usize, foldhash::fast::FixedState>);

impl Permissions {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Permission> {
        self.rows.iter()
    }

    fn position(&self, address: IpAddr) -> Option<usize> {
        match &self.index {
            Some(index) => index.0.get(&address).copied(),
            None => self.rows.iter().position(|row| row.address == address),
        }
    }

    pub(super) fn get(&self, address: IpAddr) -> Option<&Permission> {
        self.position(address).map(|at| &self.rows[at])
    }

    pub(super) fn get_mut(&mut self, address: IpAddr) -> Option<&mut Permission> {
        self.position(address).map(|at| &mut self.rows[at])
    }

    /// Installs a permission or refreshes the one there is.
    pub(super) fn install(&mut self, address: IpAddr, expires: u64) {
        if let Some(row) = self.get_mut(address) {
            row.expires = expires;
            return;
        }
        if self.rows.len() < 2 {
            // Most allocations have one or two peers; `Vec` alone would take room for four.
            self.rows.reserve_exact(1);
        }
        self.rows.push(Permission {
            address,
            expires,
            verdict: CachedVerdict::NONE,
        });
        match &mut self.index {
            Some(index) => {
                index.0.insert(address, self.rows.len() - 1);
            }
            None => self.reindex(),
        }
    }

    /// Removes the rows that `keep` does not want.
    pub(super) fn retain(&mut self, keep: impl FnMut(&Permission) -> bool) {
        let before = self.rows.len();
        self.rows.retain(keep);
        if self.rows.len() != before {
            self.reindex();
        }
    }

    fn reindex(&mut self) {
        self.index = (self.rows.len() > WALK).then(|| {
            let rows = self.rows.iter().enumerate();
            Box::new(Index(rows.map(|(at, row)| (row.address, at)).collect()))
        });
    }
}
