//! Refresh: RFC 8656 §8.2.

use stunner_stun::{Family, Message, error_code};

use super::allocate::{capped, granted_lifetime};
use super::answer::{Asked, Refusal, Signer};
use super::{Effect, EndReason, Server};
use crate::{AllocationId, Now};

impl Server {
    pub(super) fn refresh(
        &mut self,
        now: Now,
        asked: &Asked,
        message: &Message<'_>,
        id: AllocationId,
        signer: &Signer,
    ) -> Result<(), Refusal> {
        let lifetime = message
            .lifetime()
            .transpose()
            .map_err(|_| Refusal::bad_request("LIFETIME is malformed"))?;
        let Some(allocation) = self.allocations.get(id) else {
            return Err(Refusal::code(error_code::ALLOCATION_MISMATCH));
        };
        // A family that the allocation does not have is a mistake; one of two may be given up alone.
        let family = match message.requested_family() {
            None => None,
            Some(Ok(Family::V4)) if allocation.relayed_v4.is_some() => Some(Family::V4),
            Some(Ok(Family::V6)) if allocation.relayed_v6.is_some() => Some(Family::V6),
            Some(_) => return Err(Refusal::code(error_code::PEER_ADDRESS_FAMILY_MISMATCH)),
        };
        let is_dual = allocation.relayed_v4.is_some() && allocation.relayed_v6.is_some();
        let (expires, granted) = match lifetime {
            Some(0) => (now.millis, 0),
            lifetime => capped(now, granted_lifetime(lifetime), &allocation.credentials),
        };
        match (granted, family) {
            (0, Some(family)) if is_dual => self.end_family(id, family),
            (0, _) => self.end(now, id, EndReason::Deleted),
            _ => {
                if let Some(allocation) = self.allocations.get_mut(id) {
                    allocation.expires = expires;
                }
                self.wheel.arm_before(id.index, expires);
            }
        }
        self.succeed(asked, Some(signer), |writer| {
            writer.lifetime(granted);
        });
        Ok(())
    }

    /// One family of a dual allocation goes, with everything that used it.
    fn end_family(&mut self, id: AllocationId, family: Family) {
        let Some(allocation) = self.allocations.get_mut(id) else {
            return;
        };
        let relayed = match family {
            Family::V4 => allocation.relayed_v4.take().map(Into::into),
            Family::V6 => allocation.relayed_v6.take().map(|v6| (*v6).into()),
        };
        let path = allocation.path;
        (allocation.permissions).retain(|row| Family::of(&row.address) != family);
        let unbound =
            (allocation.channels).remove_unless(|row| Family::of(&row.peer.ip()) != family);
        let connections = allocation.connections.clone();
        self.unbind(id, path, unbound);
        for connection in connections {
            let peer = self.connections.get(&connection).map(|c| c.peer.ip());
            if peer.is_some_and(|ip| Family::of(&ip) == family) {
                self.close_connection(connection, true);
            }
        }
        if let Some(relayed) = relayed {
            self.effects.push_back(Effect::CloseRelayAddress {
                allocation: id,
                relayed,
            });
        }
    }
}
