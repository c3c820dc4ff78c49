//! The addresses of this host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use stunner_config::RelayAddresses;

/// Documentation addresses (RFC 5737, RFC 3849): nobody is there, and connecting a UDP socket sends nothing.
const OUTSIDE_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const OUTSIDE_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
/// Of the discard service; any would do.
const ANY_PORT: u16 = 9;

/// At most one address of each family; at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAddresses {
    /// What clients are told first.
    pub first: IpAddr,
    /// Of the other family.
    pub second: Option<IpAddr>,
}

impl HostAddresses {
    /// Those that were given, else those of the interfaces that lead out, else loopback.
    pub fn given_or_found(given: &[IpAddr]) -> Self {
        let found;
        let addresses = match given {
            [] => {
                found = [OUTSIDE_V4, OUTSIDE_V6].map(local_address_towards);
                found.into_iter().flatten().collect()
            }
            given => given.to_vec(),
        };
        let first = addresses.first().copied();
        let first = first.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        HostAddresses {
            first,
            second: addresses
                .into_iter()
                .find(|address| address.is_ipv4() != first.is_ipv4()),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = IpAddr> + use<> {
        [Some(self.first), self.second].into_iter().flatten()
    }

    /// What allocations advertise.
    pub fn relay_addresses(&self) -> RelayAddresses {
        let mut relay = RelayAddresses::default();
        for address in self.iter() {
            // One of each family at most, so that there is always room.
            let _ = relay.add(address);
        }
        relay
    }

    /// As the `address` of a listener.
    pub fn text(&self) -> String {
        let addresses: Vec<String> = self.iter().map(|address| address.to_string()).collect();
        addresses.join(",")
    }
}

/// The address that packets to somewhere outside would leave from.
fn local_address_towards(outside: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match outside {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
    socket.connect(SocketAddr::new(outside, ANY_PORT)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    let is_usable = match address {
        IpAddr::V4(address) => !address.is_unspecified() && !address.is_link_local(),
        // A link-local address needs an interface beside it, which no client can know.
        IpAddr::V6(address) => !address.is_unspecified() && !address.is_unicast_link_local(),
    };
    is_usable.then_some(address)
}
