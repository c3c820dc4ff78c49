//! Near ends: who is a client, how long, and how it ends.

use std::time::{Duration, Instant};

use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;

use crate::process::{PATIENCE, Turncat};
use crate::scenery::{Auth, Client, Server};

struct Stage {
    server: Server,
    _peer: UdpEcho,
    peer: String,
}

fn stage() -> Stage {
    let peer = UdpEcho::start("127.0.0.1:0");
    Stage {
        server: Server::start(Auth::Static),
        peer: format!("udp://{}", peer.address()),
        _peer: peer,
    }
}

impl Stage {
    fn turncat(&self, local: &str, flags: &[&str]) -> Turncat {
        self.server
            .turncat(local, Transport::Udp, "127.0.0.1", &self.peer, flags)
    }

    #[track_caller]
    fn expect_sessions(&self, count: usize) {
        let right = wait_until(PATIENCE, || self.server.sessions().len() == count);
        assert!(
            right,
            "{} sessions, not {count}",
            self.server.sessions().len()
        );
    }
}

#[test]
fn every_udp_client_has_an_allocation_of_its_own_until_it_is_idle() {
    let stage = stage();
    let mut turncat = stage.turncat("udp://127.0.0.1:0", &["--idle-timeout", "2s"]);
    let end = turncat.ready();
    stage.expect_sessions(0);
    let mut clients: Vec<Client> = (0..3).map(|_| Client::connect(&end)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.echoes(format!("client {number}").as_bytes());
    }
    stage.expect_sessions(3);
    // Two fall silent.
    let busy = Instant::now();
    while busy.elapsed() < Duration::from_secs(4) {
        clients[0].echoes(b"still here");
        std::thread::sleep(Duration::from_millis(100));
    }
    stage.expect_sessions(1);
    // And may come back.
    clients[2].echoes(b"back again");
    stage.expect_sessions(2);
    assert_eq!(turncat.interrupt().code, Some(0));
    stage.expect_sessions(0);
}

#[test]
fn the_allocation_of_a_connection_ends_with_it() {
    let stage = stage();
    let mut turncat = stage.turncat("tcp://127.0.0.1:0", &["--linger", "300ms"]);
    let end = turncat.ready();
    let (mut first, mut second) = (Client::connect(&end), Client::connect(&end));
    first.echoes(b"one");
    second.echoes(b"two");
    stage.expect_sessions(2);
    drop(first);
    stage.expect_sessions(1);
    second.echoes(b"two again");
    drop(turncat);
}

#[test]
fn a_socket_in_the_file_system_is_replaced_when_left_over_and_removed_in_the_end() {
    let stage = stage();
    let path = stage.server.dir.path().join("turncat.sock");
    // As a process that was killed leaves it.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("bind"));
    assert!(path.exists());
    let local = format!("unix://{}", path.display());
    let mut turncat = stage.turncat(&local, &[]);
    let end = turncat.ready();
    Client::connect(&end).echoes(b"hello");

    let second = stage.turncat(&local, &[]).end();
    assert_eq!(second.code, Some(1));
    assert!(
        second.stderr.contains("hint: another process has it"),
        "{}",
        second.stderr
    );

    assert_eq!(turncat.interrupt().code, Some(0));
    assert!(!path.exists(), "the socket is left over");
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let stage = stage();
    let path = stage.server.dir.path().join("notes");
    std::fs::write(&path, "mine").expect("write");
    let ended = stage
        .turncat(&format!("unix://{}", path.display()), &[])
        .end();
    crate::process::expect_problem(&ended, "cannot listen at `unix://", "choose another path");
    assert_eq!(std::fs::read(&path).expect("read"), b"mine");
}

#[test]
fn a_socket_may_have_an_abstract_name() {
    use std::os::linux::net::SocketAddrExt;
    let stage = stage();
    let name = format!("turncat-test-{}", std::process::id());
    let mut turncat = stage.turncat(&format!("unix://@{name}"), &[]);
    turncat.ready();
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).expect("a name");
    let stream = std::os::unix::net::UnixStream::connect_addr(&address).expect("connect");
    Client::Unix(stream).echoes(b"hello");
}

#[test]
fn names_work_at_every_end() {
    let server = Server::start(Auth::Static);
    // The name may stand for either family.
    let port = free_port();
    let mut peers = vec![UdpEcho::start(&format!("127.0.0.1:{port}"))];
    if interop_tests::skip::ipv6().is_ok() {
        peers.push(UdpEcho::start(&format!("[::1]:{port}")));
    }
    let peer = format!("udp://localhost:{port}");
    for transport in [Transport::Tls, Transport::Dtls] {
        let mut turncat = server.turncat("udp://localhost:0", transport, "localhost", &peer, &[]);
        Client::connect(&turncat.ready()).echoes(b"hello");
        assert_eq!(turncat.interrupt().code, Some(0));
    }
}

#[test]
fn sigterm_and_sigint_end_it_well_and_give_back_allocations() {
    let stage = stage();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut turncat = stage.turncat("udp://127.0.0.1:0", &[]);
        let mut client = Client::connect(&turncat.ready());
        client.echoes(b"hello");
        stage.expect_sessions(1);
        turncat.signal(signal);
        let ended = turncat.end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let counts = "sent 5 bytes in 1 packet, received 5 bytes in 1 packet, dropped 0 packets; 1 allocation, 0 reconnections";
        assert!(ended.stderr.contains(counts), "{}", ended.stderr);
        stage.expect_sessions(0);
    }
}

#[test]
fn counts_are_told_without_a_client_too() {
    let stage = stage();
    let mut turncat = stage.turncat("udp://127.0.0.1:0", &[]);
    turncat.ready();
    let ended = turncat.interrupt();
    let place = stage.server.place(Transport::Udp, "127.0.0.1");
    let counts = format!("turncat: turn:{place}?transport=udp: sent 0 bytes in 0 packets, ");
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains(&counts), "{}", ended.stderr);
}

#[test]
fn a_signal_ends_it_while_standard_input_is_open() {
    let stage = stage();
    let mut turncat = stage.turncat("-", &[]);
    turncat.write(b"hello");
    let back = wait_until(PATIENCE, || turncat.stdout() == b"hello");
    assert!(back);
    turncat.signal(libc::SIGTERM);
    let ended = turncat.end();
    assert_eq!(
        (ended.code, ended.stdout.as_slice()),
        (Some(0), &b"hello"[..])
    );
}

#[test]
fn the_end_of_standard_input_waits_for_answers() {
    let stage = stage();
    // The whole input is there before the server is known, and its end too.
    let mut turncat = stage.turncat("file://stdin", &[]);
    turncat.write(b"question");
    turncat.close_stdin();
    let ended = turncat.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, b"question");
}

#[test]
fn clients_come_before_the_server_does_without_the_check() {
    let server = Server::start(Auth::Static);
    let config = server.stunnerd.config().clone();
    let Server {
        stunnerd, ca_file, ..
    } = server;
    drop(stunnerd);
    let peer = UdpEcho::start("127.0.0.1:0");
    let port = config.port("udp");
    let uri = format!("turn://interop-user:interop-pass@127.0.0.1:{port}");
    let arguments = [
        "--no-check",
        "udp://127.0.0.1:0",
        &uri,
        &format!("udp://{}", peer.address()),
    ];
    let mut turncat = Turncat::start(&arguments);
    let mut client = Client::connect(&turncat.ready());
    client.send(b"early");
    assert!(!client.receives(b"early", Duration::from_millis(500)));
    let stunnerd = interop_tests::stunnerd::Stunnerd::start(&config);
    // What was sent before is not lost.
    assert!(
        client.receives(b"early", PATIENCE),
        "the first datagram was not kept"
    );
    drop((stunnerd, ca_file));
}

#[test]
fn a_port_that_is_taken_is_told() {
    let stage = stage();
    let port = free_port();
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).expect("bind");
    let ended = stage.turncat(&format!("tcp://127.0.0.1:{port}"), &[]).end();
    assert_eq!(ended.code, Some(1));
    let told = format!("error: cannot listen at `tcp://127.0.0.1:{port}`");
    assert!(ended.stderr.contains(&told), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("hint: another process has it"),
        "{}",
        ended.stderr
    );
}
