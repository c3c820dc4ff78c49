//! Where the echo peer is, and where the browser finds the listener.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use stunner_config::{Listener, RelayAddresses};
use stunner_net::host;
use tokio::net::UdpSocket;

use super::IceTestError;

/// Opens the echo peer's socket where the listener's relays reach it: at the relay address, or at another address of
/// this host where that is a NAT's or the wildcard.
pub async fn bind(listener: &Listener) -> Result<UdpSocket, IceTestError> {
    let local = host::local_addresses().unwrap_or_default();
    let mut problem = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in candidates(listener, &local) {
        match UdpSocket::bind(SocketAddr::new(address, 0)).await {
            Ok(socket) => return Ok(socket),
            Err(error) => problem = error,
        }
    }
    Err(IceTestError::Socket(problem))
}

/// Addresses for the echo peer, the best first, all of the family that an allocation gets which asks for none.
fn candidates(listener: &Listener, local: &[IpAddr]) -> Vec<IpAddr> {
    let addresses = &listener.addresses;
    let is_v4 = match (addresses.v4, addresses.v6) {
        (Some(_), _) => true,
        (None, Some(_)) => false,
        // A wildcard gives the family of the address that the client came to.
        (None, None) => literal(listener).is_none_or(|ip| ip.is_ipv4()),
    };
    let loopback = match is_v4 {
        true => IpAddr::from(Ipv4Addr::LOCALHOST),
        false => IpAddr::from(Ipv6Addr::LOCALHOST),
    };
    let usable = |ip: &&IpAddr| ip.is_ipv4() == is_v4 && !ip.is_loopback() && !is_link_local(ip);
    let fixed = addresses.fixed().filter(|ip| ip.is_ipv4() == is_v4);
    let mut candidates: Vec<IpAddr> = fixed.collect();
    candidates.extend(local.iter().filter(usable));
    candidates.push(loopback);
    candidates
}

/// Link-local addresses need a scope to be reached.
fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// The address that clients are told, where it is one.
fn literal(listener: &Listener) -> Option<IpAddr> {
    RelayAddresses::parse_one(listener.host())
}

/// The URI for the browser. A wildcard says nothing to a client, so an address of this host stands in.
pub fn uri(listener: &Listener, host: IpAddr) -> String {
    match literal(listener) {
        Some(ip) if ip.is_unspecified() => listener.turn_uri_at(&host.to_string()),
        _ => listener.turn_uri(),
    }
}

#[cfg(test)]
mod tests {
    use stunner_config::Protocol;

    use super::*;

    fn listener(address: &str, public: &str) -> Listener {
        let mut addresses = RelayAddresses::default();
        for one in address.split(',') {
            let one = RelayAddresses::parse_one(one).expect("an address");
            assert!(addresses.add(one));
        }
        Listener {
            name: "ns/gw/udp".to_owned(),
            protocol: Protocol::TurnUdp,
            addresses,
            address_text: address.to_owned(),
            port: 3478,
            public_address: public.to_owned(),
            public_port: 0,
            cert: None,
            key: None,
            routes: Vec::new(),
        }
    }

    fn first(address: &str, public: &str, local: &[&str]) -> Vec<String> {
        let local: Vec<IpAddr> = local.iter().map(|ip| ip.parse().expect("an IP")).collect();
        let all = candidates(&listener(address, public), &local);
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_echo_peer_is_at_the_relay_address_else_at_the_host() {
        let local = [
            "127.0.0.1",
            "169.254.0.9",
            "10.0.0.5",
            "::1",
            "fe80::1",
            "2001:db8::5",
        ];
        assert_eq!(first("10.0.0.5", "", &local)[0], "10.0.0.5");
        assert_eq!(
            first("127.0.0.1", "", &["127.0.0.1"]),
            ["127.0.0.1", "127.0.0.1"]
        );
        assert_eq!(
            first("0.0.0.0", "", &local),
            ["10.0.0.5", "127.0.0.1"],
            "an address of the host"
        );
        assert_eq!(
            first("203.0.113.9", "", &local),
            ["203.0.113.9", "10.0.0.5", "127.0.0.1"]
        );
        assert_eq!(first("::", "2001:db8::9", &local), ["2001:db8::5", "::1"]);
        assert_eq!(first("2001:db8::5", "", &local)[0], "2001:db8::5");
        assert_eq!(first("10.0.0.5,2001:db8::5", "", &local)[0], "10.0.0.5");
    }

    #[test]
    fn the_browser_is_told_the_public_address_and_never_a_wildcard() {
        let host = "10.0.0.5".parse().expect("an IP");
        let told = |address, public| uri(&listener(address, public), host);
        assert_eq!(
            told("10.0.0.7", "203.0.113.1"),
            "turn:203.0.113.1:3478?transport=udp"
        );
        assert_eq!(
            told("0.0.0.0", "turn.example.com"),
            "turn:turn.example.com:3478?transport=udp"
        );
        assert_eq!(told("0.0.0.0", ""), "turn:10.0.0.5:3478?transport=udp");
        assert_eq!(told("127.0.0.1", ""), "turn:127.0.0.1:3478?transport=udp");
    }
}
