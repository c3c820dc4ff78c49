//! What the parts of one Gateway's translation share.

use stunner_api::NamespacedName;
use stunner_api::gateway::Gateway;
use stunner_api::v1::DataplaneSpec;
use stunner_config::Protocol;

use crate::last_good::{Certificate, EffectiveConfig};
use crate::listener::RouteKinds;
use crate::options::ServiceOptions;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

/// A Gateway together with its effective inputs, live or last good.
#[derive(Debug)]
pub(crate) struct GatewayContext<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) settings: &'a Settings,
    pub(crate) name: &'a NamespacedName,
    pub(crate) gateway: &'a Gateway,
    pub(crate) config: &'a EffectiveConfig,
    /// `None` in legacy mode, and where there is no Dataplane to make a workload from.
    pub(crate) dataplane: Option<&'a DataplaneSpec>,
    /// What annotations of the Gateway and of the GatewayConfig ask of the Service.
    pub(crate) options: &'a ServiceOptions,
    /// One per `spec.listeners`, in that order.
    pub(crate) listeners: &'a [ListenerPlan],
}

/// A listener of a Gateway and whether it can be served.
#[derive(Debug)]
pub(crate) struct ListenerPlan {
    pub(crate) name: String,
    /// `None`: not a protocol we know.
    pub(crate) protocol: Option<Protocol>,
    /// `port` of the spec: what the Service exposes.
    pub(crate) spec_port: u16,
    /// Where the dataplane listens: the target port, if one is asked for.
    pub(crate) port: u16,
    pub(crate) certificate: Option<Certificate>,
    pub(crate) problem: Option<ListenerProblem>,
    /// The certificate is the last good one, and why.
    pub(crate) stale_certificate: Option<StaleCertificate>,
    /// What clients are told instead of the public address: the certificate has to match it. It belongs into the
    /// configuration only; the status names what DNS is to point at.
    pub(crate) hostname: Option<String>,
    pub(crate) route_kinds: RouteKinds,
    /// Sentences about the certificate in use.
    pub(crate) notices: Vec<String>,
}

/// Why the last good certificate is used; the text is a sentence for the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StaleCertificate {
    pub(crate) why: String,
    /// A reference that ReferenceGrants do not permit.
    pub(crate) not_permitted: bool,
}

/// Why a listener is left out of the configuration and of the Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListenerProblem {
    UnsupportedProtocol,
    /// The name of the earlier listener that has the port.
    Conflict {
        with: String,
    },
    /// No usable certificate, and why; the text is a sentence for the status.
    Certificate {
        why: String,
        /// A reference that ReferenceGrants do not permit.
        not_permitted: bool,
    },
    /// `tls.mode: Passthrough`.
    Passthrough,
    /// A port that is none.
    BadPort,
    /// The port in the pod where the dataplane answers health checks.
    HealthPort,
    /// An earlier listener has the name. An API server lets no such Gateway through, a file may hold one.
    NameTaken,
}

impl ListenerPlan {
    /// In the configuration. Also in the Service, unless its transport is not exposed.
    pub(crate) fn is_served(&self) -> bool {
        self.problem.is_none()
    }
}

/// Where clients reach a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicAddress {
    pub(crate) address: String,
    pub(crate) port: u16,
    /// A host name, not an IP address.
    pub(crate) hostname: bool,
}
