//! What the policy said about a peer, remembered until the policy changes.

use std::net::SocketAddr;

use stunner_config::PeerTransport;
use stunner_config::admission::{Admission, ClusterId, DenyReason, Verdict};

/// The last verdict about one peer address and port.
#[derive(Debug, Clone, Copy)]
pub(super) struct CachedVerdict {
    /// The policy swap it belongs to; 0 is none.
    epoch: u32,
    port: u16,
    /// The policy swap in which a denial was last reported; 0 is none.
    reported: u32,
    /// Whether it holds as long as the policy does.
    lasting: bool,
    answer: Result<ClusterId, DenyReason>,
}

/// A verdict, and whether it has to be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decision {
    pub answer: Result<ClusterId, DenyReason>,
    /// The first denial since the policy changed, whatever the port: packets must not make reports.
    pub report: bool,
}

impl CachedVerdict {
    pub(super) const NONE: CachedVerdict = CachedVerdict {
        epoch: 0,
        port: 0,
        reported: 0,
        lasting: false,
        answer: Err(DenyReason::NoRoute),
    };

    /// The verdict from memory, where it holds.
    #[inline]
    pub(super) fn lookup(&self, epoch: u32, port: u16) -> Option<Decision> {
        (self.epoch == epoch && self.port == port && self.lasting).then_some(Decision {
            answer: self.answer,
            report: false,
        })
    }

    /// Asks the policy and remembers the answer where it may be remembered.
    pub(super) fn ask(
        &mut self,
        epoch: u32,
        admission: Option<&Admission>,
        transport: PeerTransport,
        peer: SocketAddr,
    ) -> Decision {
        let verdict = match admission {
            Some(admission) => admission.admit(transport, peer),
            // The listener is gone from the policy: nothing routes from it.
            None => Verdict::Denied(DenyReason::NoRoute),
        };
        let (answer, lasting) = match verdict {
            Verdict::Admitted { cluster, cacheable } => (Ok(cluster), cacheable),
            // Whether an own address is denied hangs on the live relay ports, which come and go.
            Verdict::Denied(reason) => (Err(reason), reason != DenyReason::OwnAddress),
        };
        let report = answer.is_err() && self.reported != epoch;
        *self = CachedVerdict {
            epoch,
            port: peer.port(),
            reported: if report { epoch } else { self.reported },
            lasting,
            answer,
        };
        Decision { answer, report }
    }
}
