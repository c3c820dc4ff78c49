//! Permissions and channels of the allocation, with the times at which they need renewal.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use foldhash::fast::FixedState;

/// RFC 8656 §9: a permission lasts 5 minutes; we renew after 4.
const PERMISSION_MS: u64 = 300_000;
const PERMISSION_RENEW_MS: u64 = 240_000;
/// RFC 8656 §12: a channel lasts 10 minutes, and its number rests for 5 more before it may change peers.
const CHANNEL_MS: u64 = 600_000;
const CHANNEL_RENEW_MS: u64 = 540_000;
const CHANNEL_REST_MS: u64 = 300_000;
/// The pause before a renewal that got no answer is tried again.
const RETRY_MS: u64 = 5_000;
/// Permissions due this soon ride along with one that is due now.
const RIDE_ALONG_MS: u64 = 30_000;
const FIRST_CHANNEL: u16 = 0x4000;
/// RFC 8656 §12 ends the range clients should use at 0x4FFF.
const CHANNEL_COUNT: usize = 0x1000;

#[derive(Clone, Copy, Debug)]
struct Lease {
    /// `None` while a renewal is under way or nobody wants one.
    renew_at: Option<u64>,
    expires_at: u64,
}

#[derive(Debug)]
struct Permission {
    /// The address as the caller gave it; only its IP matters to the server.
    peer: SocketAddr,
    lease: Lease,
}

#[derive(Debug)]
struct Channel {
    peer: SocketAddr,
    /// `None` before the first success and after expiry or refusal.
    lease: Option<Lease>,
    /// When the number may go to another peer.
    reusable_at: u64,
}

/// The peers an allocation talks to.
#[derive(Debug, Default)]
pub(super) struct Peers {
    permissions: HashMap<IpAddr, Permission, FixedState>,
    /// Index + 0x4000 is the channel number, so that received ChannelData needs no search.
    channels: Vec<Channel>,
    channel_by_peer: HashMap<SocketAddr, u16, FixedState>,
}

/// Renewals and losses found by [`Peers::on_timeout`].
#[derive(Debug, Default)]
pub(super) struct PeersDue {
    pub(super) permissions: Vec<SocketAddr>,
    pub(super) channels: Vec<(SocketAddr, u16)>,
}

impl Peers {
    pub(super) fn clear(&mut self) {
        *self = Peers::default();
    }

    pub(super) fn grant(&mut self, now: u64, peer: SocketAddr, renew: bool) {
        let renew_at = renew.then_some(now + PERMISSION_RENEW_MS);
        let lease = Lease {
            renew_at,
            expires_at: now + PERMISSION_MS,
        };
        self.permissions
            .insert(peer.ip(), Permission { peer, lease });
    }

    pub(super) fn revoke(&mut self, peer: SocketAddr) {
        self.permissions.remove(&peer.ip());
    }

    pub(super) fn permits(&self, ip: IpAddr) -> bool {
        self.permissions.contains_key(&ip)
    }

    /// No answer came: try again soon, unless the permission ends first.
    pub(super) fn retry_permission(&mut self, now: u64, peer: SocketAddr) {
        if let Some(permission) = self.permissions.get_mut(&peer.ip()) {
            permission.lease.renew_at = Some(now + RETRY_MS);
        }
    }

    /// The number for a new or renewed binding of `peer`.
    pub(super) fn reserve_channel(&mut self, now: u64, peer: SocketAddr) -> Option<u16> {
        if let Some(&number) = self.channel_by_peer.get(&peer) {
            // Its own peer may have a resting number back at any time.
            if let Some(channel) = self.slot(number) {
                channel.reusable_at = u64::MAX;
            }
            return Some(number);
        }
        let index = if self.channels.len() < CHANNEL_COUNT {
            self.channels.push(Channel {
                peer,
                lease: None,
                reusable_at: u64::MAX,
            });
            self.channels.len() - 1
        } else {
            let index = self
                .channels
                .iter()
                .position(|channel| channel.reusable_at <= now)?;
            self.channel_by_peer.remove(&self.channels[index].peer);
            self.channels[index] = Channel {
                peer,
                lease: None,
                reusable_at: u64::MAX,
            };
            index
        };
        let number = FIRST_CHANNEL + u16::try_from(index).ok()?;
        self.channel_by_peer.insert(peer, number);
        Some(number)
    }

    pub(super) fn bind(&mut self, now: u64, peer: SocketAddr, number: u16, renew: bool) {
        let renew_at = renew.then_some(now + CHANNEL_RENEW_MS);
        if let Some(channel) = self.slot(number) {
            channel.lease = Some(Lease {
                renew_at,
                expires_at: now + CHANNEL_MS,
            });
            channel.reusable_at = u64::MAX;
        }
        // RFC 8656 §12: a channel binding installs or refreshes the permission too.
        self.grant(now, peer, renew);
    }

    /// The server refused the binding, or its answer never came; the number rests.
    pub(super) fn unbind(&mut self, now: u64, number: u16) {
        if let Some(channel) = self.slot(number) {
            channel.lease = None;
            channel.reusable_at = now + CHANNEL_MS + CHANNEL_REST_MS;
        }
    }

    pub(super) fn retry_channel(&mut self, now: u64, number: u16) {
        match self.slot(number).map(|channel| &mut channel.lease) {
            Some(Some(lease)) => lease.renew_at = Some(now + RETRY_MS),
            _ => self.unbind(now, number),
        }
    }

    /// The bound channel of a peer; nothing while the first binding is unanswered.
    pub(super) fn channel(&self, peer: SocketAddr) -> Option<u16> {
        let number = *self.channel_by_peer.get(&peer)?;
        let channel = self
            .channels
            .get(usize::from(number.checked_sub(FIRST_CHANNEL)?))?;
        channel.lease.is_some().then_some(number)
    }

    /// Who is behind a number; also while the binding is unanswered, as data may overtake the answer.
    pub(super) fn peer_of(&self, number: u16) -> Option<SocketAddr> {
        let index = usize::from(number.checked_sub(FIRST_CHANNEL)?);
        self.channels
            .get(index)
            .filter(|channel| channel.reusable_at == u64::MAX)
            .map(|channel| channel.peer)
    }

    pub(super) fn next_deadline(&self) -> Option<u64> {
        let permissions = self.permissions.values().map(|permission| permission.lease);
        let channels = self.channels.iter().filter_map(|channel| channel.lease);
        permissions
            .chain(channels)
            .map(|lease| {
                lease
                    .renew_at
                    .unwrap_or(lease.expires_at)
                    .min(lease.expires_at)
            })
            .min()
    }

    /// Drops what expired and collects what is to be renewed; the renewals count as under way.
    pub(super) fn on_timeout(&mut self, now: u64) -> PeersDue {
        let mut due = PeersDue::default();
        self.permissions
            .retain(|_, permission| permission.lease.expires_at > now);
        let is_due = |lease: &Lease, by: u64| lease.renew_at.is_some_and(|at| at <= by);
        if self
            .permissions
            .values()
            .any(|permission| is_due(&permission.lease, now))
        {
            for permission in self.permissions.values_mut() {
                if is_due(&permission.lease, now + RIDE_ALONG_MS) {
                    permission.lease.renew_at = None;
                    due.permissions.push(permission.peer);
                }
            }
            due.permissions.sort_unstable();
        }
        for (index, channel) in self.channels.iter_mut().enumerate() {
            let Some(lease) = &mut channel.lease else {
                continue;
            };
            if lease.expires_at <= now {
                channel.lease = None;
                channel.reusable_at = now + CHANNEL_REST_MS;
            } else if lease.renew_at.is_some_and(|at| at <= now) {
                lease.renew_at = None;
                due.channels.extend(
                    u16::try_from(index)
                        .ok()
                        .map(|index| (channel.peer, FIRST_CHANNEL + index)),
                );
            }
        }
        due
    }

    fn slot(&mut self, number: u16) -> Option<&mut Channel> {
        self.channels
            .get_mut(usize::from(number.checked_sub(FIRST_CHANNEL)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], n))
    }

    #[test]
    fn rfc8656_12_a_number_rests_five_minutes_before_it_changes_peers() {
        let mut peers = Peers::default();
        for n in 0..0x1000 {
            assert_eq!(peers.reserve_channel(0, peer(n)), Some(FIRST_CHANNEL + n));
            peers.bind(0, peer(n), FIRST_CHANNEL + n, false);
        }
        assert_eq!(
            peers.reserve_channel(0, peer(0x1000)),
            None,
            "the range is full"
        );
        peers.on_timeout(CHANNEL_MS);
        assert_eq!(peers.channel(peer(7)), None, "expired");
        assert_eq!(
            peers.reserve_channel(CHANNEL_MS, peer(0x1000)),
            None,
            "resting"
        );
        assert_eq!(
            peers.reserve_channel(CHANNEL_MS, peer(7)),
            Some(FIRST_CHANNEL + 7),
            "its own peer may have it"
        );
        assert!(
            peers
                .reserve_channel(CHANNEL_MS + CHANNEL_REST_MS, peer(0x1000))
                .is_some()
        );
    }

    #[test]
    fn permissions_due_within_half_a_minute_are_renewed_together() {
        let mut peers = Peers::default();
        let other: SocketAddr = "198.51.100.1:9".parse().unwrap();
        peers.grant(0, peer(1), true);
        peers.grant(20_000, other, true);
        assert_eq!(peers.next_deadline(), Some(240_000));
        assert_eq!(peers.on_timeout(240_000).permissions, [peer(1), other]);
        assert_eq!(peers.on_timeout(240_001).permissions, [], "under way");
        assert_eq!(
            peers.next_deadline(),
            Some(300_000),
            "their end, should no answer come"
        );
    }
}
