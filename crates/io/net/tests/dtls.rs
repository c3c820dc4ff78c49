//! DTLS sessions against clients of the OpenSSL library (in memory) and command line.

mod certificates;
mod dtls_client;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use certificates::{Form, Kind, Made, make};
use dtls_client::Client;
use openssl::ssl::ErrorCode;
use stunner_net::dtls::{
    Datagrams, DtlsContext, DtlsError, DtlsListener, DtlsSession, Listen, MAX_RECORD,
    is_client_hello,
};
use stunner_net::identity::{Identity, IdentityError};
use stunner_net::udp::{RecvBatch, SendBatch, UdpOptions, UdpSocket};

fn context(made: &Made) -> DtlsContext {
    DtlsContext::new(
        &Identity::from_pem(&made.chain, &made.key).unwrap(),
        [7; 32],
    )
    .unwrap()
}

fn addr(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

/// Runs a handshake to its end; the session, and the client.
fn connect(
    listener: &mut DtlsListener,
    mut client: Client,
    from: SocketAddr,
) -> (Box<DtlsSession>, Client) {
    let mut session: Option<Box<DtlsSession>> = None;
    for _ in 0..20 {
        let mut out = Datagrams::new();
        for datagram in client.take_outgoing() {
            match &mut session {
                Some(session) => session
                    .feed(&datagram, &mut out, &mut |_| panic!("no data yet"))
                    .unwrap(),
                None => {
                    if let Listen::Accepted(accepted) = listener.listen(from, &datagram, &mut out) {
                        session = Some(accepted);
                    }
                }
            }
        }
        assert!(
            out.iter().all(|datagram| datagram.len() <= 1200),
            "handshake datagrams fit every path"
        );
        client.give(&out);
        client = client.go_on();
        if let (Client::Done(_), Some(one)) = (&client, &session)
            && !one.is_handshaking()
        {
            return (session.unwrap(), client);
        }
    }
    panic!("no handshake within 20 rounds");
}

fn echo(session: &mut DtlsSession, client: &mut Client, message: &[u8]) {
    let mut out = Datagrams::new();
    client.stream().ssl_write(message).unwrap();
    let mut received = Vec::new();
    for datagram in client.take_outgoing() {
        session
            .feed(&datagram, &mut out, &mut |record| {
                received.push(record.to_vec())
            })
            .unwrap();
    }
    assert_eq!(received, [message]);
    session.send(message, &mut out).unwrap();
    assert_eq!(out.len(), 1);
    client.give(&out);
    let mut answer = vec![0; message.len()];
    assert_eq!(
        client.stream().ssl_read(&mut answer).unwrap(),
        message.len()
    );
    assert_eq!(answer, message);
}

#[test]
fn every_kind_of_certificate_serves_a_client_that_verifies_it() {
    let cases = [
        (Kind::Rsa2048, Form::Traditional, 1),
        (Kind::Rsa2048, Form::Pkcs8, 2),
        (Kind::P256, Form::Traditional, 2),
        (Kind::P384, Form::Pkcs8, 3),
        (Kind::Rsa4096, Form::Pkcs8, 4),
    ];
    for (kind, form, length) in cases {
        let made = make(kind, form, length);
        let mut listener = DtlsListener::new(&context(&made)).unwrap();
        let client = Client::new(&made, None, 1200);
        let (mut session, mut client) = connect(&mut listener, client, addr(1));
        for len in [1, 1200, MAX_RECORD] {
            echo(&mut session, &mut client, &vec![5; len]);
        }
        session.release_buffers();
        echo(&mut session, &mut client, b"again, with new buffers");
    }
}

#[test]
fn a_session_without_buffers_can_be_written_to_timed_out_and_closed() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let mut listener = DtlsListener::new(&context(&made)).unwrap();
    let quiet = |listener: &mut DtlsListener| {
        let (mut session, client) = connect(listener, Client::new(&made, None, 1200), addr(1));
        session.release_buffers();
        session.release_buffers();
        (session, client)
    };
    let mut out = Datagrams::new();

    let (mut session, mut client) = quiet(&mut listener);
    session.send(b"the server speaks first", &mut out).unwrap();
    assert_eq!(out.len(), 1);
    echo(&mut session, &mut client, b"and goes on");

    let (mut session, _client) = quiet(&mut listener);
    session.on_timeout(&mut out).unwrap();

    let (mut session, _client) = quiet(&mut listener);
    out.clear();
    session.close(&mut out);
    assert_eq!(out.len(), 1, "close_notify");

    drop(quiet(&mut listener));
}

#[test]
fn a_key_that_dtls_cannot_use_is_refused_at_once() {
    let made = make(Kind::Ed25519, Form::Pkcs8, 1);
    let identity = Identity::from_pem(&made.chain, &made.key).unwrap();
    let refused = DtlsContext::new(&identity, [0; 32]).unwrap_err();
    assert_eq!(refused, IdentityError::NotForDtls);
}

#[test]
fn rfc6347_4_2_1_nothing_is_kept_before_a_valid_cookie() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let mut listener = DtlsListener::new(&context(&made)).unwrap();
    let mut client = Client::new(&made, None, 1200);
    let hello = client.take_outgoing().remove(0);
    assert!(is_client_hello(&hello));
    // The same hello from many addresses: an answer each, smaller than the question, no session.
    for port in 1..200 {
        let mut replies = Datagrams::new();
        assert!(matches!(
            listener.listen(addr(port), &hello, &mut replies),
            Listen::Reply
        ));
        assert_eq!(replies.len(), 1);
        assert!(replies.iter().all(|reply| reply.len() < hello.len()));
    }
    let mut replies = Datagrams::new();
    listener.listen(addr(1), &hello, &mut replies);
    client.give(&replies);
    let mut client = client.go_on();
    let hello = client.take_outgoing().remove(0);
    // The cookie is good for its address, on any shard, and for no other address.
    replies.clear();
    assert!(matches!(
        listener.listen(addr(2), &hello, &mut replies),
        Listen::Reply
    ));
    let mut other_shard = DtlsListener::new(&context(&made)).unwrap();
    for listener in [&mut listener, &mut other_shard] {
        replies.clear();
        let Listen::Accepted(session) = listener.listen(addr(1), &hello, &mut replies) else {
            panic!("the cookie is valid");
        };
        assert!(session.is_handshaking());
        assert!(!replies.is_empty(), "the first flight");
    }
    // The listener is ready for the next client.
    let (mut session, mut client) = connect(&mut listener, Client::new(&made, None, 1200), addr(3));
    echo(&mut session, &mut client, b"next");
}

#[test]
fn a_cookie_survives_a_change_of_key_and_of_certificate() {
    let (made, renewed) = (
        make(Kind::P256, Form::Pkcs8, 1),
        make(Kind::P256, Form::Pkcs8, 1),
    );
    let context_before = context(&made);
    let mut listener = DtlsListener::new(&context_before).unwrap();
    let mut client = Client::new(&renewed, None, 1200);
    let mut replies = Datagrams::new();
    listener.listen(addr(1), &client.take_outgoing()[0], &mut replies);
    client.give(&replies);
    let client = client.go_on();
    context_before.rotate_cookie_key([8; 32]);
    let mut after = DtlsListener::new(&context(&renewed)).unwrap();
    let (mut session, mut client) = connect(&mut after, client, addr(1));
    echo(&mut session, &mut client, b"hello");
}

#[test]
fn a_fragmented_hello_is_taken_when_its_first_fragment_has_the_cookie() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let mut listener = DtlsListener::new(&context(&made)).unwrap();
    // A hello beyond this MTU, by way of a long list of protocols.
    let mut alpn = Vec::new();
    for number in 0..12 {
        alpn.push(40);
        alpn.extend(format!("protocol-{number:031}").as_bytes());
    }
    alpn.extend(b"\x09stun.turn");
    let client = Client::new(&made, Some(&alpn), 256);
    let (mut session, mut client) = connect(&mut listener, client, addr(1));
    assert_eq!(session.alpn(), Some(&b"stun.turn"[..]));
    echo(&mut session, &mut client, b"in pieces");
}

#[test]
fn rfc7443_3_alpn_is_taken_when_offered_and_never_insisted_on() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let mut listener = DtlsListener::new(&context(&made)).unwrap();
    let turn = Some(&b"stun.turn"[..]);
    let cases = [
        (None, None),
        (Some(&b"\x06webrtc\x09stun.turn"[..]), turn),
        (Some(&b"\x06webrtc"[..]), None),
    ];
    for (offered, agreed) in cases {
        let (session, mut client) =
            connect(&mut listener, Client::new(&made, offered, 1200), addr(1));
        assert_eq!(session.alpn(), agreed);
        assert_eq!(client.stream().ssl().selected_alpn_protocol(), agreed);
    }
}

#[test]
fn rfc6347_4_2_4_a_lost_flight_is_sent_again() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let mut listener = DtlsListener::new(&context(&made)).unwrap();
    let mut client = Client::new(&made, None, 1200);
    let mut out = Datagrams::new();
    listener.listen(addr(1), &client.take_outgoing()[0], &mut out);
    client.give(&out);
    let mut client = client.go_on();
    out.clear();
    let Listen::Accepted(mut session) =
        listener.listen(addr(1), &client.take_outgoing()[0], &mut out)
    else {
        panic!("the cookie is valid");
    };
    // The server's flight is lost.
    out.clear();
    let left = session.deadline().expect("a flight waits for its answer");
    assert!(left > Duration::from_millis(500) && left <= Duration::from_secs(1));
    session.on_timeout(&mut out).unwrap();
    assert!(out.is_empty(), "too early");
    std::thread::sleep(left + Duration::from_millis(5));
    session.on_timeout(&mut out).unwrap();
    assert!(!out.is_empty(), "the flight again");
    assert!(session.deadline().unwrap() > left, "and twice the time");
    client.give(&out);
    client = client.go_on();
    // The client's flight arrives twice, as retransmissions do.
    out.clear();
    for datagram in client.take_outgoing() {
        session.feed(&datagram, &mut out, &mut |_| {}).unwrap();
        session.feed(&datagram, &mut out, &mut |_| {}).unwrap();
    }
    client.give(&out);
    client = client.go_on();
    assert!(!session.is_handshaking());
    assert_eq!(session.deadline(), None);
    echo(&mut session, &mut client, b"after all");
}

#[test]
fn several_records_in_one_datagram_are_all_delivered() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let mut listener = DtlsListener::new(&context(&made)).unwrap();
    let (mut session, mut client) = connect(&mut listener, Client::new(&made, None, 1200), addr(1));
    for message in ["one", "two", "three"] {
        client.stream().ssl_write(message.as_bytes()).unwrap();
    }
    let joined = client.take_outgoing().concat();
    let mut received = Vec::new();
    let mut out = Datagrams::new();
    session
        .feed(&joined, &mut out, &mut |record| {
            received.push(record.to_vec())
        })
        .unwrap();
    assert_eq!(received, [&b"one"[..], b"two", b"three"]);
}

#[test]
fn what_is_not_part_of_the_session_is_passed_over() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let mut listener = DtlsListener::new(&context(&made)).unwrap();
    let (mut session, mut client) = connect(&mut listener, Client::new(&made, None, 1200), addr(1));
    let mut out = Datagrams::new();
    client.stream().ssl_write(b"genuine").unwrap();
    let genuine = client.take_outgoing().remove(0);
    assert!(!is_client_hello(&genuine));
    let mut damaged = genuine.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let large = vec![23; 65_000];
    for junk in [&damaged[..], b"", b"x", &[0; 100], &genuine[..20], &large] {
        session
            .feed(junk, &mut out, &mut |_| panic!("not genuine"))
            .unwrap();
    }
    let mut count = 0;
    session
        .feed(&genuine, &mut out, &mut |record| {
            assert_eq!(record, b"genuine");
            count += 1;
        })
        .unwrap();
    // A replay is dropped (RFC 6347 §4.1.2.6).
    session
        .feed(&genuine, &mut out, &mut |_| count += 1)
        .unwrap();
    assert_eq!((count, out.len()), (1, 0));
}

#[test]
fn a_listener_ignores_what_is_no_hello() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let mut listener = DtlsListener::new(&context(&made)).unwrap();
    let hello = Client::new(&made, None, 1200).take_outgoing().remove(0);
    let mut replies = Datagrams::new();
    let mut old = hello.clone();
    // The version inside the hello: DTLS 1.0 at most.
    old[25..27].copy_from_slice(&[0xfe, 0xff]);
    for len in 0..hello.len() {
        assert!(
            matches!(
                listener.listen(addr(1), &hello[..len], &mut replies),
                Listen::Ignored
            ),
            "{len}"
        );
    }
    for junk in [&b""[..], b"GET /", &[22; 60_000], &[0xff; 13]] {
        assert!(matches!(
            listener.listen(addr(1), junk, &mut replies),
            Listen::Ignored
        ));
    }
    assert!(replies.is_empty());
    assert!(matches!(
        listener.listen(addr(1), &hello, &mut replies),
        Listen::Reply
    ));
}

#[test]
fn messages_beyond_a_record_and_before_the_handshake_are_refused() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let mut listener = DtlsListener::new(&context(&made)).unwrap();
    let mut client = Client::new(&made, None, 1200);
    let mut out = Datagrams::new();
    listener.listen(addr(1), &client.take_outgoing()[0], &mut out);
    client.give(&out);
    let mut client = client.go_on();
    let Listen::Accepted(mut session) =
        listener.listen(addr(1), &client.take_outgoing()[0], &mut out)
    else {
        panic!("the cookie is valid");
    };
    assert_eq!(
        session.send(b"too early", &mut out),
        Err(DtlsError::Handshaking)
    );
    let (mut session, mut client) = connect(&mut listener, Client::new(&made, None, 1200), addr(2));
    out.clear();
    assert_eq!(
        session.send(&vec![0; MAX_RECORD + 1], &mut out),
        Err(DtlsError::TooBig(MAX_RECORD + 1))
    );
    assert!(out.is_empty());
    echo(&mut session, &mut client, b"still well");
}

#[test]
fn both_sides_can_say_goodbye() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let mut listener = DtlsListener::new(&context(&made)).unwrap();
    let (mut session, mut client) = connect(&mut listener, Client::new(&made, None, 1200), addr(1));
    let mut out = Datagrams::new();
    client.stream().shutdown().unwrap();
    for datagram in client.take_outgoing() {
        session.feed(&datagram, &mut out, &mut |_| {}).unwrap();
    }
    assert!(session.peer_closed());
    session.close(&mut out);
    assert_eq!(out.len(), 1, "close_notify in turn");
    assert_eq!(session.send(b"x", &mut out), Err(DtlsError::Closed));

    let (mut session, mut client) = connect(&mut listener, Client::new(&made, None, 1200), addr(2));
    out.clear();
    session.close(&mut out);
    client.give(&out);
    let error = client.stream().ssl_read(&mut [0; 10]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ZERO_RETURN);
}

#[test]
fn a_thousand_sessions_live_side_by_side_and_move_between_threads() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let mut listener = DtlsListener::new(&context(&made)).unwrap();
    let mut sessions: Vec<_> = (0..1000)
        .map(|port| connect(&mut listener, Client::new(&made, None, 1200), addr(port)))
        .collect();
    let (half, rest) = sessions.split_at_mut(500);
    std::thread::scope(|scope| {
        for part in [half, rest] {
            let mut part: Vec<_> = part
                .iter_mut()
                .map(|(session, client)| (session, client.stream()))
                .collect();
            scope.spawn(move || {
                for (number, (session, client)) in part.iter_mut().enumerate() {
                    let message = format!("message {number}");
                    client.ssl_write(message.as_bytes()).unwrap();
                    let mut count = 0;
                    for datagram in std::mem::take(&mut client.get_mut().outgoing) {
                        session
                            .feed(&datagram, &mut Datagrams::new(), &mut |record| {
                                assert_eq!(record, message.as_bytes());
                                count += 1;
                            })
                            .unwrap();
                    }
                    assert_eq!(count, 1);
                }
            });
        }
    });
}

#[test]
fn openssl_s_client_gets_an_echo_over_udp() {
    for (kind, length) in [
        (Kind::Rsa2048, 1),
        (Kind::P256, 2),
        (Kind::P384, 2),
        (Kind::Rsa4096, 4),
    ] {
        let made = make(kind, Form::Traditional, length);
        let root = std::env::temp_dir().join(format!(
            "stunner-net-dtls-{}-{kind:?}.pem",
            std::process::id()
        ));
        std::fs::write(&root, &made.root).unwrap();
        let socket =
            UdpSocket::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::listener()).unwrap();
        let mut openssl = Command::new("openssl")
            .args([
                "s_client",
                "-quiet",
                "-dtls1_2",
                "-mtu",
                "1200",
                "-verify_return_error",
                "-CAfile",
            ])
            .arg(&root)
            .args(["-connect", &socket.local_addr().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        openssl
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"ping over DTLS\n")
            .unwrap();
        serve_until_echo(&socket, &context(&made));
        let mut answer = [0; 15];
        openssl
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut answer)
            .unwrap();
        assert_eq!(&answer, b"ping over DTLS\n");
        openssl.kill().unwrap();
        openssl.wait().unwrap();
        std::fs::remove_file(root).unwrap();
    }
}

/// A small DTLS server: listener, sessions by address, timers.
fn serve_until_echo(socket: &UdpSocket, context: &DtlsContext) {
    let mut listener = DtlsListener::new(context).unwrap();
    let mut sessions: HashMap<SocketAddr, Box<DtlsSession>> = HashMap::new();
    let (mut received, mut storage) = (RecvBatch::new(8).unwrap(), SendBatch::new());
    let end = Instant::now() + Duration::from_secs(20);
    let mut echoed = false;
    while !echoed {
        assert!(Instant::now() < end, "no echo in time");
        let count = received.recv(socket, 0, 8).unwrap();
        for slot in 0..count {
            let group = received.get(slot);
            for datagram in group.datagrams() {
                let mut out = Datagrams::new();
                if let Some(session) = sessions.get_mut(&group.from) {
                    let mut messages = Vec::new();
                    session
                        .feed(datagram, &mut out, &mut |record| {
                            messages.push(record.to_vec())
                        })
                        .unwrap();
                    for message in messages {
                        session.send(&message, &mut out).unwrap();
                        echoed = true;
                    }
                } else if let Listen::Accepted(session) =
                    listener.listen(group.from, datagram, &mut out)
                {
                    sessions.insert(group.from, session);
                }
                let mut batch = storage.begin();
                for reply in out.iter() {
                    batch
                        .push(group.from, group.local_ip, &[], reply, 0)
                        .unwrap();
                }
                batch.flush(socket);
            }
        }
        for (client, session) in &mut sessions {
            let mut out = Datagrams::new();
            session.on_timeout(&mut out).unwrap();
            for reply in out.iter() {
                socket.send_to(*client, reply).unwrap();
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
