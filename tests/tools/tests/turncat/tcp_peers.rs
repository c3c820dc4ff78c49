//! Peers over TCP (RFC 6062): streams with both their ends.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use interop_tests::config::Transport;
use interop_tests::echo::TcpEcho;
use interop_tests::process::wait_until;
use interop_tests::{need, skip};

use crate::process::PATIENCE;
use crate::scenery::{Auth, Client, Server, pattern};

const STREAMS: [Transport; 2] = [Transport::Tcp, Transport::Tls];

#[test]
fn streams_echo_over_tcp_and_tls_in_both_families() {
    let families: &[(&str, &str)] = match skip::ipv6() {
        Ok(()) => &[("127.0.0.1", "127.0.0.1:0"), ("[::1]", "[::1]:0")],
        Err(_) => &[("127.0.0.1", "127.0.0.1:0")],
    };
    for auth in [Auth::Static, Auth::Ephemeral] {
        let server = Server::start(auth);
        for (host, peer) in families {
            let peer = TcpEcho::start(peer);
            let peer = format!("tcp://{}", peer.address());
            for transport in STREAMS {
                let path = server
                    .dir
                    .path()
                    .join(format!("{transport:?}{}", host.len()));
                for local in [
                    format!("tcp://{host}:0"),
                    format!("unix://{}", path.display()),
                ] {
                    let mut turncat = server.turncat(&local, transport, host, &peer, &[]);
                    let mut client = Client::connect(&turncat.ready());
                    for size in [1, 1000, 200_000] {
                        client.echoes(&pattern(size));
                    }
                    assert_eq!(turncat.interrupt().code, Some(0), "{transport:?} {local}");
                }
            }
        }
    }
}

/// What `turncat - … < request > answer` is for: the end of the one is told, and that of the other awaited.
#[test]
fn half_closed_streams_carry_the_answer() {
    let server = Server::start(Auth::Static);
    for transport in STREAMS {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let peer = format!("tcp://{}", listener.local_addr().expect("an address"));
        let answering = std::thread::spawn(move || {
            for stream in listener.incoming().take(2) {
                answer_at_the_end(stream.expect("a connection"));
            }
        });
        let mut turncat = server.turncat("tcp://127.0.0.1:0", transport, "127.0.0.1", &peer, &[]);
        let end = turncat.ready();
        let place = end.strip_prefix("tcp://").expect("tcp");
        let mut client = TcpStream::connect(place).expect("connect");
        client.set_read_timeout(Some(PATIENCE)).expect("timeout");
        client.write_all(b"question").expect("write");
        client.shutdown(Shutdown::Write).expect("half-close");
        let mut answer = String::new();
        client
            .read_to_string(&mut answer)
            .expect("the answer and its end");
        assert_eq!(answer, "8 bytes", "{transport:?}");
        drop(turncat);

        let mut turncat = server.turncat("-", transport, "127.0.0.1", &peer, &[]);
        turncat.write(&pattern(100_000));
        turncat.close_stdin();
        let ended = turncat.end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(ended.stdout, b"100000 bytes", "{transport:?}");
        answering.join().expect("the peer");
    }
}

/// Reads to the end, says how much it was, and closes.
fn answer_at_the_end(mut stream: TcpStream) {
    let mut said = Vec::new();
    stream.read_to_end(&mut said).expect("read to the end");
    write!(stream, "{} bytes", said.len()).expect("answer");
}

/// The system ends the connections of a dead process as if it had ended them itself.
#[test]
fn the_death_of_the_server_is_no_end_of_the_peer() {
    for transport in STREAMS {
        let server = Server::start(Auth::Static);
        let peer = TcpEcho::start("127.0.0.1:0");
        let peer = format!("tcp://{}", peer.address());
        let mut turncat = server.turncat("-", transport, "127.0.0.1", &peer, &[]);
        turncat.write(b"before");
        assert!(wait_until(PATIENCE, || turncat.stdout() == b"before"));
        server.stunnerd.process().signal(libc::SIGKILL);
        let ended = turncat.end();
        assert_eq!(ended.code, Some(1), "{transport:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("error: the "), "{}", ended.stderr);
        assert!(ended.stderr.contains("\nhint: "), "{}", ended.stderr);
    }
}

/// A peer that says nothing and never closes holds standard input's process only for `--linger`.
#[test]
fn a_silent_peer_does_not_hold_the_end_of_standard_input() {
    let server = Server::start(Auth::Static);
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let peer = format!("tcp://{}", listener.local_addr().expect("an address"));
    let flags = ["--linger", "500ms"];
    let mut turncat = server.turncat("-", Transport::Tcp, "127.0.0.1", &peer, &flags);
    turncat.write(b"anybody there?");
    turncat.close_stdin();
    assert_eq!(turncat.end().code, Some(0));
}

#[test]
fn a_tcp_peer_needs_a_server_over_tcp_or_tls() {
    let server = Server::start(Auth::Static);
    for (transport, name) in [(Transport::Udp, "UDP"), (Transport::Dtls, "DTLS")] {
        let turncat = server.turncat("-", transport, "127.0.0.1", "tcp://127.0.0.1:9", &[]);
        let ended = turncat.end();
        assert_eq!(ended.code, Some(1));
        let told = format!("error: a `tcp://` peer cannot be reached over {name}");
        assert!(ended.stderr.contains(&told), "{}", ended.stderr);
        assert!(
            ended
                .stderr
                .contains("hint: use `transport=tcp` or `transport=tls`"),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn a_peer_that_refuses_ends_the_client_and_is_told() {
    let server = Server::start(Auth::Static);
    let port = interop_tests::ports::free_port();
    let peer = format!("tcp://127.0.0.1:{port}");
    let ended = server
        .turncat("-", Transport::Tcp, "127.0.0.1", &peer, &[])
        .end();
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("447"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: "), "{}", ended.stderr);
}

#[test]
fn a_megabyte_passes_whole_both_ways() {
    need!("a_megabyte_passes_whole_both_ways", skip::ipv6());
    let server = Server::start(Auth::Static);
    let peer = TcpEcho::start("[::1]:0");
    let peer = format!("tcp://{}", peer.address());
    let mut turncat = server.turncat("tcp://127.0.0.1:0", Transport::Tls, "127.0.0.1", &peer, &[]);
    let end = turncat.ready();
    let stream = TcpStream::connect(end.strip_prefix("tcp://").expect("tcp")).expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
    let sent = pattern(8 << 20);
    let writing = std::thread::spawn({
        let (mut stream, sent) = (stream.try_clone().expect("clone"), sent.clone());
        move || {
            stream.write_all(&sent).expect("write");
            stream.shutdown(Shutdown::Write).expect("half-close");
        }
    });
    let mut back = Vec::new();
    (&stream).read_to_end(&mut back).expect("read to the end");
    writing.join().expect("the writer");
    assert!(
        back == sent,
        "{} of {} bytes came back",
        back.len(),
        sent.len()
    );
}
