//! What is known about a Gateway and the way to it: plain values, gathered before anything is judged.
//!
//! No secret is among them: of Secrets only what is wrong with them, and a configuration masks its own.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, GatewayClass};
use stunner_api::v1::GatewayConfig;
use stunner_config::{Config, Protocol};

use super::judge::provider::Provider;

/// What came of a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Asked<T> {
    Known(T),
    /// RBAC says no. `rule` is what would have to be granted.
    Forbidden {
        rule: String,
    },
    Failed(String),
    /// There was nothing to ask, or asking was not wanted.
    #[default]
    Unasked,
}

impl<T> Asked<T> {
    pub(super) fn known(&self) -> Option<&T> {
        match self {
            Asked::Known(value) => Some(value),
            _ => None,
        }
    }

    /// What is known, or why it is not, as an answer to another question.
    pub(super) fn ok<U>(self) -> Result<T, Asked<U>> {
        Err(match self {
            Asked::Known(value) => return Ok(value),
            Asked::Forbidden { rule } => Asked::Forbidden { rule },
            Asked::Failed(why) => Asked::Failed(why),
            Asked::Unasked => Asked::Unasked,
        })
    }

    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Asked<U> {
        self.ok()
            .map_or_else(|unknown| unknown, |value| Asked::Known(change(value)))
    }
}

/// Everything about one Gateway.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// In UNIX seconds.
    pub(super) now: i64,
    /// `controllerName` of the operator.
    pub(super) controller: String,
    pub(super) name: NamespacedName,
    /// Only this listener is of interest.
    pub(super) only: Option<String>,
    /// Nothing was to be sent from here.
    pub(super) no_network: bool,
    pub(super) gateway: Asked<Option<Gateway>>,
    /// Other Gateways of the namespace, for one whose name was mistyped.
    pub(super) others: Vec<String>,
    pub(super) class: Asked<Option<GatewayClass>>,
    pub(super) config: Asked<Option<GatewayConfig>>,
    /// The Secret that the GatewayConfig names.
    pub(super) secret: Option<SecretFacts>,
    pub(super) routes: Asked<Routes>,
    pub(super) backends: Vec<BackendFacts>,
    pub(super) pods: Asked<Vec<PodFacts>>,
    /// The Deployment or DaemonSet.
    pub(super) workload: Asked<Option<WorkloadFacts>>,
    /// What config discovery serves for the Gateway.
    pub(super) served: Asked<Option<Config>>,
    pub(super) service: Asked<Option<Service>>,
    /// Warnings of Kubernetes about the Service, the newest last.
    pub(super) events: Vec<String>,
    pub(super) provider: Option<Provider>,
    /// What was tried from here, for each listener with an address.
    pub(super) trials: Vec<Trial>,
}

#[derive(Debug)]
pub(super) struct SecretFacts {
    pub(super) name: NamespacedName,
    /// `None` if it does not exist; else what is wrong with it.
    pub(super) found: Asked<Option<Option<String>>>,
}

/// Routes of all kinds.
#[derive(Debug, Default)]
pub(super) struct Routes {
    /// Those with a parentRef to the Gateway.
    pub(super) ours: Vec<RouteFacts>,
    /// Names of those that name other Gateways only, with one of these.
    pub(super) elsewhere: Vec<(String, NamespacedName)>,
    /// Kinds or namespaces that could not be looked into, and why.
    pub(super) unseen: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct RouteFacts {
    /// Such as `UDPRoute media/video`.
    pub(super) id: String,
    /// `Accepted` for the Gateway: state and message. `None` while nobody has said anything.
    pub(super) accepted: Option<(bool, String)>,
    pub(super) resolved: Option<(bool, String)>,
    pub(super) has_backends: bool,
}

/// A backend of a route.
#[derive(Debug)]
pub(super) struct BackendFacts {
    pub(super) route: String,
    /// Such as `Service media/server`.
    pub(super) id: String,
    pub(super) found: Asked<Option<BackendState>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum BackendState {
    /// Addresses of its EndpointSlices.
    Service {
        ready: usize,
        not_ready: usize,
    },
    ExternalName(String),
    Static {
        prefixes: usize,
    },
}

#[derive(Debug, Clone, Default)]
pub(super) struct PodFacts {
    pub(super) name: String,
    pub(super) ready: bool,
    /// Being deleted: it drains.
    pub(super) terminating: bool,
    /// What Kubernetes says is wrong with it.
    pub(super) trouble: Option<String>,
    /// Its status document.
    pub(super) status: Asked<Value>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct WorkloadFacts {
    /// Such as `Deployment media/gateway`.
    pub(super) id: String,
    pub(super) wanted: i32,
    /// Why pods cannot be made.
    pub(super) trouble: Option<String>,
}

/// What was tried with one listener, or with a server that has nothing to do with a cluster.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    /// Name of the listener, or URI of the server.
    pub(super) listener: String,
    pub(super) protocol: Protocol,
    pub(super) host: String,
    pub(super) port: u16,
    /// Not for an address.
    pub(super) dns: Asked<Vec<IpAddr>>,
    pub(super) stun: Tried<Bound>,
    pub(super) allocate: Tried<SocketAddr>,
    /// Only for TLS and DTLS.
    pub(super) certificate: Tried<CertificateFacts>,
    /// The endpoint that a permission was asked for.
    pub(super) peer: Option<(SocketAddr, Tried<()>)>,
    /// Why there is no Allocate to try.
    pub(super) no_allocate: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bound {
    /// The address of this machine as the server sees it.
    pub(super) mapped: SocketAddr,
    pub(super) rtt: Duration,
}

/// What came of an exchange with a TURN server.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Tried<T> {
    Done(T),
    /// Nobody listens on the port: ICMP, or a TCP reset.
    Closed,
    /// No answer at all.
    Silent,
    /// The connection is accepted, and nothing comes back on it.
    Mute,
    /// 401, with credentials.
    Unauthorized,
    /// Another error code of the server.
    Refused {
        code: u16,
        reason: String,
    },
    /// No TLS or DTLS could be agreed on.
    Handshake(String),
    /// Something answers that does not speak TURN, or not over this transport.
    NoTurn(String),
    Failed(String),
    #[default]
    Untried,
}

/// What a server showed of its certificate.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CertificateFacts {
    pub(super) subject: String,
    /// DNS names and addresses.
    pub(super) names: Vec<String>,
    /// In UNIX seconds.
    pub(super) not_before: i64,
    pub(super) not_after: i64,
    pub(super) self_signed: bool,
    /// What this machine has against the chain, the dates and names of the certificate aside.
    pub(super) untrusted: Option<String>,
}
