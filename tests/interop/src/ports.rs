//! Free ports for servers under test.

use std::net::{Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports below Linux's ephemeral range, so that neither relay sockets nor clients land on them.
const LOW: u16 = 20_000;
const HIGH: u16 = 32_000;

/// A port that is free for UDP and TCP on every address of both families, and that this process has not
/// handed out before. Other processes choose too, so each starts at a different place.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let span = HIGH - LOW;
    let start = (std::process::id() as u16).wrapping_mul(37) % span;
    for _ in 0..span {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = LOW + (start.wrapping_add(step)) % span;
        if is_free(port) {
            return port;
        }
    }
    panic!("no free port between {LOW} and {HIGH}");
}

fn is_free(port: u16) -> bool {
    let everywhere = [
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
        SocketAddr::from(([0, 0, 0, 0], port)),
    ];
    everywhere.iter().all(|address| {
        // Dual-stack wildcard sockets cover IPv4 too; the separate IPv4 bind finds sockets that are
        // bound to IPv4 alone. Each is closed before the next.
        UdpSocket::bind(address).is_ok() && TcpListener::bind(address).is_ok()
    })
}

/// `count` neighbouring free ports, for relay ranges. They lie below those of [`free_port`], which other tests of this
/// process take at the same time.
pub fn free_range(count: u16) -> (u16, u16) {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id() as u16).wrapping_mul(37) % 5_000;
    for _ in 0..200 {
        let step = NEXT.fetch_add(count, Ordering::Relaxed);
        let low = 14_000 + start.wrapping_add(step) % 5_000;
        if (low..low + count).all(is_free) {
            return (low, low + count - 1);
        }
    }
    panic!("no {count} neighbouring free ports");
}
