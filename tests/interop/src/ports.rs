//! Free ports for servers under test.

use std::fs::File;
use std::net::{Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports below Linux's ephemeral range, so that neither relay sockets nor clients land on them.
const LOW: u16 = 20_000;
const HIGH: u16 = 32_000;

/// Ports that one process takes from; more than any test binary holds at a time.
const BLOCK: u16 = 1_200;

/// A port that is free for UDP and TCP on every address of both families, and that this process has not
/// handed out lately. Test binaries that run at the same time take from different blocks.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = block_of_this_process();
    for _ in 0..BLOCK {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) % BLOCK;
        if is_free(start + step) {
            return start + step;
        }
    }
    panic!("no free port between {start} and {}", start + BLOCK);
}

/// The first port of a block that no other test process has, held by a lock on a file until this process ends.
fn block_of_this_process() -> u16 {
    static CLAIMED: OnceLock<(u16, Option<File>)> = OnceLock::new();
    let claim = || {
        let blocks = (LOW..HIGH).step_by(usize::from(BLOCK));
        for start in blocks {
            let name = format!("stunner-test-ports-{start}.lock");
            let file = File::create(std::env::temp_dir().join(name));
            if let Ok(file) = file
                && file.try_lock().is_ok()
            {
                return (start, Some(file));
            }
        }
        // Every block is taken, or the folder is not ours to write to: any block is as good as another.
        let blocks = (HIGH - LOW) / BLOCK;
        (LOW + (std::process::id() as u16 % blocks) * BLOCK, None)
    };
    CLAIMED.get_or_init(claim).0
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
