//! What can be said about a backend.

use std::fmt;

use stunner_api::NamespacedName;
use stunner_api::names::reason;

use super::BackendTarget;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BackendProblem {
    /// In another namespace, and no ReferenceGrant there permits it.
    NotPermitted(BackendTarget),
    /// Neither a Service nor a StaticService.
    InvalidKind {
        group: String,
        kind: String,
        name: NamespacedName,
    },
    NotFound(BackendTarget),
    BadPorts {
        name: NamespacedName,
        port: Option<i32>,
        end_port: Option<i32>,
    },
    BadPrefix {
        static_service: NamespacedName,
        prefix: String,
    },
    BadAddress {
        service: NamespacedName,
        address: String,
    },
    BadExternalName {
        service: NamespacedName,
        external_name: String,
    },
    NamesInSlice {
        service: NamespacedName,
        slice: String,
    },
    /// Names in a cluster of addresses, or the other way round.
    Mixed {
        target: BackendTarget,
        cluster_has_names: bool,
    },
    /// A remark: nothing is wrong with the reference.
    NoEndpoints(NamespacedName),
    /// A remark: it works only as long as ReferenceGrants are not enforced.
    WithoutGrant(BackendTarget),
}

impl BackendProblem {
    /// Why references are not resolved; `None` for a remark.
    ///
    /// The Gateway API has few reasons here, and the Go system uses `BackendNotFound` for whatever fits no other.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        match self {
            BackendProblem::NotPermitted(_) => Some(reason::REF_NOT_PERMITTED),
            BackendProblem::InvalidKind { .. } => Some(reason::INVALID_KIND),
            BackendProblem::BadPorts { .. } => Some(reason::UNSUPPORTED_VALUE),
            BackendProblem::NotFound(_)
            | BackendProblem::BadPrefix { .. }
            | BackendProblem::BadAddress { .. }
            | BackendProblem::BadExternalName { .. }
            | BackendProblem::NamesInSlice { .. }
            | BackendProblem::Mixed { .. } => Some(reason::BACKEND_NOT_FOUND),
            BackendProblem::NoEndpoints(_) | BackendProblem::WithoutGrant(_) => None,
        }
    }

    /// Which reason is told when there are several: the lowest.
    pub(crate) fn rank(&self) -> u8 {
        match self.reason() {
            Some(reason::REF_NOT_PERMITTED) => 0,
            Some(reason::INVALID_KIND) => 1,
            Some(reason::BACKEND_NOT_FOUND) => 2,
            Some(_) => 3,
            None => 4,
        }
    }
}

/// One sentence, with what to change.
impl fmt::Display for BackendProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackendProblem::NotPermitted(target) => {
                let (kind, name) = (target.kind(), target.name());
                let namespace = &name.namespace;
                write!(
                    f,
                    "{kind} {name} is in another namespace and must not be referred to: add a ReferenceGrant for it \
                     to namespace {namespace}."
                )
            }
            BackendProblem::InvalidKind { group, kind, name } => {
                let group = match group.as_str() {
                    "" => "the core group",
                    group => group,
                };
                write!(
                    f,
                    "Backend {name} is a {kind} of {group}: name a Service of the core group or a StaticService of \
                     stunner.l7mp.io."
                )
            }
            BackendProblem::NotFound(target) => {
                let (kind, name) = (target.kind(), target.name());
                write!(
                    f,
                    "{kind} {name} does not exist: create it or correct the backendRef."
                )
            }
            BackendProblem::BadPorts {
                name,
                port,
                end_port,
            } => {
                write!(f, "Backend {name} admits nothing: ")?;
                match (port, end_port) {
                    (None, Some(end_port)) => {
                        write!(f, "endPort {end_port} needs a port to start from; set it.")
                    }
                    (Some(port), Some(end_port)) if end_port < port => write!(
                        f,
                        "endPort {end_port} is below port {port}; swap or correct them."
                    ),
                    _ => f.write_str("its ports are not among 1 to 65535; correct them."),
                }
            }
            BackendProblem::BadPrefix {
                static_service,
                prefix,
            } => write!(
                f,
                "Prefix `{prefix}` of StaticService {static_service} is left out: write an IP address or a prefix \
                 such as 10.0.0.0/8."
            ),
            BackendProblem::BadAddress { service, address } => write!(
                f,
                "Address `{address}` of Service {service} is left out: it is no IP address."
            ),
            BackendProblem::BadExternalName {
                service,
                external_name,
            } => write!(
                f,
                "Service {service} is left out: its externalName `{external_name}` is no domain name; \
                 correct it."
            ),
            BackendProblem::NamesInSlice { service, slice } => write!(
                f,
                "EndpointSlice {}/{slice} of Service {service} is left out: it holds names; use an ExternalName \
                 Service for those.",
                service.namespace
            ),
            BackendProblem::Mixed {
                target,
                cluster_has_names,
            } => {
                let (kind, name) = (target.kind(), target.name());
                let (others, own) = if *cluster_has_names {
                    ("domain names", "addresses")
                } else {
                    ("addresses", "a domain name")
                };
                write!(
                    f,
                    "{kind} {name} is left out: it stands for {own} while the backends before it stand for {others}; \
                     move it to a route of its own."
                )
            }
            BackendProblem::NoEndpoints(service) => {
                write!(f, "Service {service} has no endpoints yet.")
            }
            BackendProblem::WithoutGrant(target) => {
                let (kind, name) = (target.kind(), target.name());
                write!(
                    f,
                    "{kind} {name} is in another namespace without a ReferenceGrant."
                )
            }
        }
    }
}
