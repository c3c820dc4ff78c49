//! What one admission lookup costs: `cargo bench -p stunner-config`.
//!
//! Prints nanoseconds per lookup for tables of 10 and 10,000 endpoints, peers in random order so that the larger table
//! is not all in the nearest cache.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use stunner_config::admission::{Admission, ClusterId, OwnAddresses, RelayPorts, Rule};
use stunner_config::{PeerTransport, PortRange};

const LOOKUPS: usize = 4_000_000;

fn main() {
    for endpoints in [10, 10_000] {
        let v4 = |n: u32| IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + n * 7));
        let v6 = |n: u32| IpAddr::V6(Ipv6Addr::from_bits((0x2001_0db8 << 96) + u128::from(n) * 7));
        measure("IPv4 admitted", endpoints, v4, 5000);
        measure("IPv4 denied", endpoints, v4, 80);
        measure("IPv6 admitted", endpoints, v6, 5000);
    }
}

fn measure(what: &str, endpoints: u32, address: impl Fn(u32) -> IpAddr, port: u16) {
    let rule = |n| Rule {
        cluster: ClusterId(n % 8),
        transport: PeerTransport::Udp,
        net: address(n).into(),
        ports: PortRange::new(1000, 60000),
        named: false,
    };
    let own = OwnAddresses {
        addresses: vec![
            "10.255.0.1".parse().unwrap(),
            "fd00::1".parse().unwrap(),
            "127.0.0.1".parse().unwrap(),
        ],
        listeners: vec![(PeerTransport::Udp, 3478)],
    };
    let rules: Vec<Rule> = (0..endpoints).map(rule).collect();
    let admission = Admission::compile(rules, Arc::new(own), Arc::new(RelayPorts::new()), false);

    // A multiplicative step visits the endpoints in an order that no prefetcher guesses.
    let peers: Vec<SocketAddr> = (0..16_384u32)
        .map(|n| SocketAddr::new(address(n.wrapping_mul(2_654_435_761) % endpoints), port))
        .collect();
    let mut admitted = 0usize;
    let started = Instant::now();
    for n in 0..LOOKUPS {
        let verdict = admission.admit(PeerTransport::Udp, black_box(peers[n % peers.len()]));
        admitted += usize::from(verdict.is_admitted());
    }
    let nanos = started.elapsed().as_nanos() as f64 / LOOKUPS as f64;
    println!("{what:14} {endpoints:6} endpoints  {nanos:6.1} ns per lookup  ({admitted} admitted)");
}
