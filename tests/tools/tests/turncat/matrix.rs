//! Every near end over every transport, with both kinds of authentication and both address families.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::process::wait_until;
use interop_tests::skip;

use crate::process::PATIENCE;
use crate::scenery::{Auth, Client, Server, pattern};

const WORKERS: usize = 6;
const SIZES: [usize; 4] = [1, 100, 1200, 9000];

#[derive(Debug, Clone, Copy)]
struct Cell {
    local: &'static str,
    transport: Transport,
    auth: Auth,
    v6: bool,
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for local in ["udp", "tcp", "stdin", "unix"] {
        for transport in Transport::ALL {
            for auth in [Auth::Static, Auth::Ephemeral] {
                for v6 in [false, true] {
                    cells.push(Cell {
                        local,
                        transport,
                        auth,
                        v6,
                    });
                }
            }
        }
    }
    cells
}

#[test]
fn every_near_end_echoes_over_every_transport() {
    let six = skip::ipv6();
    if let Err(missing) = &six {
        skip::report("every_near_end_echoes_over_every_transport: IPv6", missing);
    }
    let servers = [Server::start(Auth::Static), Server::start(Auth::Ephemeral)];
    let peers: Vec<UdpEcho> = ["127.0.0.1:0", "[::1]:0"]
        .into_iter()
        .take(if six.is_ok() { 2 } else { 1 })
        .map(UdpEcho::start)
        .collect();
    let cells: Vec<Cell> = cells()
        .into_iter()
        .filter(|cell| !cell.v6 || six.is_ok())
        .collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let server = &servers[usize::from(cell.auth == Auth::Ephemeral)];
                    let _named = Named(*cell);
                    echo(*cell, server, &peers[usize::from(cell.v6)]);
                }
            });
        }
    });
    // Every allocation was given back when its turncat ended.
    for server in &servers {
        let none = wait_until(Duration::from_secs(5), || {
            server.stunnerd.allocation_count() == Some(0)
        });
        assert!(none, "allocations are left over");
    }
}

/// Says which cell failed.
struct Named(Cell);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {:?}", self.0);
        }
    }
}

fn echo(cell: Cell, server: &Server, peer: &UdpEcho) {
    let host = if cell.v6 { "[::1]" } else { "127.0.0.1" };
    let peer = format!("udp://{}", peer.address());
    let local = match cell.local {
        "stdin" => return echo_on_stdin(cell, server, host, &peer),
        "unix" => {
            let name = format!("{:?}-{:?}-{}.sock", cell.transport, cell.auth, cell.v6);
            format!("unix://{}", server.dir.path().join(name).display())
        }
        scheme => format!("{scheme}://{host}:0"),
    };
    let mut turncat = server.turncat(&local, cell.transport, host, &peer, &[]);
    let end = turncat.ready();
    let mut client = Client::connect(&end);
    let mut bytes = 0;
    for size in SIZES {
        client.echoes(&pattern(size));
        bytes += size;
    }
    let ended = turncat.interrupt();
    assert_eq!(ended.code, Some(0), "{cell:?}: {}", ended.stderr);
    let counts = format!("sent {bytes} bytes in 4 packets, received {bytes} bytes in 4 packets");
    // A stream may give its bytes in more reads than writes.
    let exact = cell.local == "udp";
    assert!(
        !exact || ended.stderr.contains(&counts),
        "{cell:?}: no `{counts}` in {}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains(&format!("sent {bytes} bytes in")),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.is_empty(), "standard output is for data");
}

fn echo_on_stdin(cell: Cell, server: &Server, host: &str, peer: &str) {
    let mut turncat = server.turncat("-", cell.transport, host, peer, &["--linger", "500ms"]);
    let mut sent = Vec::new();
    for size in SIZES {
        let message = pattern(size);
        turncat.write(&message);
        sent.extend(message);
        let back = wait_until(PATIENCE, || turncat.stdout().len() == sent.len());
        assert!(
            back,
            "{cell:?}: {} of {} bytes came back",
            turncat.stdout().len(),
            sent.len()
        );
    }
    turncat.close_stdin();
    let ended = turncat.end();
    assert_eq!(ended.code, Some(0), "{cell:?}: {}", ended.stderr);
    assert_eq!(ended.stdout, sent, "{cell:?}");
}

/// A server takes only so many handshakes of one source at once; those it drops would be repeated after seconds.
#[test]
fn many_clients_at_once_do_not_wait_for_dropped_handshakes() {
    let server = Server::start(Auth::Static);
    let peer = UdpEcho::start("127.0.0.1:0");
    let peer = format!("udp://{}", peer.address());
    let mut turncat = server.turncat(
        "udp://127.0.0.1:0",
        Transport::Dtls,
        "127.0.0.1",
        &peer,
        &[],
    );
    let end = turncat.ready();
    let mut clients: Vec<Client> = (0..200).map(|_| Client::connect(&end)).collect();
    let begin = std::time::Instant::now();
    for client in &mut clients {
        client.send(b"hello");
    }
    for client in &mut clients {
        assert!(client.receives(b"hello", PATIENCE));
    }
    let waited = begin.elapsed();
    assert!(waited < std::time::Duration::from_secs(6), "{waited:?}");
    let ended = turncat.interrupt();
    assert!(ended.stderr.contains("200 allocations"), "{}", ended.stderr);
}
