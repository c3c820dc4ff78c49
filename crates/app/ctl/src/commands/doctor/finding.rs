//! What is said about one hop of the way.

use serde::Serialize;

/// A hop of the way from a GatewayClass to a peer, in the order of the walk: first what the operator needs, then what
/// packets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Hop {
    /// The GatewayClass: there, ours, accepted.
    Class,
    /// The GatewayConfig that it names, with the Secret that holds the credentials.
    Config,
    Gateway,
    Listener,
    /// Routes that name the Gateway.
    Route,
    /// What the routes name.
    Backend,
    /// What is behind the backends.
    Endpoints,
    /// The pods that serve the Gateway.
    Pods,
    /// Whether they run what they are told.
    Sync,
    Service,
    /// Where clients are to go: load balancer or node port.
    Address,
    Dns,
    /// A STUN Binding from here.
    Stun,
    /// An Allocate with credentials from here.
    Allocate,
    Certificate,
    /// A permission for an endpoint of a backend.
    Peer,
}

impl Hop {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Hop::Class => "class",
            Hop::Config => "config",
            Hop::Gateway => "gateway",
            Hop::Listener => "listener",
            Hop::Route => "route",
            Hop::Backend => "backend",
            Hop::Endpoints => "endpoints",
            Hop::Pods => "pods",
            Hop::Sync => "sync",
            Hop::Service => "service",
            Hop::Address => "address",
            Hop::Dns => "dns",
            Hop::Stun => "stun",
            Hop::Allocate => "allocate",
            Hop::Certificate => "certificate",
            Hop::Peer => "peer",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Ok,
    /// It works, and will not for everybody or for ever.
    Warn,
    /// No client gets past here.
    Dead,
    /// Nothing is known.
    Skipped,
}

/// One line of the walk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) hop: Hop,
    pub(super) verdict: Verdict,
    /// What was seen.
    pub(super) what: String,
    /// The cause, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl Finding {
    fn new(hop: Hop, verdict: Verdict, what: impl Into<String>) -> Finding {
        Finding {
            hop,
            verdict,
            what: what.into(),
            why: None,
            hint: None,
        }
    }

    pub(super) fn ok(hop: Hop, what: impl Into<String>) -> Finding {
        Finding::new(hop, Verdict::Ok, what)
    }

    pub(super) fn warn(hop: Hop, what: impl Into<String>) -> Finding {
        Finding::new(hop, Verdict::Warn, what)
    }

    pub(super) fn dead(hop: Hop, what: impl Into<String>) -> Finding {
        Finding::new(hop, Verdict::Dead, what)
    }

    pub(super) fn skipped(hop: Hop, what: impl Into<String>) -> Finding {
        Finding::new(hop, Verdict::Skipped, what)
    }

    pub(super) fn why(mut self, why: impl Into<String>) -> Finding {
        self.why = Some(why.into()).filter(|why| !why.is_empty());
        self
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Finding {
        self.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }
}

/// The first hop that nobody gets past: what comes after it may be dead only because of it.
pub(super) fn first_dead(findings: &[Finding]) -> Option<&Finding> {
    findings
        .iter()
        .find(|finding| finding.verdict == Verdict::Dead)
}
