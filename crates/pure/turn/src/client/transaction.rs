//! One request on its way: its bytes, its retransmissions, and what its answer means.

use std::net::SocketAddr;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use stunner_stun::{
    Class, Family, Message, MessageWriter, Method, TransactionId, attr, error_code,
};

use super::challenge::Challenge;
use super::event::{ClientError, RequestId};
use super::settings::{AllocateOptions, Settings, Transport};

/// RFC 8489 §6.2.1 defaults: first timeout, number of transmissions, and the wait after the last in RTOs.
const RTO_MS: u64 = 500;
const RC: u32 = 7;
const RM: u64 = 16;
/// RFC 8489 §6.2.2: Ti, the same 39.5 s that the schedule above adds up to.
const STREAM_TIMEOUT_MS: u64 = 39_500;
/// Room for the largest user name, realm and nonce of RFC 8489 and a full list of peers.
const MAX_REQUEST: usize = 4096;

/// What a request asks for; kept to write it again after a challenge.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Binding,
    Allocate(AllocateOptions),
    Refresh {
        lifetime: Option<u32>,
        family: Option<Family>,
    },
    CreatePermission {
        peers: Vec<SocketAddr>,
        renewal: bool,
    },
    ChannelBind {
        peer: SocketAddr,
        number: u16,
    },
    Connect {
        peer: SocketAddr,
    },
    ConnectionBind {
        connection: u32,
    },
}

impl Operation {
    pub(super) fn method(&self) -> Method {
        match self {
            Operation::Binding => Method::BINDING,
            Operation::Allocate(_) => Method::ALLOCATE,
            Operation::Refresh { .. } => Method::REFRESH,
            Operation::CreatePermission { .. } => Method::CREATE_PERMISSION,
            Operation::ChannelBind { .. } => Method::CHANNEL_BIND,
            Operation::Connect { .. } => Method::CONNECT,
            Operation::ConnectionBind { .. } => Method::CONNECTION_BIND,
        }
    }

    fn write(&self, writer: &mut MessageWriter<'_>) {
        match self {
            Operation::Binding => {}
            Operation::Allocate(options) => write_allocate(options, writer),
            Operation::Refresh { lifetime, family } => {
                if let Some(lifetime) = lifetime {
                    writer.lifetime(*lifetime);
                }
                if let Some(family) = family {
                    writer.requested_family(*family);
                }
            }
            Operation::CreatePermission { peers, .. } => {
                for peer in peers {
                    writer.xor_address(attr::XOR_PEER_ADDRESS, *peer);
                }
            }
            Operation::ChannelBind { peer, number } => {
                writer.channel_number(*number);
                writer.xor_address(attr::XOR_PEER_ADDRESS, *peer);
            }
            Operation::Connect { peer } => {
                writer.xor_address(attr::XOR_PEER_ADDRESS, *peer);
            }
            Operation::ConnectionBind { connection } => {
                writer.connection_id(*connection);
            }
        }
    }
}

fn write_allocate(options: &AllocateOptions, writer: &mut MessageWriter<'_>) {
    writer.requested_transport(options.transport.protocol());
    if let Some(lifetime) = options.lifetime {
        writer.lifetime(lifetime);
    }
    if let Some(family) = options.family {
        writer.requested_family(family);
    }
    if let Some(family) = options.additional_family {
        writer.additional_family(family);
    }
    if let Some(reserve_next) = options.even_port {
        writer.even_port(reserve_next);
    }
    if let Some(token) = options.reservation {
        writer.reservation_token(&token);
    }
    if options.dont_fragment {
        writer.dont_fragment();
    }
}

/// What a timer of a transaction asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    Later,
    Retransmit,
    GiveUp,
}

/// A request without an answer so far.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) id: TransactionId,
    pub(super) request: RequestId,
    pub(super) operation: Operation,
    /// The challenge it was signed with; its answer must verify with the same key.
    pub(super) signed_with: Option<Arc<Challenge>>,
    /// How many challenges this request has met; bounds the ping-pong with a confused server.
    pub(super) challenges: u8,
    pub(super) bytes: Vec<u8>,
    pub(super) deadline: u64,
    sent: u32,
    rto: u64,
}

impl Transaction {
    /// Writes the request. The caller sends `bytes` once now.
    pub(super) fn start(
        now: u64,
        id: TransactionId,
        request: RequestId,
        operation: Operation,
        settings: &Settings,
        challenge: Option<Arc<Challenge>>,
    ) -> Result<Self, ClientError> {
        let bytes = encode(id, &operation, settings, challenge.as_deref())?;
        let deadline = match settings.transport {
            Transport::Datagram => now + RTO_MS,
            Transport::Stream => now + STREAM_TIMEOUT_MS,
        };
        // A stream's one transmission counts as the last.
        let sent = if settings.transport == Transport::Datagram {
            1
        } else {
            RC
        };
        let challenges = 0;
        let signed_with = challenge;
        Ok(Transaction {
            id,
            request,
            operation,
            signed_with,
            challenges,
            bytes,
            deadline,
            sent,
            rto: RTO_MS,
        })
    }

    /// Advances the schedule of RFC 8489 §6.2.1: 0, 500, 1500, ... 31500 ms, failure at 39500 ms.
    pub(super) fn on_timeout(&mut self, now: u64) -> Due {
        if now < self.deadline {
            return Due::Later;
        }
        if self.sent >= RC {
            return Due::GiveUp;
        }
        self.sent += 1;
        self.rto *= 2;
        self.deadline = now
            + if self.sent == RC {
                RM * RTO_MS
            } else {
                self.rto
            };
        Due::Retransmit
    }

    /// Whether an answer may be believed. Success must be signed when the request was. An error
    /// without integrity is accepted, a departure from RFC 8489 §9.2.5: widespread servers leave it
    /// out, and an attacker who can guess the transaction id could block the packets anyway.
    pub(super) fn believes(&self, message: &Message<'_>) -> bool {
        let Some(challenge) = &self.signed_with else {
            return true;
        };
        let signed = message.has_integrity() || message.has_integrity_sha256();
        if !signed {
            return message.class() == Class::Error;
        }
        // The server may have signed its 401 or 438 with a key we do not have yet.
        challenge.verifies(message)
            || matches!(message.error(), Some(Ok(error)) if is_challenge(error.code))
    }
}

/// Whether an error code carries a realm and nonce to try again with.
pub(super) fn is_challenge(code: u16) -> bool {
    matches!(code, error_code::UNAUTHENTICATED | error_code::STALE_NONCE)
}

fn encode(
    id: TransactionId,
    operation: &Operation,
    settings: &Settings,
    challenge: Option<&Challenge>,
) -> Result<Vec<u8>, ClientError> {
    let mut buffer = [0; MAX_REQUEST];
    let mut writer = MessageWriter::new(&mut buffer, Class::Request, operation.method(), id);
    operation.write(&mut writer);
    if let Some(software) = &settings.software {
        writer.software(software);
    }
    if let Some(challenge) = challenge {
        challenge.sign(&mut writer);
    }
    if settings.fingerprint {
        writer.fingerprint();
    }
    let length = writer
        .finish()
        .map_err(|_| ClientError::TooLarge(MAX_REQUEST))?;
    Ok(buffer[..length].to_vec())
}

/// Unguessable transaction ids (RFC 8489 §5) from the caller's seed: randomness comes in as an argument.
#[derive(Clone)]
pub(super) struct IdSource {
    seed: [u8; 32],
    counter: u64,
}

impl std::fmt::Debug for IdSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdSource")
            .field("counter", &self.counter)
            .finish_non_exhaustive()
    }
}

impl IdSource {
    pub(super) fn new(seed: [u8; 32]) -> Self {
        IdSource { seed, counter: 0 }
    }

    pub(super) fn next(&mut self) -> TransactionId {
        let digest = self.digest(b"transaction");
        let mut id = [0; 12];
        id.copy_from_slice(&digest[..12]);
        TransactionId(id)
    }

    /// A seed for a client that shares our credential but not our ids.
    pub(super) fn fork(&mut self) -> [u8; 32] {
        self.digest(b"fork")
    }

    fn digest(&mut self, purpose: &[u8]) -> [u8; 32] {
        self.counter += 1;
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(self.counter.to_be_bytes());
        hash.update(purpose);
        hash.finalize().into()
    }
}
