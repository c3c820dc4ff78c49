//! How allocations end.

use super::channels::Channel;
use super::{Effect, EndReason, Server, SessionRecord};
use crate::{AllocationId, ClientPath, FiveTuple, ListenerId, Now};

impl Server {
    /// Ends an allocation and everything that hangs on it.
    pub(super) fn end(&mut self, now: Now, id: AllocationId, why: EndReason) {
        let Some(allocation) = self.allocations.get_mut(id) else {
            return;
        };
        let path = allocation.path;
        let channels = allocation.channels.remove_unless(|_| false);
        let connections = std::mem::take(&mut allocation.connections);
        self.unbind(id, path, channels);
        for connection in connections {
            if why == EndReason::ClientClosed {
                self.leave_unanswered(connection);
            }
            self.close_connection(connection, true);
        }

        self.wheel.cancel(id.index);
        self.tuples.remove(&path.tuple, id.index);
        let Some(allocation) = self.allocations.remove(id) else {
            return;
        };
        self.stats.allocations_ended += 1;
        self.effects.push_back(Effect::CloseRelay {
            allocation: id,
            user: allocation.user.clone(),
        });
        // Whoever did not ask for the end learns of it soonest from a closed connection.
        let is_told = matches!(why, EndReason::ListenerRemoved | EndReason::Killed);
        if is_told && path.tuple.transport.is_connected() {
            self.effects.push_back(Effect::CloseClient { path });
        }
        self.effects.push_back(Effect::Ended(SessionRecord {
            allocation: id,
            user: allocation.user.clone(),
            username: allocation.username.clone(),
            path,
            listener: path.listener,
            transport: allocation.transport,
            relayed: allocation.relayed().collect(),
            duration_ms: now.millis.saturating_sub(allocation.created),
            to_peer: allocation.to_peer,
            to_client: allocation.to_client,
            why,
        }));
    }

    pub(super) fn unbind(&mut self, id: AllocationId, path: ClientPath, channels: Vec<Channel>) {
        for channel in channels {
            self.effects.push_back(Effect::ChannelUnbound {
                allocation: id,
                number: channel.number,
                peer: channel.peer,
                path,
            });
        }
    }

    pub(super) fn drop_expired_channels(&mut self, now: Now, id: AllocationId) {
        let Some(allocation) = self.allocations.get_mut(id) else {
            return;
        };
        let path = allocation.path;
        let expired = (allocation.channels).remove_unless(|channel| channel.expires > now.millis);
        self.unbind(id, path, expired);
    }

    /// One timer came up: at least one thing of this allocation may have run out.
    pub(super) fn expire(&mut self, now: Now, index: u32) {
        let Some((id, allocation)) = self.allocations.at_mut(index) else {
            return;
        };
        if allocation.expires <= now.millis {
            self.end(now, id, EndReason::Expired);
            return;
        }
        (allocation.permissions).retain(|permission| permission.expires > now.millis);
        self.drop_expired_channels(now, id);
        let connections = self.expire_connections(now, id);
        if let Some(allocation) = self.allocations.get(id) {
            let deadline = allocation.deadline();
            let deadline = connections.map_or(deadline, |connection| connection.min(deadline));
            self.wheel.arm(index, deadline);
        }
    }

    /// Ends an allocation whose time is over, when its timer has not come up yet; otherwise gives it back.
    pub(super) fn unless_over(&mut self, now: Now, id: AllocationId) -> Option<AllocationId> {
        let is_over = self.allocations.get(id)?.expires <= now.millis;
        if is_over {
            self.end(now, id, EndReason::Expired);
        }
        (!is_over).then_some(id)
    }

    pub(super) fn end_tuple(&mut self, now: Now, tuple: &FiveTuple) {
        if let Some(index) = self.tuples.find(tuple, &self.allocations)
            && let Some((id, _)) = self.allocations.at(index)
        {
            self.end(now, id, EndReason::ClientClosed);
        }
        for pending in self.pending.values_mut() {
            pending.cancelled |= pending.asked.path.tuple == *tuple;
        }
        // A data connection of RFC 6062: the client's side is gone already.
        if let Some(connection) = self.bound.get(tuple).copied()
            && self.forget_connection(connection).is_some()
        {
            self.effects.push_back(Effect::ClosePeer { connection });
        }
    }

    pub(super) fn end_all_of(&mut self, now: Now, listener: ListenerId) {
        let doomed: Vec<AllocationId> = (self.allocations.iter())
            .filter(|(_, allocation)| allocation.path.listener == listener)
            .map(|(id, _)| id)
            .collect();
        for id in doomed {
            self.end(now, id, EndReason::ListenerRemoved);
        }
        for pending in self.pending.values_mut() {
            pending.cancelled |= pending.asked.path.listener == listener;
        }
    }
}
