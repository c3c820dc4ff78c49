//! Channel bindings of an allocation (RFC 8656 §12).

use std::collections::HashMap;
use std::net::SocketAddr;

use super::permissions::WALK;
use super::verdict::CachedVerdict;

#[derive(Debug)]
pub(super) struct Channel {
    pub number: u16,
    pub peer: SocketAddr,
    pub expires: u64,
    /// When the permission for the peer's address ends: kept here too, so that a packet needs one lookup.
    pub permitted_until: u64,
    pub verdict: CachedVerdict,
}

/// A fixed hash will do, as for permissions.
type Index<K> = HashMap<K, usize, foldhash::fast::FixedState>;

/// Channels, found by number and by peer.
#[derive(Debug, Default)]
pub(super) struct Channels {
    rows: Vec<Channel>,
    /// Where the rows are, once there are more than [`WALK`].
    index: Option<Box<(Index<u16>, Index<SocketAddr>)>>,
}

impl Channels {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Channel> {
        self.rows.iter()
    }

    #[inline]
    pub(super) fn by_number(&mut self, number: u16) -> Option<&mut Channel> {
        let at = match &self.index {
            Some(index) => *index.0.get(&number)?,
            None => self.rows.iter().position(|row| row.number == number)?,
        };
        self.rows.get_mut(at)
    }

    #[inline]
    pub(super) fn by_peer(&mut self, peer: SocketAddr) -> Option<&mut Channel> {
        let at = match &self.index {
            Some(index) => *index.1.get(&peer)?,
            None => self.rows.iter().position(|row| row.peer == peer)?,
        };
        self.rows.get_mut(at)
    }

    /// Adds a channel whose number and peer are both free.
    pub(super) fn insert(&mut self, channel: Channel) {
        if self.rows.len() < 2 {
            self.rows.reserve_exact(1);
        }
        let at = self.rows.len();
        if let Some(index) = &mut self.index {
            index.0.insert(channel.number, at);
            index.1.insert(channel.peer, at);
        }
        self.rows.push(channel);
        if self.index.is_none() {
            self.reindex();
        }
    }

    /// The permission for an address was refreshed.
    pub(super) fn permit(&mut self, address: std::net::IpAddr, until: u64) {
        let rows = self.rows.iter_mut();
        for row in rows.filter(|row| row.peer.ip() == address) {
            row.permitted_until = until;
        }
    }

    /// Takes out the channels that `keep` does not want.
    pub(super) fn remove_unless(&mut self, mut keep: impl FnMut(&Channel) -> bool) -> Vec<Channel> {
        let removed: Vec<Channel> = self.rows.extract_if(.., |row| !keep(row)).collect();
        if !removed.is_empty() {
            self.reindex();
        }
        removed
    }

    fn reindex(&mut self) {
        self.index = (self.rows.len() > WALK).then(|| {
            let rows = self.rows.iter().enumerate();
            let by_number = rows.clone().map(|(at, row)| (row.number, at)).collect();
            let by_peer = rows.map(|(at, row)| (row.peer, at)).collect();
            Box::new((by_number, by_peer))
        });
    }
}
