//! Which peers a client may reach.
//!
//! [`Admission`] is compiled once per listener and policy and then asked for every packet. It is immutable but for the
//! shared [`RelayPorts`], which tell the ports of live allocations from other ports of the gateway's own addresses.

mod relay_ports;
mod verdict;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ipnet::IpNet;

pub use crate::model::PeerTransport as Transport;
pub use crate::model::{PeerTransport, PortRange};
pub use relay_ports::RelayPorts;
pub use verdict::{DenyReason, Explanation, Verdict};

/// A cluster, by the number its owner gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterId(pub u32);

/// Addresses and listeners of the gateway itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnAddresses {
    /// Interface addresses and advertised relay addresses.
    pub addresses: Vec<IpAddr>,
    /// Listener sockets: transport and port, on every own address.
    pub listeners: Vec<(PeerTransport, u16)>,
}

/// One prefix that one routed cluster admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub cluster: ClusterId,
    pub transport: PeerTransport,
    pub net: IpNet,
    pub ports: PortRange,
    /// The address is an answer to a name that the cluster gives.
    pub named: bool,
}

/// The compiled routes of one listener.
#[derive(Debug)]
pub struct Admission {
    rules: Vec<Rule>,
    #[allow(dead_code)]
    own: Arc<OwnAddresses>,
    #[allow(dead_code)]
    relay_ports: Arc<RelayPorts>,
    #[allow(dead_code)]
    allow_loopback: bool,
}

impl Admission {
    /// Compiles rules given in route order: of several that admit a peer, the first gives the label.
    pub fn compile(
        rules: Vec<Rule>,
        own: Arc<OwnAddresses>,
        relay_ports: Arc<RelayPorts>,
        allow_loopback: bool,
    ) -> Admission {
        Admission {
            rules,
            own,
            relay_ports,
            allow_loopback,
        }
    }

    /// Whether packets to and from `peer` pass now.
    pub fn admit(&self, transport: PeerTransport, peer: SocketAddr) -> Verdict {
        for rule in &self.rules {
            if rule.transport == transport
                && rule.net.contains(&peer.ip())
                && rule.ports.contains(peer.port())
            {
                return Verdict::Admitted {
                    cluster: rule.cluster,
                    cacheable: true,
                };
            }
        }
        Verdict::Denied(DenyReason::NoRoute)
    }

    /// Whether some port of `address` may pass, as a permission asks.
    pub fn admit_address(&self, transport: PeerTransport, address: IpAddr) -> Verdict {
        for rule in &self.rules {
            if rule.transport == transport && rule.net.contains(&address) {
                return Verdict::Admitted {
                    cluster: rule.cluster,
                    cacheable: true,
                };
            }
        }
        Verdict::Denied(DenyReason::NoRoute)
    }

    /// The verdict with the rule that made it, or the rule that came nearest. Not for the packet path.
    pub fn explain(&self, transport: PeerTransport, peer: SocketAddr) -> Explanation {
        Explanation {
            verdict: self.admit(transport, peer),
            matched: None,
            nearest: None,
        }
    }
}
