//! What the server's packets mean: data, answers, challenges and errors.

use std::net::SocketAddr;
use std::sync::Arc;

use stunner_stun::{Class, Family, Message, Method, attr, channel_data, error_code};

use super::challenge::{Challenge, Unanswerable};
use super::transaction::{Operation, Transaction, is_challenge};
use super::{Allocated, Allocation, Client, Event, REFRESH_MARGIN_MS};

/// Challenges one request may meet: the first 401, a realm that changed, and stale nonces.
const MAX_CHALLENGES: u8 = 4;
/// RFC 8656 §3.2: the lifetime of an answer without LIFETIME.
const DEFAULT_LIFETIME: u32 = 600;

impl Client {
    /// Takes one datagram or one frame of a stream. After anything but `Data` and `Ignored`, look at
    /// [`Client::poll_transmit`].
    pub fn handle(&mut self, now: u64, bytes: &[u8]) -> Event {
        // The two top bits tell ChannelData (01) from STUN (00), RFC 8656 §12.
        match bytes.first() {
            Some(0x40..=0x7f) => self.channel_data(bytes),
            Some(0x00..=0x3f) => match Message::parse(bytes) {
                Ok(message) => self.message(now, &message),
                Err(_) => Event::Ignored,
            },
            _ => Event::Ignored,
        }
    }

    fn channel_data(&self, bytes: &[u8]) -> Event {
        let Ok(frame) = channel_data::ChannelData::parse(bytes) else {
            return Event::Ignored;
        };
        match self.peers.peer_of(frame.number) {
            Some(peer) => Event::Data {
                peer,
                range: 4..4 + frame.payload.len(),
            },
            None => Event::Ignored,
        }
    }

    fn message(&mut self, now: u64, message: &Message<'_>) -> Event {
        match message.class() {
            Class::Indication => self.indication(message),
            Class::Success | Class::Error => self.answer(now, message),
            Class::Request => Event::Ignored,
        }
    }

    fn indication(&self, message: &Message<'_>) -> Event {
        let Some(Ok(peer)) = message.xor_address(attr::XOR_PEER_ADDRESS) else {
            return Event::Ignored;
        };
        match message.method() {
            Method::DATA => self.data_indication(message, peer),
            Method::CONNECTION_ATTEMPT => match message.connection_id() {
                Some(Ok(connection)) => Event::ConnectionAttempt { connection, peer },
                _ => Event::Ignored,
            },
            _ => Event::Ignored,
        }
    }

    fn data_indication(&self, message: &Message<'_>, peer: SocketAddr) -> Event {
        // RFC 8656 §11.4: only from addresses we know a permission for.
        if !self.peers.permits(peer.ip()) {
            return Event::Ignored;
        }
        if let Some(data) = message.data() {
            let start = data.as_ptr().addr() - message.as_bytes().as_ptr().addr();
            return Event::Data {
                peer,
                range: start..start + data.len(),
            };
        }
        match message.icmp() {
            Some(Ok(icmp)) => Event::Unreachable {
                peer,
                icmp_type: icmp.icmp_type,
                icmp_code: icmp.code,
            },
            _ => Event::Ignored,
        }
    }

    fn answer(&mut self, now: u64, message: &Message<'_>) -> Event {
        let id = message.transaction_id();
        let Some(index) = self.transactions.iter().position(|transaction| {
            transaction.id == id && transaction.operation.method() == message.method()
        }) else {
            return Event::Ignored;
        };
        if message.check_fingerprint() == Some(false) || !self.transactions[index].believes(message)
        {
            return Event::Ignored;
        }
        if message.class() == Class::Error {
            let Some(Ok(error)) = message.error() else {
                return Event::Ignored;
            };
            let (code, reason) = (error.code, error.reason.to_owned());
            let transaction = self.transactions.swap_remove(index);
            return self.refused(now, message, transaction, code, reason);
        }
        let transaction = self.transactions.swap_remove(index);
        match self.granted(now, message, &transaction.operation) {
            Some(event) => event,
            // A success that lacks what it must carry is no answer; a retransmission may get a better one.
            None => {
                self.transactions.push(transaction);
                Event::Ignored
            }
        }
    }

    fn granted(&mut self, now: u64, message: &Message<'_>, operation: &Operation) -> Option<Event> {
        let renew = self.settings.auto_refresh;
        match operation {
            Operation::Binding => {
                let mapped = mapped_address(message)?;
                Some(Event::Reflexive { mapped })
            }
            Operation::Allocate(options) => {
                let mut relayed = message
                    .xor_addresses(attr::XOR_RELAYED_ADDRESS)
                    .filter_map(Result::ok);
                let lifetime = lifetime(message);
                let allocated = Allocated {
                    relayed: relayed.next()?,
                    additional: relayed.next(),
                    additional_refused: message
                        .address_errors()
                        .find_map(|error| error.ok())
                        .map(|error| error.code),
                    mapped: mapped_address(message),
                    lifetime,
                    reservation: message.reservation_token().and_then(Result::ok),
                };
                let (refresh_at, expires_at) = lease(now, lifetime);
                self.allocation = Some(Allocation {
                    transport: options.transport,
                    relayed: allocated.relayed,
                    additional: allocated.additional,
                    wanted_lifetime: options.lifetime,
                    refresh_at: renew.then_some(refresh_at),
                    expires_at,
                });
                Some(Event::Allocated(allocated))
            }
            Operation::Refresh {
                lifetime: Some(0),
                family: None,
            } => {
                self.lose_allocation();
                Some(Event::Released)
            }
            Operation::Refresh {
                lifetime: asked,
                family,
            } => {
                let lifetime = lifetime(message);
                let allocation = self.allocation.as_mut()?;
                if let (Some(0), Some(family)) = (asked, family) {
                    // The other half of a dual allocation lives on with its own times.
                    match allocation.additional {
                        Some(other) if Family::of(&allocation.relayed.ip()) == *family => {
                            allocation.relayed = other;
                        }
                        _ => {}
                    }
                    allocation.additional = None;
                } else {
                    let (refresh_at, expires_at) = lease(now, lifetime);
                    allocation.refresh_at = renew.then_some(refresh_at);
                    allocation.expires_at = expires_at;
                }
                Some(Event::Refreshed { lifetime })
            }
            Operation::CreatePermission { peers, .. } => {
                for peer in peers {
                    self.peers.grant(now, *peer, renew);
                }
                Some(Event::PermissionGranted {
                    peers: peers.clone(),
                })
            }
            &Operation::ChannelBind { peer, number } => {
                self.peers.bind(now, peer, number, renew);
                Some(Event::ChannelBound { peer, number })
            }
            &Operation::Connect { peer } => {
                let connection = message.connection_id()?.ok()?;
                Some(Event::Connected { connection, peer })
            }
            &Operation::ConnectionBind { connection } => {
                Some(Event::ConnectionBound { connection })
            }
        }
    }

    fn refused(
        &mut self,
        now: u64,
        message: &Message<'_>,
        transaction: Transaction,
        code: u16,
        reason: String,
    ) -> Event {
        match code {
            _ if is_challenge(code) => {
                return self.challenged(now, message, transaction, code, reason);
            }
            error_code::TRY_ALTERNATE => {
                if let Some(Ok(server)) = message.alternate_server() {
                    let domain = message
                        .alternate_domain()
                        .and_then(Result::ok)
                        .map(str::to_owned);
                    return Event::TryAlternate { server, domain };
                }
            }
            error_code::ALLOCATION_MISMATCH => match &transaction.operation {
                // RFC 8656 §8.3: what we wanted to end is no longer there.
                Operation::Refresh {
                    lifetime: Some(0), ..
                } => {
                    self.lose_allocation();
                    return Event::Released;
                }
                // RFC 8656 §7.4: the 5-tuple is taken; only a new socket helps, so the caller decides.
                Operation::Allocate(_) | Operation::Binding | Operation::ConnectionBind { .. } => {}
                _ => {
                    self.lose_allocation();
                    return Event::AllocationLost;
                }
            },
            _ => {}
        }
        self.give_up(now, transaction, code, reason)
    }

    /// RFC 8489 §9.2.5: the same request again with what the challenge taught.
    fn challenged(
        &mut self,
        now: u64,
        message: &Message<'_>,
        transaction: Transaction,
        code: u16,
        reason: String,
    ) -> Event {
        let signed_with = transaction.signed_with.as_deref();
        let challenge = match Challenge::read(
            message,
            &self.settings,
            signed_with.or(self.challenge.as_deref()),
        ) {
            Ok(challenge) => challenge,
            Err(why) => {
                let reason = explain(why).map_or(reason, str::to_owned);
                return self.give_up(now, transaction, code, reason);
            }
        };
        // A 401 for a signed request means the credential is wrong, unless the realm changed meanwhile.
        let refused = code == error_code::UNAUTHENTICATED
            && signed_with.is_some_and(|known| known.realm == challenge.realm);
        if refused || transaction.challenges >= MAX_CHALLENGES {
            return self.give_up(now, transaction, code, reason);
        }
        self.challenge = Some(Arc::new(challenge));
        let challenges = transaction.challenges + 1;
        let (request, method) = (transaction.request, transaction.operation.method());
        match self.start(now, request, transaction.operation) {
            Ok(()) => {
                if let Some(retry) = self.transactions.last_mut() {
                    retry.challenges = challenges;
                }
                Event::Pending
            }
            Err(too_large) => Event::Error {
                request,
                method,
                code,
                reason: too_large.to_string(),
            },
        }
    }

    /// The request failed for good; so did what it was to renew.
    fn give_up(&mut self, now: u64, transaction: Transaction, code: u16, reason: String) -> Event {
        let method = transaction.operation.method();
        match transaction.operation {
            // One peer that is no longer allowed must not take the others' permissions with it.
            Operation::CreatePermission {
                peers,
                renewal: true,
            } if peers.len() > 1 => {
                for peer in peers {
                    self.renew(
                        now,
                        Operation::CreatePermission {
                            peers: vec![peer],
                            renewal: true,
                        },
                    );
                }
                return Event::Pending;
            }
            Operation::CreatePermission {
                peers,
                renewal: true,
            } => {
                for peer in peers {
                    self.peers.revoke(peer);
                }
            }
            Operation::ChannelBind { number, .. } => self.peers.unbind(now, number),
            _ => {}
        }
        Event::Error {
            request: transaction.request,
            method,
            code,
            reason,
        }
    }
}

/// When to refresh, and when all is lost without: a minute before the end, or half-way for short ones.
fn lease(now: u64, lifetime: u32) -> (u64, u64) {
    let lifetime = u64::from(lifetime) * 1000;
    (
        now + lifetime - REFRESH_MARGIN_MS.min(lifetime / 2),
        now + lifetime,
    )
}

fn explain(why: Unanswerable) -> Option<&'static str> {
    match why {
        Unanswerable::NoCredentials => None,
        Unanswerable::Incomplete => Some("the challenge lacks a realm or nonce"),
        Unanswerable::BidDown => {
            Some("the challenge lacks the password algorithms its nonce promises")
        }
        Unanswerable::NoAlgorithm => Some("the server offers no known password algorithm"),
    }
}

fn lifetime(message: &Message<'_>) -> u32 {
    message
        .lifetime()
        .and_then(Result::ok)
        .unwrap_or(DEFAULT_LIFETIME)
}

/// XOR-MAPPED-ADDRESS, or the plain one of servers older than RFC 5389.
fn mapped_address(message: &Message<'_>) -> Option<SocketAddr> {
    let xored = message.xor_address(attr::XOR_MAPPED_ADDRESS);
    xored
        .or_else(|| message.address(attr::MAPPED_ADDRESS))?
        .ok()
}
