//! Quota, relay ports, unauthenticated floods, broken streams, and replies on a host with several addresses.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::{REALM, Transport};
use interop_tests::ports::free_range;
use interop_tests::process::wait_until;
use interop_tests::scene::{CHANNEL, Scene};
use serde_json::json;
use stunner_stun::{Class, Message, MessageWriter, Method, TransactionId, attr};

/// Generous, because machines run tests while they compile something else.
const SOON: Duration = Duration::from_secs(20);

/// Clients come from many ports, so SO_REUSEPORT spreads them over the shards; the count is one.
#[test]
fn the_user_quota_is_exact_across_shards_and_transports() {
    let scene = Scene::start_with(&["--udp-thread-num", "2"], |config| {
        config.0["admin"]["user_quota"] = 10.into();
    });
    let mut clients = Vec::new();
    let (mut granted, mut refused) = (0, 0);
    for number in 0..40 {
        let mut client = scene.client(Transport::ALL[number % 4]);
        match client.allocate() {
            Ok(_) => granted += 1,
            Err(refusal) => {
                assert_eq!(
                    refusal.code(),
                    Some(486),
                    "allocation {number}: {refusal:?}"
                );
                refused += 1;
            }
        }
        clients.push(client);
    }
    assert_eq!((granted, refused), (10, 30));
    // What ends makes room for exactly as many.
    let mut freed = 0;
    for client in &mut clients {
        if freed < 4 && client.refresh(0).is_ok() {
            freed += 1;
        }
    }
    assert_eq!(freed, 4);
    let again = (0..8).filter(|_| scene_allocates(&scene)).count();
    assert_eq!(again, 4, "four ended, so four more fit");
}

/// A UDP allocation that stays when its client goes.
fn scene_allocates(scene: &Scene) -> bool {
    scene.client(Transport::Udp).allocate().is_ok()
}

#[test]
fn the_quota_counts_users_not_user_names() {
    let scene = Scene::start_with(&[], |config| {
        config.0["admin"]["user_quota"] = 1.into();
        config.0["auth"] =
            json!({ "type": "ephemeral", "realm": REALM, "credentials": { "secret": "s" } });
    });
    let expiry = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("now")
        .as_secs()
        + 600;
    let allocate = |user: String| {
        scene
            .client(Transport::Udp)
            .with_credentials(Credentials::ephemeral(&user, "s"))
            .allocate()
            .err()
            .and_then(|r| r.code())
    };
    assert_eq!(allocate(format!("{expiry}:alice")), None);
    assert_eq!(
        allocate(format!("{}:alice", expiry + 1)),
        Some(486),
        "the same user with a newer credential"
    );
    assert_eq!(allocate(format!("{expiry}:bob")), None);
}

#[test]
fn an_exhausted_relay_port_range_gives_508_and_recovers() {
    let (low, high) = free_range(6);
    let range = format!("{low}-{high}");
    let scene = Scene::start_with(&["--relay-port-range", &range], |config| {
        config.listener("udp")["address"] = "127.0.0.1".into();
    });
    let mut clients: Vec<TurnClient> = (0..6).map(|_| scene.client(Transport::Udp)).collect();
    for client in &mut clients {
        let relayed = client.allocate().expect("a port is left");
        assert!(
            (low..=high).contains(&relayed.port()),
            "{relayed} is outside {range}"
        );
    }
    assert_eq!(
        scene
            .client(Transport::Udp)
            .allocate()
            .expect_err("no port is left")
            .code(),
        Some(508)
    );
    clients[0].refresh(0).expect("delete");
    let freed = wait_until(SOON, || scene_allocates(&scene));
    assert!(freed, "the port of an ended allocation is not used again");
    assert_eq!(
        scene
            .client(Transport::Udp)
            .allocate()
            .expect_err("none again")
            .code(),
        Some(508)
    );
}

/// RFC 8656 7.2: EVEN-PORT with the R bit reserves the next port for the token.
#[test]
fn rfc8656_7_2_a_reserved_port_is_really_reserved() {
    let scene = Scene::start();
    let mut first = scene.client(Transport::Udp);
    let response = first
        .allocate_with(|writer| {
            writer.even_port(true);
        })
        .expect("allocate an even port");
    let relayed = response.relayed().expect("relayed");
    assert_eq!(relayed.port() % 2, 0, "{relayed}");
    let token = response
        .message()
        .reservation_token()
        .expect("a token")
        .expect("of eight bytes");
    let next = SocketAddr::new(relayed.ip(), relayed.port() + 1);
    assert!(
        UdpSocket::bind(next).is_err(),
        "the reserved port {next} is free for others"
    );
    let response = scene
        .client(Transport::Tcp)
        .allocate_with(|writer| {
            writer.reservation_token(&token);
        })
        .expect("allocate the reserved port");
    assert_eq!(response.relayed(), Some(next));
}

/// On a host with several addresses the reply must come from the one that was asked, or clients drop it.
#[test]
fn replies_leave_from_the_address_the_request_came_to() {
    let scene = Scene::start();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bind");
    socket.set_read_timeout(Some(SOON)).expect("timeout");
    for host in [
        [127, 0, 0, 1],
        [127, 0, 0, 2],
        [127, 0, 0, 3],
        [127, 8, 8, 8],
    ] {
        let server = SocketAddr::from((host, scene.server.config().port("udp")));
        socket.send_to(&binding_request(), server).expect("send");
        let mut buffer = [0; 512];
        let (length, from) = socket.recv_from(&mut buffer).expect("an answer");
        assert_eq!(from, server, "the answer comes from another address");
        assert_eq!(
            Message::parse(&buffer[..length]).expect("STUN").class(),
            Class::Success
        );
    }
    // A whole session through the second address, DTLS too.
    for transport in [Transport::Udp, Transport::Dtls] {
        let server =
            SocketAddr::from(([127, 0, 0, 2], scene.server.config().port(transport.name())));
        scene
            .client_at(transport, server)
            .join(CHANNEL, scene.peer.address());
    }
}

fn binding_request() -> Vec<u8> {
    let mut buffer = [0; 64];
    let writer = MessageWriter::new(
        &mut buffer,
        Class::Request,
        Method::BINDING,
        TransactionId([3; 12]),
    );
    let length = writer.finish().expect("fits");
    buffer[..length].to_vec()
}

/// A wildcard `address` means the local address that the client's packet came to.
#[test]
fn a_wildcard_listener_relays_from_the_address_the_client_used() {
    let scene = Scene::start_with(&[], |config| {
        for transport in Transport::ALL {
            config.listener(transport.name())["address"] = "0.0.0.0".into();
        }
    });
    for transport in Transport::ALL {
        for host in [[127, 0, 0, 1], [127, 0, 0, 2]] {
            let server = SocketAddr::from((host, scene.server.config().port(transport.name())));
            let relayed = scene
                .client_at(transport, server)
                .join(CHANNEL, scene.peer.address());
            assert_eq!(relayed.ip(), server.ip(), "{transport:?}");
        }
    }
}

#[test]
fn challenges_are_limited_per_source_and_small() {
    let scene = Scene::start_with(&["--unauth-rate-limit", "20"], |config| {
        config.0["auth"]["realm"] = "stunner.l7mp.io".into();
    });
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bind");
    socket
        .connect(scene.address(Transport::Udp))
        .expect("connect");
    socket
        .set_read_timeout(Some(Duration::from_millis(100)))
        .expect("timeout");
    let mut request = [0; 64];
    let mut writer = MessageWriter::new(
        &mut request,
        Class::Request,
        Method::ALLOCATE,
        TransactionId([9; 12]),
    );
    writer.requested_transport(17);
    let length = writer.finish().expect("fits");
    let begun = Instant::now();
    for _ in 0..200 {
        socket.send(&request[..length]).expect("send");
    }
    let (mut answers, mut largest, mut last) = (0, 0, Duration::ZERO);
    let mut buffer = [0; 1500];
    // Until every request is accounted for, but for a few that the kernel may drop. Shards publish in their own time.
    let dropped = || scene.server.metric("stunner_dropped_packets_total", &[]);
    let counted = wait_until(SOON, || {
        while let Ok(length) = socket.recv(&mut buffer) {
            answers += 1;
            largest = largest.max(length);
            last = begun.elapsed();
        }
        f64::from(answers) + dropped() >= 190.0
    });
    // A machine that takes its time over 200 requests has more of them answered.
    let most = 45 + 20 * last.as_secs() as u32;
    assert!(
        (10..=most).contains(&answers),
        "{answers} challenges for 200 requests at 20 per second in {last:?}"
    );
    // Counted with IPv4 and UDP headers, at most 2.5 times the smallest Allocate.
    assert!(
        (largest + 28) * 2 <= (length + 28) * 5,
        "a challenge of {largest} bytes for a request of {length}"
    );
    assert!(
        counted,
        "the excess is not counted: {answers} answers, {} dropped",
        dropped()
    );
}

#[test]
fn garbage_on_a_stream_is_closed_at_once() {
    let scene = Scene::start();
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xff; 64],
        &[0, 1, 0, 8, 0, 0, 0, 0, 1, 2, 3, 4],
    ] {
        let mut stream = TcpStream::connect(scene.address(Transport::Tcp)).expect("connect");
        stream.set_read_timeout(Some(SOON)).expect("timeout");
        stream.write_all(garbage).expect("write");
        // Closed or reset. A stream that is kept open lets the read run out of time.
        let ended = stream.read(&mut [0; 64]);
        let is_closed = match &ended {
            Ok(length) => *length == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        };
        assert!(is_closed, "answered garbage, or kept it: {ended:?}");
    }
}

/// A server that lets one client's broken datagrams disturb another's session would be easy to take down.
#[test]
fn garbage_datagrams_disturb_nobody() {
    let scene = Scene::start();
    let mut sessions = scene.sessions();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bind");
    for transport in [Transport::Udp, Transport::Dtls] {
        let server = scene.address(transport);
        for length in 0..600_usize {
            let bytes: Vec<u8> = (0..length)
                .map(|index| (index * 31 + length * 7) as u8)
                .collect();
            let _ = socket.send_to(&bytes, server);
        }
    }
    // What waits before a request of the session has been dealt with once that is answered, and no packet finds the
    // socket full of garbage.
    for session in &mut sessions {
        session.refresh(600).expect("refresh after garbage");
    }
    interop_tests::scene::assert_alive(&mut sessions, "after garbage");
}

/// What a transport can carry passes, nothing is cut short: 65,507 bytes is all that UDP has.
#[test]
fn large_messages_pass_or_are_dropped_whole() {
    let scene = Scene::start();
    for transport in Transport::ALL {
        let mut session = scene.session(transport);
        let largest = match transport {
            Transport::Udp => 65_507 - 4,
            Transport::Dtls => 16_000,
            Transport::Tcp | Transport::Tls => 65_507,
        };
        for size in [1, 3, 1_500, 9_000, largest] {
            let payload: Vec<u8> = (0..size).map(|index| (index % 251) as u8).collect();
            assert!(
                session.echoes(CHANNEL, &payload),
                "{transport:?}: {size} bytes do not come back"
            );
        }
    }
}

#[test]
fn denied_peers_get_403() {
    let scene = Scene::start();
    let mut client = scene.client(Transport::Udp);
    client.allocate().expect("allocate");
    for peer in [
        "10.1.2.3:9",
        "169.254.169.254:80",
        "127.0.0.7:9",
        "224.0.0.1:9",
        "0.0.0.0:9",
        "255.255.255.255:9",
    ] {
        let peer: SocketAddr = peer.parse().expect("address");
        assert_eq!(
            client.permit(peer).err().and_then(|refusal| refusal.code()),
            Some(403),
            "{peer}"
        );
        assert_eq!(
            client
                .bind(CHANNEL, peer)
                .err()
                .and_then(|refusal| refusal.code()),
            Some(403),
            "{peer}"
        );
    }
    // The server's own listener, although its address is named by the cluster.
    let own = scene.address(Transport::Udp);
    assert_eq!(
        client
            .bind(CHANNEL, own)
            .err()
            .and_then(|refusal| refusal.code()),
        Some(403),
        "its own listener"
    );
    let six: SocketAddr = "[::1]:9".parse().expect("address");
    let refusal = client.request(Method::CREATE_PERMISSION, |writer| {
        writer.xor_address(attr::XOR_PEER_ADDRESS, six);
    });
    assert_eq!(
        refusal.err().and_then(|refusal| refusal.code()),
        Some(443),
        "another family than the relay's"
    );
}
