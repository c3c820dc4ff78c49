//! Plain counters. One server is written by one thread, so there is nothing to synchronise.

use std::collections::BTreeMap;

use stunner_config::admission::DenyReason;

/// Why a packet was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// Neither STUN nor ChannelData, or broken.
    Malformed,
    /// FINGERPRINT does not match.
    BadFingerprint,
    /// A method that is not served, or a class that clients do not send.
    Unexpected,
    /// An indication with a comprehension-required attribute that is not known.
    UnknownAttribute,
    /// Answers to clients without credentials are limited per source.
    RateLimited,
    /// A repeated request whose first copy is still being worked on.
    Duplicate,
    /// No allocation on this 5-tuple, or none any more.
    NoAllocation,
    /// The channel is not bound.
    NoChannel,
    /// No permission for the peer's address.
    NoPermission,
    /// The policy does not admit the peer.
    Denied,
    /// More than the transport can carry.
    TooBig,
    /// Application data that a TCP allocation does not take (RFC 6062 §3).
    WrongTransport,
}

impl DropReason {
    pub const ALL: [DropReason; 12] = [
        DropReason::Malformed,
        DropReason::BadFingerprint,
        DropReason::Unexpected,
        DropReason::UnknownAttribute,
        DropReason::RateLimited,
        DropReason::Duplicate,
        DropReason::NoAllocation,
        DropReason::NoChannel,
        DropReason::NoPermission,
        DropReason::Denied,
        DropReason::TooBig,
        DropReason::WrongTransport,
    ];

    /// The metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            DropReason::Malformed => "malformed",
            DropReason::BadFingerprint => "bad_fingerprint",
            DropReason::Unexpected => "unexpected",
            DropReason::UnknownAttribute => "unknown_attribute",
            DropReason::RateLimited => "rate_limited",
            DropReason::Duplicate => "duplicate",
            DropReason::NoAllocation => "no_allocation",
            DropReason::NoChannel => "no_channel",
            DropReason::NoPermission => "no_permission",
            DropReason::Denied => "denied",
            DropReason::TooBig => "too_big",
            DropReason::WrongTransport => "wrong_transport",
        }
    }
}

/// Why a request with credentials was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AuthFailure {
    /// MESSAGE-INTEGRITY without user name, realm or nonce.
    Incomplete,
    /// PASSWORD-ALGORITHM(S) are not what was offered with the nonce (RFC 8489 §9.2.4, bid-down).
    BidDown,
    /// No such user, or a user name that says no expiry time.
    UnknownUser,
    /// Not a realm of this server.
    WrongRealm,
    /// The ephemeral user name has expired.
    Expired,
    /// The ephemeral user name lives longer than allowed.
    LifetimeTooLong,
    /// The password is wrong.
    BadIntegrity,
    /// The nonce is too old, or was not given to this client address.
    StaleNonce,
    /// Good credentials, but of another user than the allocation's.
    OtherUser,
    /// Authentication is `none`: there is no TURN.
    TurnOff,
}

impl AuthFailure {
    pub const ALL: [AuthFailure; 10] = [
        AuthFailure::Incomplete,
        AuthFailure::BidDown,
        AuthFailure::UnknownUser,
        AuthFailure::WrongRealm,
        AuthFailure::Expired,
        AuthFailure::LifetimeTooLong,
        AuthFailure::BadIntegrity,
        AuthFailure::StaleNonce,
        AuthFailure::OtherUser,
        AuthFailure::TurnOff,
    ];

    /// The metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            AuthFailure::Incomplete => "incomplete",
            AuthFailure::BidDown => "bid_down",
            AuthFailure::UnknownUser => "unknown_user",
            AuthFailure::WrongRealm => "wrong_realm",
            AuthFailure::Expired => "expired",
            AuthFailure::LifetimeTooLong => "lifetime_too_long",
            AuthFailure::BadIntegrity => "bad_integrity",
            AuthFailure::StaleNonce => "stale_nonce",
            AuthFailure::OtherUser => "other_user",
            AuthFailure::TurnOff => "turn_off",
        }
    }
}

/// Requests that are counted by method.
pub const METHODS: [(&str, u16); 8] = [
    ("binding", 0x001),
    ("allocate", 0x003),
    ("refresh", 0x004),
    ("create_permission", 0x008),
    ("channel_bind", 0x009),
    ("connect", 0x00a),
    ("connection_bind", 0x00b),
    ("other", 0xfff),
];

/// What a server has counted since it was made. Nothing ever goes down.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    drops: [u64; DropReason::ALL.len()],
    denials: [u64; DenyReason::ALL.len()],
    auth_failures: [u64; AuthFailure::ALL.len()],
    requests: [u64; METHODS.len()],
    /// Few codes exist and errors are rare, so a map will do.
    errors: BTreeMap<u16, u64>,
    /// Challenges: 401 to a request without credentials.
    pub challenges: u64,
    pub allocations_started: u64,
    pub allocations_ended: u64,
    /// Timer entries looked at: how much the wheel really works.
    pub timer_operations: u64,
}

impl Stats {
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }

    pub fn denied(&self, reason: DenyReason) -> u64 {
        self.denials[reason as usize]
    }

    pub fn auth_failed(&self, reason: AuthFailure) -> u64 {
        self.auth_failures[reason as usize]
    }

    /// Drops by reason, all reasons.
    pub fn drops(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.into_iter().map(|r| (r, self.dropped(r)))
    }

    /// Denials by reason, all reasons. Packets count one by one.
    pub fn denials(&self) -> impl Iterator<Item = (DenyReason, u64)> + '_ {
        DenyReason::ALL.into_iter().map(|r| (r, self.denied(r)))
    }

    /// Refused credentials by reason, all reasons.
    pub fn auth_failures(&self) -> impl Iterator<Item = (AuthFailure, u64)> + '_ {
        AuthFailure::ALL
            .into_iter()
            .map(|r| (r, self.auth_failed(r)))
    }

    /// Requests by method name, all methods.
    pub fn requests(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        METHODS.iter().zip(self.requests).map(|(m, n)| (m.0, n))
    }

    /// Error responses by code, those that occurred.
    pub fn errors(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.errors.iter().map(|(code, count)| (*code, *count))
    }

    pub(super) fn count_drop(&mut self, reason: DropReason) {
        self.drops[reason as usize] += 1;
    }

    pub(super) fn count_denial(&mut self, reason: DenyReason) {
        self.denials[reason as usize] += 1;
    }

    pub(super) fn count_auth_failure(&mut self, reason: AuthFailure) {
        self.auth_failures[reason as usize] += 1;
    }

    pub(super) fn count_error(&mut self, code: u16) {
        *self.errors.entry(code).or_default() += 1;
    }

    pub(super) fn count_request(&mut self, method: u16) {
        let other = METHODS.len() - 1;
        let index = METHODS.iter().position(|m| m.1 == method).unwrap_or(other);
        self.requests[index] += 1;
    }
}
