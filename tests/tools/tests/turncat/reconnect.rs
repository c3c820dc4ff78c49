//! Lost servers and lost allocations: clients keep their sockets and go on.

use std::time::Duration;

use interop_tests::config::Transport;
use interop_tests::echo::{TcpEcho, UdpEcho};
use interop_tests::process::wait_until;
use interop_tests::stunnerd::Stunnerd;

use crate::process::{PATIENCE, counted};
use crate::scenery::{Auth, Client, Server};

#[test]
fn an_allocation_that_the_server_ended_is_made_again() {
    let server = Server::start(Auth::Static);
    let peer = UdpEcho::start("127.0.0.1:0");
    let peer = format!("udp://{}", peer.address());
    std::thread::scope(|scope| {
        let (server, peer) = (&server, &peer);
        let mut ends = Vec::new();
        for transport in Transport::ALL {
            for local in ["udp", "tcp"] {
                let local = format!("{local}://127.0.0.1:0");
                let mut turncat = server.turncat(&local, transport, "127.0.0.1", peer, &[]);
                let mut client = Client::connect(&turncat.ready());
                client.echoes(b"before");
                ends.push((turncat, client));
            }
        }
        assert_eq!(server.sessions().len(), ends.len());
        server.end_sessions();
        for (turncat, mut client) in ends {
            scope.spawn(move || {
                client.echoes_in_the_end("after");
                let ended = turncat.interrupt();
                assert_eq!(ended.code, Some(0), "{}", ended.stderr);
                // A busy server may seem to be gone, and be connected to once more.
                let again = counted(&ended.stderr, "reconnection");
                let allocations = counted(&ended.stderr, "allocation");
                assert!(again >= 1 && allocations == again + 1, "{}", ended.stderr);
            });
        }
    });
}

#[test]
fn a_server_that_restarts_is_connected_to_again() {
    let Server {
        stunnerd,
        ca_file,
        dir,
        auth,
    } = Server::start(Auth::Ephemeral);
    let config = stunnerd.config().clone();
    let server = Server {
        stunnerd,
        ca_file,
        dir,
        auth,
    };
    let peer = UdpEcho::start("127.0.0.1:0");
    let peer = format!("udp://{}", peer.address());
    let mut ends = Vec::new();
    for transport in Transport::ALL {
        let mut turncat = server.turncat("udp://127.0.0.1:0", transport, "127.0.0.1", &peer, &[]);
        let mut client = Client::connect(&turncat.ready());
        client.echoes(b"before");
        ends.push((turncat, client));
    }
    let Server { stunnerd, dir, .. } = server;
    drop(stunnerd);
    std::thread::sleep(Duration::from_millis(500));
    let again = Stunnerd::start(&config);
    std::thread::scope(|scope| {
        for (turncat, mut client) in ends {
            scope.spawn(move || {
                client.echoes_in_the_end("after");
                let ended = turncat.interrupt();
                assert_eq!(ended.code, Some(0), "{}", ended.stderr);
                let again = counted(&ended.stderr, "reconnection");
                assert!(again >= 1, "{}", ended.stderr);
            });
        }
    });
    drop((again, dir));
}

/// RFC 8489 §10: a server that drains sends newcomers, and those whose allocation ended, elsewhere.
#[test]
fn a_server_that_drains_names_the_one_to_go_on_with() {
    let other = Server::start(Auth::Static);
    let alternate = other.place(Transport::Udp, "127.0.0.1");
    let first = Server::start_with(Auth::Static, &["--alternate-server", &alternate], |_| {});
    let peer = UdpEcho::start("127.0.0.1:0");
    let peer = format!("udp://{}", peer.address());
    let start = || first.turncat("udp://127.0.0.1:0", Transport::Udp, "127.0.0.1", &peer, &[]);
    // The second one keeps the first server from ending at once.
    let (mut turncat, mut keeper) = (start(), start());
    let mut client = Client::connect(&turncat.ready());
    client.echoes(b"before");
    let first_session = first.sessions();
    let mut holding = Client::connect(&keeper.ready());
    holding.echoes(b"before");
    first.stunnerd.terminate();
    let draining = wait_until(PATIENCE, || first.stunnerd.ready_status() == Some(503));
    assert!(draining);
    client.echoes(b"while it drains");
    for id in first_session {
        let path = format!("/api/v1/sessions/{id}");
        let host = first.stunnerd.admin_address();
        interop_tests::http::request("DELETE", host, &path, None, PATIENCE).expect("an answer");
    }
    client.echoes_in_the_end("after");
    assert_eq!(other.sessions().len(), 1, "the other server has it now");
    // Newcomers of the same process too.
    Client::connect(&turncat.ready()).echoes_in_the_end("newcomer");
    let ended = turncat.interrupt();
    assert_eq!(ended.code, Some(0));
    let line = format!("turn:{alternate}?transport=udp: sent ");
    assert!(ended.stderr.contains(&line), "{}", ended.stderr);
    drop(keeper);
}

/// A drain lets those who are there be. When it is over and nothing is left at the address, they go where newcomers were
/// sent meanwhile.
#[test]
fn a_drained_server_that_has_ended_is_followed_to_the_alternate() {
    let other = Server::start(Auth::Static);
    for transport in Transport::ALL {
        let alternate = other.place(transport, "127.0.0.1");
        let first = Server::start_with(Auth::Static, &["--alternate-server", &alternate], |_| {});
        let peer = UdpEcho::start("127.0.0.1:0");
        let peer = format!("udp://{}", peer.address());
        // The other server has its certificate from another authority.
        let flags = ["--insecure"];
        let mut turncat = first.turncat("udp://127.0.0.1:0", transport, "127.0.0.1", &peer, &flags);
        let end = turncat.ready();
        let mut client = Client::connect(&end);
        client.echoes(b"before");
        first.stunnerd.terminate();
        let draining = wait_until(PATIENCE, || first.stunnerd.ready_status() == Some(503));
        assert!(draining);
        Client::connect(&end).echoes_in_the_end("newcomer");
        client.echoes(b"while it drains");
        let Server { stunnerd, dir, .. } = first;
        drop(stunnerd);
        client.echoes_in_the_end("after");
        let ended = turncat.interrupt();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let there = ended
            .stderr
            .lines()
            .find(|line| line.contains(&format!(":{alternate}?")));
        let both = there.is_some_and(|line| counted(line, "allocation") >= 2);
        assert!(both, "{transport:?}: {}", ended.stderr);
        drop(dir);
    }
}

/// A process that is stopped, or a network that is cut: nothing refuses, nothing answers.
#[test]
fn a_server_that_freezes_and_comes_back_is_told() {
    let server = Server::start(Auth::Static);
    let (udp, tcp) = (UdpEcho::start("127.0.0.1:0"), TcpEcho::start("127.0.0.1:0"));
    let (udp, tcp) = (
        format!("udp://{}", udp.address()),
        format!("tcp://{}", tcp.address()),
    );
    let mut ends = Vec::new();
    for (transport, peer) in [
        (Transport::Udp, &udp),
        (Transport::Tls, &udp),
        (Transport::Tcp, &tcp),
    ] {
        let mut turncat = server.turncat("tcp://127.0.0.1:0", transport, "127.0.0.1", peer, &[]);
        let mut client = Client::connect(&turncat.ready());
        client.echoes(b"before");
        ends.push((turncat, client));
    }
    server.stunnerd.process().signal(libc::SIGSTOP);
    for (_, client) in &mut ends {
        client.send(b"meanwhile");
    }
    for (turncat, _) in &mut ends {
        turncat.wait_stderr("does not answer");
    }
    server.stunnerd.process().signal(libc::SIGCONT);
    for (turncat, _) in &mut ends {
        turncat.wait_stderr("answers again");
    }
}

/// What a stream says while its server is away is kept, not lost.
#[test]
fn a_stream_waits_while_its_server_is_away() {
    let server = Server::start(Auth::Static);
    let config = server.stunnerd.config().clone();
    let peer = UdpEcho::start("127.0.0.1:0");
    let peer = format!("udp://{}", peer.address());
    let mut turncat = server.turncat("tcp://127.0.0.1:0", Transport::Tcp, "127.0.0.1", &peer, &[]);
    let mut client = Client::connect(&turncat.ready());
    client.echoes(b"before");
    let Server { stunnerd, dir, .. } = server;
    drop(stunnerd);
    turncat.wait_stderr("trying again");
    client.send(b"meanwhile");
    let again = Stunnerd::start(&config);
    assert!(client.receives(b"meanwhile", PATIENCE));
    drop((again, dir));
}

#[test]
fn a_server_that_does_not_come_back_lets_clients_go() {
    let server = Server::start(Auth::Static);
    let peer = UdpEcho::start("127.0.0.1:0");
    let peer = format!("udp://{}", peer.address());
    let flags = ["--reconnect-timeout", "1s"];
    let mut stdin = server.turncat("-", Transport::Tcp, "127.0.0.1", &peer, &flags);
    stdin.write(b"before");
    assert!(wait_until(PATIENCE, || stdin.stdout() == b"before"));
    let mut turncat = server.turncat(
        "tcp://127.0.0.1:0",
        Transport::Tcp,
        "127.0.0.1",
        &peer,
        &flags,
    );
    let mut client = Client::connect(&turncat.ready());
    client.echoes(b"before");
    let Server { stunnerd, dir, .. } = server;
    drop(stunnerd);
    turncat.wait_stderr("client let go");
    let ended = stdin.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("error: nothing listens at"),
        "{}",
        ended.stderr
    );
    // The others go on waiting for new clients.
    assert_eq!(turncat.interrupt().code, Some(0));
    drop(dir);
}

/// What was sent is sent, and what was answered is answered: nothing needs the server any more.
#[test]
fn the_end_of_standard_input_is_no_problem_while_the_server_is_away_unless_something_is_left_to_send()
 {
    for (left, code) in [(&b""[..], 0), (b"left", 1)] {
        let server = Server::start(Auth::Static);
        let peer = UdpEcho::start("127.0.0.1:0");
        let peer = format!("udp://{}", peer.address());
        // Long enough to show that it is not awaited, or to be awaited.
        let patience = if left.is_empty() { "10m" } else { "2s" };
        let flags = ["--reconnect-timeout", patience];
        let mut turncat = server.turncat("-", Transport::Tcp, "127.0.0.1", &peer, &flags);
        turncat.write(b"before");
        assert!(wait_until(PATIENCE, || turncat.stdout() == b"before"));
        server.stunnerd.process().signal(libc::SIGKILL);
        turncat.wait_stderr("trying again");
        if !left.is_empty() {
            turncat.write(left);
        }
        turncat.close_stdin();
        let ended = turncat.end();
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    }
}
