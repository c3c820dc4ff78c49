//! Answers to "may this peer be reached".

use std::fmt;

use super::{ClusterId, Rule};

/// The answer for one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Admitted {
        /// The first cluster in route order that admits the peer.
        cluster: ClusterId,
        /// Whether the answer holds until the policy changes. It does not where it hangs on a live relay port.
        cacheable: bool,
    },
    Denied(DenyReason),
}

impl Verdict {
    pub fn is_admitted(self) -> bool {
        matches!(self, Verdict::Admitted { .. })
    }

    /// Whether the answer, a denial too, holds until the policy changes.
    pub fn is_cacheable(self) -> bool {
        match self {
            Verdict::Admitted { cacheable, .. } => cacheable,
            // A relay port may go live there.
            Verdict::Denied(reason) => reason != DenyReason::OwnAddress,
        }
    }
}

/// Why a peer may not be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DenyReason {
    /// No routed cluster holds the address.
    NoRoute,
    /// A routed cluster holds the address, none the port.
    Port,
    /// A routed cluster holds address and port, for the other transport.
    Transport,
    /// Loopback under a prefix that reaches beyond it.
    Loopback,
    /// Link-local or metadata address under a prefix that reaches beyond it.
    LinkLocal,
    /// Multicast under a prefix that reaches beyond it.
    Multicast,
    /// Unspecified address under a prefix that reaches beyond it.
    Unspecified,
    /// Broadcast under a prefix that reaches beyond it.
    Broadcast,
    /// An address of the gateway that no cluster names, at a port that is no live relay port.
    OwnAddress,
    /// A listener socket of the gateway.
    OwnListener,
}

impl DenyReason {
    pub const ALL: [DenyReason; 10] = [
        DenyReason::NoRoute,
        DenyReason::Port,
        DenyReason::Transport,
        DenyReason::Loopback,
        DenyReason::LinkLocal,
        DenyReason::Multicast,
        DenyReason::Unspecified,
        DenyReason::Broadcast,
        DenyReason::OwnAddress,
        DenyReason::OwnListener,
    ];

    /// The metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            DenyReason::NoRoute => "no_route",
            DenyReason::Port => "port",
            DenyReason::Transport => "transport",
            DenyReason::Loopback => "loopback",
            DenyReason::LinkLocal => "link_local",
            DenyReason::Multicast => "multicast",
            DenyReason::Unspecified => "unspecified",
            DenyReason::Broadcast => "broadcast",
            DenyReason::OwnAddress => "own_address",
            DenyReason::OwnListener => "own_listener",
        }
    }
}

impl fmt::Display for DenyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A verdict with its grounds, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation {
    pub verdict: Verdict,
    /// The cluster and rule that admit the peer.
    pub matched: Option<(ClusterId, Rule)>,
    /// For a denied peer the rule that came nearest: one that holds the address, else the one with the longest
    /// prefix in common.
    pub nearest: Option<Rule>,
}
