//! Which peers a client may reach.
//!
//! [`Admission`] is compiled once per listener and policy and then asked for every packet. It is immutable but for the
//! shared [`RelayPorts`], which tell the ports of live allocations from other ports of the gateway's own addresses.
//!
//! A peer passes when a rule of a routed cluster holds its address, port and transport, and the rule is narrow enough:
//!
//! | peer | the rule's prefix must |
//! | --- | --- |
//! | loopback | lie wholly inside the range, or come from a name |
//! | link-local and metadata, multicast, unspecified, broadcast | lie wholly inside the range and not come from a name |
//! | an own address | be that address alone, or come from a name |
//! | an own address at a live relay port | nothing: it is an ordinary peer |
//! | a listener socket of our own | there is no such rule |
//! | any other | nothing |
//!
//! Loopback addresses are own addresses only as far as listener sockets go. Where loopback peers are allowed, the rows
//! on loopback and own addresses fall away. IPv6 addresses that embed an IPv4 address (mapped, NAT64, 6to4) count as
//! that address; a rule wholly inside a NAT64 or 6to4 range matches peers written in that form.

mod explain;
mod own;
mod relay_ports;
mod rules;
mod special;
mod table;
mod verdict;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ipnet::IpNet;

pub use crate::model::PeerTransport as Transport;
pub use crate::model::{PeerTransport, PortRange};
pub use relay_ports::RelayPorts;
pub use rules::listener_rules;
pub use verdict::{DenyReason, Explanation, Verdict};

use own::Own;
use special::{RuleNet, SpecialRange, Target, special_range};
use table::{Item, Table};

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
    udp: Tables,
    tcp: Tables,
    own: Own,
    relay_ports: Arc<RelayPorts>,
    allow_loopback: bool,
}

/// The rules of one transport.
#[derive(Debug)]
struct Tables {
    v4: Table<u32>,
    v6: Table<u128>,
    /// Rules inside NAT64 and 6to4 ranges, by the address as written.
    embedded: Table<u128>,
    /// Special addresses that names resolve to and that stay denied, sorted. Only for the reason.
    misnamed: Vec<IpAddr>,
}

/// How long a prefix must be to count for a peer.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    special: Option<SpecialRange>,
    /// The peer is an own address and not loopback.
    own: bool,
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
            udp: Tables::build(&rules, PeerTransport::Udp),
            tcp: Tables::build(&rules, PeerTransport::Tcp),
            own: Own::new(&own),
            rules,
            relay_ports,
            allow_loopback,
        }
    }

    /// Whether packets to and from `peer` pass now.
    #[inline]
    pub fn admit(&self, transport: PeerTransport, peer: SocketAddr) -> Verdict {
        let target = Target::of(peer.ip());
        match self.decide(transport, &target, peer.port()) {
            Ok((order, cacheable)) => Verdict::Admitted {
                cluster: self.rules[order as usize].cluster,
                cacheable,
            },
            Err(reason) => Verdict::Denied(reason),
        }
    }

    /// Whether some port of `address` may pass, as a permission asks.
    ///
    /// A wide prefix is enough for an own address, since relay ports may go live there at any time.
    pub fn admit_address(&self, transport: PeerTransport, address: IpAddr) -> Verdict {
        let target = Target::of(address);
        let bounds = self.bounds(&target);
        match self
            .tables(transport)
            .find_any(&target, bounds.special_min())
        {
            Some(order) => Verdict::Admitted {
                cluster: self.rules[order as usize].cluster,
                cacheable: true,
            },
            None => Verdict::Denied(self.reason(transport, &target, None, bounds, true)),
        }
    }

    /// The first rule in order that admits, and whether that holds until the policy changes.
    #[inline]
    fn decide(
        &self,
        transport: PeerTransport,
        target: &Target,
        port: u16,
    ) -> Result<(u32, bool), DenyReason> {
        let bounds = self.bounds(target);
        let tables = self.tables(transport);
        let strict = tables.find(target, port, bounds.strict_min());
        if !bounds.own {
            let Some(order) = strict else {
                return Err(self.reason(transport, target, Some(port), bounds, false));
            };
            if self.is_local(target, bounds) && self.own.is_listener(transport, port) {
                return Err(DenyReason::OwnListener);
            }
            return Ok((order, true));
        }
        let wide = tables.find(target, port, bounds.special_min());
        let live = self.relay_ports.contains(transport, port);
        match if live { wide } else { strict } {
            // The reason must say so wherever a relay port going live would change the verdict.
            None if !live && wide.is_some() => Err(DenyReason::OwnAddress),
            None => Err(self.reason(transport, target, Some(port), bounds, live)),
            Some(_) if self.own.is_listener(transport, port) => Err(DenyReason::OwnListener),
            Some(order) => Ok((order, wide == strict)),
        }
    }

    #[inline]
    fn bounds(&self, target: &Target) -> Bounds {
        let special = special_range(target.address);
        let is_loopback = matches!(special, Some(range) if range.reason == DenyReason::Loopback);
        Bounds {
            special: special.filter(|_| !(is_loopback && self.allow_loopback)),
            own: !is_loopback && !self.allow_loopback && self.is_own(target),
        }
    }

    fn is_own(&self, target: &Target) -> bool {
        self.own.is_address(target.address)
            || target
                .embedded_in
                .is_some_and(|(_, literal)| self.own.is_address(literal.into()))
    }

    /// Whether packets to the peer end up on this host.
    #[inline]
    fn is_local(&self, target: &Target, bounds: Bounds) -> bool {
        bounds.own
            || target.address.is_loopback()
            || target.address.is_unspecified()
            || (self.allow_loopback && self.is_own(target))
    }

    /// Why no rule admits the peer. `live`: the own-address rule is not what stands in the way.
    #[cold]
    fn reason(
        &self,
        transport: PeerTransport,
        target: &Target,
        port: Option<u16>,
        bounds: Bounds,
        live: bool,
    ) -> DenyReason {
        let tables = self.tables(transport);
        let other = self.tables(match transport {
            PeerTransport::Udp => PeerTransport::Tcp,
            PeerTransport::Tcp => PeerTransport::Udp,
        });
        let strict_min = if live {
            bounds.special_min()
        } else {
            bounds.strict_min()
        };
        if tables.find_any(target, strict_min).is_some() {
            let elsewhere = port.is_some_and(|port| other.find(target, port, strict_min).is_some());
            return if elsewhere {
                DenyReason::Transport
            } else {
                DenyReason::Port
            };
        }
        if let Some(range) = bounds.special
            && tables.find_any(target, range.prefix_len).is_none()
            && (tables.find_any(target, 0).is_some()
                || tables.misnamed.binary_search(&target.address).is_ok())
        {
            return range.reason;
        }
        if bounds.own && tables.find_any(target, 0).is_some() {
            return DenyReason::OwnAddress;
        }
        if other.find_any(target, strict_min).is_some() {
            DenyReason::Transport
        } else {
            DenyReason::NoRoute
        }
    }

    #[inline]
    fn tables(&self, transport: PeerTransport) -> &Tables {
        match transport {
            PeerTransport::Udp => &self.udp,
            PeerTransport::Tcp => &self.tcp,
        }
    }
}

impl Bounds {
    #[inline]
    fn special_min(self) -> u8 {
        self.special.map_or(0, |range| range.prefix_len)
    }

    /// Own addresses need a rule for the address alone, so for the longest prefix there is.
    #[inline]
    fn strict_min(self) -> u8 {
        if self.own { HOST } else { self.special_min() }
    }
}

/// Stands for the full length of whatever family the peer has.
const HOST: u8 = u8::MAX;

impl Tables {
    fn build(rules: &[Rule], transport: PeerTransport) -> Self {
        let (mut v4, mut v6, mut embedded) = (Vec::new(), Vec::new(), Vec::new());
        let mut misnamed = Vec::new();
        for (order, rule) in (0u32..).zip(rules) {
            if rule.transport != transport || rule.ports.is_empty() {
                continue;
            }
            let address = Target::of(rule.net.addr()).address;
            if rule.named
                && special_range(address).is_some_and(|range| range.reason != DenyReason::Loopback)
            {
                misnamed.push(address);
                continue;
            }
            let ports = rule.ports;
            let wide = |net: ipnet::Ipv6Net| Item {
                start: net.network().to_bits(),
                prefix_len: net.prefix_len(),
                ports,
                order,
            };
            match RuleNet::of(rule.net) {
                RuleNet::V4(net) => {
                    v4.push(Item {
                        start: net.network().to_bits(),
                        prefix_len: net.prefix_len(),
                        ports,
                        order,
                    });
                }
                RuleNet::V6(net) => v6.push(wide(net)),
                RuleNet::Embedded(net) => embedded.push(wide(net)),
            }
        }
        misnamed.sort_unstable();
        Tables {
            v4: Table::build(v4),
            v6: Table::build(v6),
            embedded: Table::build(embedded),
            misnamed,
        }
    }

    #[inline]
    fn find(&self, target: &Target, port: u16, min_prefix: u8) -> Option<u32> {
        let plain = match target.address {
            IpAddr::V4(v4) => self.v4.find(v4.to_bits(), port, min_prefix.min(32)),
            IpAddr::V6(v6) => self.v6.find(v6.to_bits(), port, min_prefix.min(128)),
        };
        match target.embedded_in {
            None => plain,
            Some((embedding, literal)) => {
                let min_prefix = min_prefix.min(32) + embedding.offset();
                first(
                    plain,
                    self.embedded.find(literal.to_bits(), port, min_prefix),
                )
            }
        }
    }

    fn find_any(&self, target: &Target, min_prefix: u8) -> Option<u32> {
        let plain = match target.address {
            IpAddr::V4(v4) => self.v4.find_any(v4.to_bits(), min_prefix.min(32)),
            IpAddr::V6(v6) => self.v6.find_any(v6.to_bits(), min_prefix.min(128)),
        };
        match target.embedded_in {
            None => plain,
            Some((embedding, literal)) => {
                let min_prefix = min_prefix.min(32) + embedding.offset();
                first(plain, self.embedded.find_any(literal.to_bits(), min_prefix))
            }
        }
    }
}

fn first(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
