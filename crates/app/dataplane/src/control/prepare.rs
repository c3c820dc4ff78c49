//! Everything about a configuration change that can fail, done before anything is touched.

use std::io;
use std::net::IpAddr;

use stunner_config::diff::{Changes, ListenerChange};
use stunner_config::{Config, HttpEndpoint, Listener, Protocol};
use stunner_net::identity::IdentityError;

use super::identity::mode_of;
use super::ports::{BoundPort, PortTable};
use super::servers::{HttpServers, PreparedServers};
use crate::embed::Member;
use crate::shard::{Mode, PortId};

/// Why a configuration cannot be put in force.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error("listener `{listener}`: cannot use the certificate: {cause}")]
    Identity {
        listener: String,
        cause: IdentityError,
    },
    #[error("listener `{listener}`: cannot open {protocol} port {port}: {cause}")]
    Port {
        listener: String,
        protocol: Protocol,
        port: u16,
        cause: io::Error,
    },
    #[error("cannot open the {purpose} endpoint `{endpoint}`: {cause}")]
    Endpoint {
        purpose: &'static str,
        endpoint: HttpEndpoint,
        cause: io::Error,
    },
    #[error("listener `{listener}`: {protocol} port {port} belongs to `{holder}` in this process")]
    Taken {
        listener: String,
        protocol: Protocol,
        port: u16,
        /// The other dataplane.
        holder: String,
    },
    #[error("the dataplane has stopped")]
    Stopped,
}

/// The kinds of things that stand in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrepareFault {
    /// Another process has the port.
    PortInUse,
    /// Another dataplane of this process has the port.
    PortTaken,
    /// This process may not have the port.
    PortForbidden,
    /// The port cannot be opened for another reason.
    PortUnusable,
    Certificate,
    /// An HTTP server of the configuration cannot listen.
    Endpoint,
    Stopped,
}

impl PrepareError {
    /// The listener that cannot be served.
    pub fn listener(&self) -> Option<&str> {
        match self {
            Self::Identity { listener, .. }
            | Self::Port { listener, .. }
            | Self::Taken { listener, .. } => Some(listener),
            Self::Endpoint { .. } | Self::Stopped => None,
        }
    }

    /// The port that cannot be had, and for what.
    pub fn port(&self) -> Option<(Protocol, u16)> {
        match self {
            Self::Port { protocol, port, .. } | Self::Taken { protocol, port, .. } => {
                Some((*protocol, *port))
            }
            _ => None,
        }
    }

    pub fn fault(&self) -> PrepareFault {
        match self {
            Self::Identity { .. } => PrepareFault::Certificate,
            Self::Endpoint { .. } => PrepareFault::Endpoint,
            Self::Taken { .. } => PrepareFault::PortTaken,
            Self::Stopped => PrepareFault::Stopped,
            Self::Port { cause, .. } => match cause.kind() {
                io::ErrorKind::AddrInUse => PrepareFault::PortInUse,
                io::ErrorKind::PermissionDenied => PrepareFault::PortForbidden,
                _ => PrepareFault::PortUnusable,
            },
        }
    }

    /// Whether the same configuration may succeed later: what is in the way is outside of it.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Identity { .. } | Self::Stopped => false,
            Self::Port { .. } | Self::Taken { .. } | Self::Endpoint { .. } => true,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Identity { .. } => {
                "give a PEM chain and the matching key, both in base64".to_owned()
            }
            Self::Port { port, cause, .. } if cause.kind() == io::ErrorKind::AddrInUse => {
                format!(
                    "another process has port {port}: `ss -lnptu 'sport = :{port}'` shows which"
                )
            }
            Self::Port { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => {
                "ports below 1024 need CAP_NET_BIND_SERVICE or the sysctl \
                 net.ipv4.ip_unprivileged_port_start=0"
                    .to_owned()
            }
            Self::Port { .. } => "choose another port or address".to_owned(),
            Self::Taken { holder, .. } => {
                format!("choose another port, or remove the listener of `{holder}`")
            }
            Self::Stopped => "start it again".to_owned(),
            Self::Endpoint { purpose, .. } => {
                format!(
                    "choose another address for the {purpose} endpoint, or `\"\"` to turn it off"
                )
            }
        }
    }
}

/// A listener's port: one that is open already, or sockets that were just bound.
#[derive(Debug)]
pub struct PreparedPort {
    /// Index in the new config's listeners.
    pub listener: usize,
    pub mode: Mode,
    pub existing: Option<PortId>,
    pub bound: Option<BoundPort>,
}

/// A change that will succeed. Dropping it undoes its preparation.
#[derive(Debug, Default)]
pub struct Prepared {
    pub ports: Vec<PreparedPort>,
    pub servers: PreparedServers,
}

/// What a change is prepared with.
#[derive(Debug)]
pub struct Means<'a> {
    pub ports: &'a PortTable,
    pub servers: &'a HttpServers,
    pub member: &'a Member,
    pub shards: usize,
    /// Where listeners are opened; none means everywhere.
    pub addresses: &'a [IpAddr],
    pub cookie_key: [u8; 32],
}

pub fn prepare(
    old: &Config,
    new: &Config,
    changes: &Changes,
    means: &Means<'_>,
) -> Result<Prepared, PrepareError> {
    let listeners = new
        .listeners
        .iter()
        .enumerate()
        .map(|(index, listener)| {
            let mode = match unchanged_mode(old, listener, changes, means.ports) {
                Some(mode) => mode,
                None => {
                    mode_of(listener, means.cookie_key).map_err(|cause| PrepareError::Identity {
                        listener: listener.name.clone(),
                        cause,
                    })?
                }
            };
            prepare_port(index, listener, mode, means)
        })
        .collect::<Result<_, _>>()?;
    Ok(Prepared {
        ports: listeners,
        servers: means.servers.prepare(&new.admin, changes)?,
    })
}

fn prepare_port(
    index: usize,
    listener: &Listener,
    mode: Mode,
    means: &Means<'_>,
) -> Result<PreparedPort, PrepareError> {
    let existing = means.ports.find(listener.protocol.socket(), listener.port);
    let bound = match existing {
        Some(_) => None,
        None => Some(bind_port(listener, means)?),
    };
    Ok(PreparedPort {
        listener: index,
        mode,
        existing,
        bound,
    })
}

fn bind_port(listener: &Listener, means: &Means<'_>) -> Result<BoundPort, PrepareError> {
    let (protocol, port) = (listener.protocol, listener.port);
    let name = || listener.name.clone();
    let claim = means.member.claim(protocol.socket(), port);
    let claim = claim.map_err(|holder| PrepareError::Taken {
        listener: name(),
        protocol,
        port,
        holder: holder.to_string(),
    })?;
    BoundPort::bind(claim, means.addresses, means.shards).map_err(|cause| PrepareError::Port {
        listener: name(),
        protocol,
        port,
        cause,
    })
}

/// The mode a listener has already. Made anew, it would make new handshakes start over.
fn unchanged_mode(
    old: &Config,
    listener: &Listener,
    changes: &Changes,
    ports: &PortTable,
) -> Option<Mode> {
    let before = old.listener(&listener.name)?;
    let renewed = changes.listeners.iter().any(|change| {
        change.name() == listener.name
            && matches!(
                change,
                ListenerChange::Added { .. }
                    | ListenerChange::Protocol { .. }
                    | ListenerChange::Certificate { .. }
            )
    });
    if renewed {
        return None;
    }
    let port = ports.find(before.protocol.socket(), before.port)?;
    Some(ports.get(port)?.mode.clone())
}
