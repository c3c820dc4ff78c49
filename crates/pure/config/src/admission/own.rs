//! The gateway's own addresses and listener sockets, prepared for lookup.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::special::Target;
use super::{OwnAddresses, PeerTransport};

#[derive(Debug)]
pub struct Own {
    v4: Vec<Ipv4Addr>,
    v6: Vec<Ipv6Addr>,
    listeners: Vec<(PeerTransport, u16)>,
}

impl Own {
    pub fn new(own: &OwnAddresses) -> Self {
        let mut v4 = Vec::new();
        let mut v6 = Vec::new();
        for address in &own.addresses {
            match Target::of(*address) {
                Target {
                    address: IpAddr::V4(address),
                    embedded_in: None,
                } => v4.push(address),
                // An interface address that embeds IPv4 is ours as it stands and as what it embeds.
                Target {
                    address: IpAddr::V4(address),
                    embedded_in: Some((_, literal)),
                } => {
                    v4.push(address);
                    v6.push(literal);
                }
                Target {
                    address: IpAddr::V6(address),
                    ..
                } => v6.push(address),
            }
        }
        v4.sort_unstable();
        v6.sort_unstable();
        let mut listeners = own.listeners.clone();
        listeners.sort_unstable();
        Own { v4, v6, listeners }
    }

    #[inline]
    pub fn is_address(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(v4) => self.v4.binary_search(&v4).is_ok(),
            IpAddr::V6(v6) => self.v6.binary_search(&v6).is_ok(),
        }
    }

    /// Whether a listener socket has the port. Listeners bind the wildcard, hence all own addresses.
    pub fn is_listener(&self, transport: PeerTransport, port: u16) -> bool {
        self.listeners.binary_search(&(transport, port)).is_ok()
    }
}
