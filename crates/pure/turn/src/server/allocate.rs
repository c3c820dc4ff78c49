//! Allocate: RFC 8656 §7.2, RFC 6062 §5.1.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use stunner_config::{PeerTransport, RelayAddresses};
use stunner_stun::{AttributeError, Family, Message, attr, error_code};

use super::allocation::{AllocateAnswer, Allocation};
use super::answer::{Asked, Refusal, Signer};
use super::auth::{Authenticated, User, Who};
use super::settings::{DEFAULT_LIFETIME, MAX_LIFETIME};
use super::{
    Credentials, DropReason, Effect, RelayGrant, RelayRefusal, RelayRequest, RequestId, Server,
    SessionStart, Traffic,
};
use crate::{AllocationId, ClientPath, FiveTuple, Now};

const UDP: u8 = 17;
const TCP: u8 = 6;

/// An Allocate that waits for its relay sockets.
#[derive(Debug)]
pub(super) struct Pending {
    pub asked: Asked,
    signer: Signer,
    user: User,
    transport: PeerTransport,
    lifetime: u32,
    wants_both: bool,
    /// The family the listener does not have, of two that were asked for.
    missing: Option<(Family, u16)>,
    /// Nobody waits any more.
    pub cancelled: bool,
}

/// What an Allocate asks for, once it makes sense.
struct Wish {
    transport: PeerTransport,
    lifetime: u32,
    even_port: bool,
    reserve_next: bool,
    reservation: Option<[u8; 8]>,
    family: WishedFamily,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WishedFamily {
    Any,
    One(Family),
    Both,
}

/// RFC 8656 §7.2 clamps what clients ask for.
pub(super) fn granted_lifetime(requested: Option<u32>) -> u32 {
    requested.map_or(DEFAULT_LIFETIME, |seconds| {
        seconds.clamp(DEFAULT_LIFETIME, MAX_LIFETIME)
    })
}

/// When an allocation with this lifetime ends, and the lifetime to tell the client: a guest's soon after the guest
/// expires, and so with a lifetime of 0 where that is over.
pub(super) fn capped(now: Now, lifetime: u32, credentials: &Credentials) -> (u64, u32) {
    let expires = now.millis + u64::from(lifetime) * 1000;
    match credentials.latest_end(now).filter(|end| *end < expires) {
        None => (expires, lifetime),
        Some(end) => {
            let left = (end - now.millis) / 1000;
            (end, u32::try_from(left).unwrap_or(lifetime))
        }
    }
}

impl Server {
    pub(super) fn allocate(
        &mut self,
        asked: &Asked,
        message: &Message<'_>,
        authenticated: Authenticated,
    ) -> Result<(), Refusal> {
        let tuple = &asked.path.tuple;
        let mismatch = Refusal::code(error_code::ALLOCATION_MISMATCH);
        if let Some(index) = self.tuples.find(tuple, &self.allocations) {
            return self
                .repeat_answer(index, asked, &authenticated)
                .ok_or(mismatch);
        }
        if let Some(pending) = self.pending_on(tuple) {
            if pending.asked.transaction != asked.transaction {
                return Err(mismatch);
            }
            // The first copy will be answered.
            self.stats.count_drop(DropReason::Duplicate);
            return Ok(());
        }
        let Who::User(user) = authenticated.who else {
            return Err(mismatch);
        };
        let wish = Wish::read(message, tuple.transport.is_stream())?;

        let listener = self.policy.listeners.get(&asked.path.listener);
        let addresses = listener.map_or(RelayAddresses::default(), |listener| listener.addresses);
        let local = tuple.local.ip().to_canonical();
        let (v4, v6) = advertised(&addresses, local);
        let (v4, v6, missing) = choose(wish.family, wish.reservation.is_some(), v4, v6)?;

        self.refuse_new_while_draining(&asked.path)?;

        let id = RequestId(self.next_request);
        self.next_request += 1;
        self.effects.push_back(Effect::OpenRelay(RelayRequest {
            id,
            user: user.id(),
            is_guests: user.credentials.is_guests(),
            listener: asked.path.listener,
            path: asked.path,
            transport: wish.transport,
            v4,
            v6,
            local,
            even_port: wish.even_port,
            reserve_next: wish.reserve_next,
            reservation: wish.reservation,
        }));
        let pending = Pending {
            asked: *asked,
            signer: authenticated.signer,
            user,
            transport: wish.transport,
            lifetime: wish.lifetime,
            wants_both: wish.family == WishedFamily::Both && missing.is_none(),
            missing,
            cancelled: false,
        };
        self.pending.insert(id, pending);
        Ok(())
    }

    /// The same success again for a repeated request (RFC 8656 §7.2); `None` for another request.
    fn repeat_answer(
        &mut self,
        index: u32,
        asked: &Asked,
        authenticated: &Authenticated,
    ) -> Option<()> {
        let (id, allocation) = self.allocations.at(index)?;
        let is_repeated = allocation.answer.transaction == asked.transaction
            && !matches!(authenticated.who, Who::Stranger);
        if is_repeated {
            self.answer_allocate(id, asked, &authenticated.signer);
        }
        is_repeated.then_some(())
    }

    fn pending_on(&self, tuple: &FiveTuple) -> Option<&Pending> {
        let pending = self.pending.values();
        pending
            .filter(|pending| !pending.cancelled)
            .find(|pending| pending.asked.path.tuple == *tuple)
    }

    /// While the process or just this port drains, clients are sent elsewhere or away.
    fn refuse_new_while_draining(&self, path: &ClientPath) -> Result<(), Refusal> {
        if self.policy.draining.is_some() {
            return Err(match self.alternate_for(path) {
                Some(_) => Refusal::code(error_code::TRY_ALTERNATE),
                None => Refusal::capacity("Draining, no new allocations"),
            });
        }
        match path.accepting {
            true => Ok(()),
            false => Err(Refusal::capacity("This port drains, no new allocations")),
        }
    }

    /// Where a client is sent. RFC 8489 §10: the alternate server has the family of the request's source.
    pub(super) fn alternate_for(&self, path: &ClientPath) -> Option<SocketAddr> {
        let is_v4 = path.tuple.client.ip().to_canonical().is_ipv4();
        let alternate = self.policy.draining?.alternate_server;
        alternate.filter(|server| server.is_ipv4() == is_v4)
    }

    pub(super) fn relay_opened_for(
        &mut self,
        now: Now,
        request: RequestId,
        result: Result<RelayGrant, RelayRefusal>,
    ) {
        let Some(pending) = self.pending.remove(&request) else {
            return;
        };
        let user = pending.user.id();
        let grant = match result {
            Ok(_) if pending.cancelled => {
                self.effects
                    .push_back(Effect::AbandonRelay { request, user });
                return;
            }
            Ok(grant) if grant.v4.is_some() || grant.v6.is_some() => grant,
            Ok(_) => {
                self.effects
                    .push_back(Effect::AbandonRelay { request, user });
                self.refuse_relay(&pending, RelayRefusal::NoPort);
                return;
            }
            Err(refusal) => {
                if !pending.cancelled {
                    self.refuse_relay(&pending, refusal);
                }
                return;
            }
        };
        let id = self.start(now, &pending, user, &grant);
        let allocation = id;
        self.effects.push_back(Effect::RelayReady {
            allocation,
            request,
        });
        if let Some(allocation) = self.allocations.get(id) {
            self.effects.push_back(Effect::Started(SessionStart {
                allocation: id,
                user: allocation.user.clone(),
                username: allocation.username.clone(),
                path: allocation.path,
                transport: allocation.transport,
                relayed: allocation.relayed().collect(),
            }));
        }
        self.answer_allocate(id, &pending.asked, &pending.signer);
    }

    fn refuse_relay(&mut self, pending: &Pending, refusal: RelayRefusal) {
        let refusal = match refusal {
            RelayRefusal::Quota => Refusal::code(error_code::ALLOCATION_QUOTA_REACHED),
            RelayRefusal::FamilyUnsupported => {
                Refusal::code(error_code::ADDRESS_FAMILY_NOT_SUPPORTED)
            }
            RelayRefusal::NoPort => Refusal::code(error_code::INSUFFICIENT_CAPACITY),
            RelayRefusal::BadReservation => Refusal::capacity("No such reservation"),
        };
        self.refuse(&pending.asked, Some(&pending.signer), refusal);
    }

    fn start(
        &mut self,
        now: Now,
        pending: &Pending,
        user: std::sync::Arc<str>,
        grant: &RelayGrant,
    ) -> AllocationId {
        let relayed_v4 = grant.v4.and_then(|address| match address {
            SocketAddr::V4(v4) => Some(v4),
            SocketAddr::V6(_) => None,
        });
        let relayed_v6 = grant.v6.and_then(|address| match address {
            SocketAddr::V6(v6) => Some(Box::new(v6)),
            SocketAddr::V4(_) => None,
        });
        let no_port = |family| (family, error_code::INSUFFICIENT_CAPACITY);
        let missing = match (relayed_v4.is_some(), relayed_v6.is_some()) {
            (false, _) if pending.wants_both => Some(no_port(Family::V4)),
            (_, false) if pending.wants_both => Some(no_port(Family::V6)),
            _ => pending.missing,
        };
        let credentials = pending.user.credentials.clone();
        let (expires, lifetime) = capped(now, pending.lifetime, &credentials);
        let id = self.allocations.insert(Allocation {
            path: pending.asked.path,
            user,
            username: pending.user.username.clone(),
            realm: pending.user.realm.clone(),
            credentials,
            transport: pending.transport,
            relayed_v4,
            relayed_v6,
            created: now.millis,
            expires,
            last_traffic: now.millis,
            to_peer: Traffic::default(),
            to_client: Traffic::default(),
            permissions: Default::default(),
            channels: Default::default(),
            connections: Vec::new(),
            answer: AllocateAnswer {
                transaction: pending.asked.transaction,
                lifetime,
                reservation: grant.reservation,
                missing,
            },
        });
        self.tuples.insert(id.index, &self.allocations);
        self.wheel.arm(id.index, expires);
        self.stats.allocations_started += 1;
        id
    }

    fn answer_allocate(&mut self, id: AllocationId, asked: &Asked, signer: &Signer) {
        let Some(allocation) = self.allocations.get(id) else {
            return;
        };
        let answer = allocation.answer;
        let relayed = allocation.relayed();
        self.succeed(asked, Some(signer), |writer| {
            for address in relayed {
                writer.xor_address(attr::XOR_RELAYED_ADDRESS, address);
            }
            writer
                .lifetime(answer.lifetime)
                .xor_address(attr::XOR_MAPPED_ADDRESS, asked.path.mapped_address());
            if let Some(token) = &answer.reservation {
                writer.reservation_token(token);
            }
            if let Some((family, code)) = answer.missing {
                writer.address_error(family, code, "");
            }
        });
    }
}

impl Wish {
    /// The checks of RFC 8656 §7.2 that need nothing but the request, in its order.
    fn read(message: &Message<'_>, is_stream: bool) -> Result<Wish, Refusal> {
        let bad = Refusal::bad_request;
        let transport = match message.requested_transport() {
            None => return Err(bad("REQUESTED-TRANSPORT is missing")),
            Some(Err(_)) => return Err(bad("REQUESTED-TRANSPORT is malformed")),
            Some(Ok(UDP)) => PeerTransport::Udp,
            // RFC 6062 §5.1: a TCP allocation needs a control connection over a stream.
            Some(Ok(TCP)) if !is_stream => return Err(bad("TCP allocations need a TCP client")),
            Some(Ok(TCP)) => PeerTransport::Tcp,
            Some(Ok(_)) => return Err(Refusal::code(error_code::UNSUPPORTED_TRANSPORT)),
        };
        let even_port = message
            .even_port()
            .transpose()
            .map_err(|_| bad("EVEN-PORT is malformed"))?;
        let reservation = message
            .reservation_token()
            .transpose()
            .map_err(|_| bad("RESERVATION-TOKEN is malformed"))?;
        let lifetime = message
            .lifetime()
            .transpose()
            .map_err(|_| bad("LIFETIME is malformed"))?;

        // RFC 6062 §5.1.
        if transport == PeerTransport::Tcp
            && (even_port.is_some() || reservation.is_some() || message.dont_fragment())
        {
            return Err(bad("attribute not allowed in a TCP allocation"));
        }
        let requested = message.requested_family();
        let additional = message.additional_family();
        if reservation.is_some() {
            if even_port.is_some() {
                return Err(bad("RESERVATION-TOKEN excludes EVEN-PORT"));
            }
            if requested.is_some() || additional.is_some() {
                return Err(bad("RESERVATION-TOKEN excludes an address family"));
            }
        }
        let family = match (requested, additional) {
            (Some(_), Some(_)) => return Err(bad("two address family attributes")),
            (Some(Ok(family)), None) => WishedFamily::One(family),
            (Some(Err(AttributeError::Family(_))), None) => {
                return Err(Refusal::code(error_code::ADDRESS_FAMILY_NOT_SUPPORTED));
            }
            (Some(Err(_)), None) => return Err(bad("REQUESTED-ADDRESS-FAMILY is malformed")),
            (None, Some(Ok(Family::V6))) => WishedFamily::Both,
            (None, Some(_)) => return Err(bad("ADDITIONAL-ADDRESS-FAMILY has to be IPv6")),
            (None, None) => WishedFamily::Any,
        };
        if even_port == Some(true) && family == WishedFamily::Both {
            return Err(bad("two families exclude a reserved port"));
        }
        Ok(Wish {
            transport,
            lifetime: granted_lifetime(lifetime),
            even_port: even_port.is_some(),
            reserve_next: even_port == Some(true),
            reservation,
            family,
        })
    }
}

/// The relayed addresses a listener has for a client that came to `local`.
fn advertised(addresses: &RelayAddresses, local: IpAddr) -> (Option<Ipv4Addr>, Option<Ipv6Addr>) {
    let (local_v4, local_v6) = match local {
        _ if !addresses.wildcard => (None, None),
        IpAddr::V4(v4) => (Some(v4), None),
        IpAddr::V6(v6) => (None, Some(v6)),
    };
    (addresses.v4.or(local_v4), addresses.v6.or(local_v6))
}

/// What will be opened: the addresses wanted, and what is missing of two families.
type Choice = (Option<Ipv4Addr>, Option<Ipv6Addr>, Option<(Family, u16)>);

fn choose(
    family: WishedFamily,
    reserved: bool,
    v4: Option<Ipv4Addr>,
    v6: Option<Ipv6Addr>,
) -> Result<Choice, Refusal> {
    let code = error_code::ADDRESS_FAMILY_NOT_SUPPORTED;
    let choice = match (family, v4, v6) {
        (_, None, None) => return Err(Refusal::code(code)),
        (WishedFamily::Any, v4, v6) if reserved => (v4, v6, None),
        (WishedFamily::Any, Some(_), _) | (WishedFamily::One(Family::V4), Some(_), _) => {
            (v4, None, None)
        }
        (WishedFamily::Any, None, _) | (WishedFamily::One(Family::V6), _, Some(_)) => {
            (None, v6, None)
        }
        (WishedFamily::One(_), _, _) => return Err(Refusal::code(code)),
        (WishedFamily::Both, Some(_), Some(_)) => (v4, v6, None),
        (WishedFamily::Both, None, _) => (None, v6, Some((Family::V4, code))),
        (WishedFamily::Both, _, None) => (v4, None, Some((Family::V6, code))),
    };
    Ok(choice)
}
