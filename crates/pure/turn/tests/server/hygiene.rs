//! Input that is not TURN, and counters.

use stunner_stun::{Class, MessageWriter, Method, TransactionId};
use stunner_turn::ClientTransport;
use stunner_turn::server::{DropReason, FromClient, FromPeer};

use crate::client::TestClient;
use crate::world::World;

const TRANSPORTS: [ClientTransport; 4] = [
    ClientTransport::Udp,
    ClientTransport::Dtls,
    ClientTransport::Tcp,
    ClientTransport::Tls,
];

#[test]
fn garbage_is_dropped_on_datagrams_and_closes_streams() {
    let http = b"GET / HTTP/1.1\r\nHost: turn\r\n\r\n";
    let tls = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    let without_cookie = [0, 1, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for garbage in [&tls[..], &without_cookie, &[], &[0x80; 40], &[0xff; 3]] {
        for transport in TRANSPORTS {
            let mut world = World::new();
            let client = TestClient::new(transport, "198.51.100.1:5000");
            let outcome = world.deliver(&client.path, garbage);
            match transport.is_stream() {
                true => assert_eq!(outcome, FromClient::Close, "{garbage:x?}"),
                false => assert_eq!(outcome, FromClient::Dropped(DropReason::Malformed)),
            }
            assert!(world.sent.is_empty());
        }
    }
    // The letter G begins like a channel number, so HTTP looks like ChannelData of nobody.
    let mut world = World::new();
    let client = TestClient::udp("198.51.100.1:5000");
    let outcome = world.deliver(&client.path, http);
    assert_eq!(outcome, FromClient::Dropped(DropReason::Malformed));
}

#[test]
fn rfc8489_6_3_unknown_methods_and_answers_are_silently_discarded() {
    let mut world = World::new();
    let client = TestClient::udp("198.51.100.1:5000");
    let id = TransactionId([1; 12]);
    for (class, method) in [
        (Class::Request, Method(0x0fe)),
        (Class::Request, Method::SEND),
        (Class::Request, Method::DATA),
        (Class::Request, Method::CONNECTION_ATTEMPT),
        (Class::Indication, Method::DATA),
        (Class::Indication, Method::ALLOCATE),
        (Class::Success, Method::BINDING),
        (Class::Error, Method::ALLOCATE),
    ] {
        let mut buffer = [0; 64];
        let writer = MessageWriter::new(&mut buffer, class, method, id);
        let len = writer.finish().unwrap();
        let outcome = world.deliver(&client.path, &buffer[..len]);
        let expected = FromClient::Dropped(DropReason::Unexpected);
        assert_eq!(outcome, expected, "{class:?} {method:?}");
    }
    assert!(world.sent.is_empty());
}

#[test]
fn a_framed_message_with_a_broken_attribute_does_not_close_the_stream() {
    let mut world = World::new();
    let mut client = TestClient::tcp("198.51.100.1:5000");
    let mut bytes = client.compose(Method::BINDING, |writer| {
        writer.attribute(0x8022, b"abcd");
    });
    bytes[23] = 200;
    let outcome = world.deliver(&client.path, &bytes);
    assert_eq!(outcome, FromClient::Dropped(DropReason::Malformed));
}

/// A xorshift generator: tests have no other source of chance.
fn chance(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn mangled_requests_never_panic_and_leave_the_session_usable() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    let mut state = 0x1234_5678_9abc_def1;
    let templates: Vec<Vec<u8>> = vec![
        client.compose(Method::REFRESH, |writer| {
            writer.lifetime(777);
        }),
        client.compose(Method::CHANNEL_BIND, |writer| {
            writer.channel_number(0x4000).lifetime(1);
        }),
        client.send_indication("10.1.0.1:9", b"data"),
        crate::client::channel_data(0x4000, b"payload"),
    ];
    for _ in 0..20_000 {
        let pick = chance(&mut state) as usize % templates.len();
        let mut bytes = templates[pick].clone();
        for _ in 0..chance(&mut state) % 4 {
            let at = chance(&mut state) as usize % bytes.len();
            bytes[at] = chance(&mut state) as u8;
        }
        bytes.truncate(bytes.len() - (chance(&mut state) as usize % 3) * 2);
        world.deliver(&client.path, &bytes);
    }
    world.sent.clear();
    assert_eq!(world.only(), id);
    world.advance(1);
    assert_eq!(client.refresh(&mut world, None).code(), 200);
}

#[test]
fn everything_is_counted() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.refresh(&mut world, None);
    client.permit(&mut world, &["172.16.0.1:1"]);
    client.ask(&mut world, Method::BINDING, |_| {});
    let dropped = world.peer_sends(id, "10.1.0.1:9", 1);
    assert_eq!(dropped, FromPeer::Dropped(DropReason::NoPermission));
    let stats = world.server.stats();
    let requests: Vec<_> = stats.requests().filter(|(_, n)| *n > 0).collect();
    let expected = [
        ("binding", 1),
        ("allocate", 2),
        ("refresh", 1),
        ("create_permission", 1),
    ];
    assert_eq!(requests, expected);
    assert_eq!(stats.errors().collect::<Vec<_>>(), [(401, 1), (403, 1)]);
    assert_eq!(stats.challenges, 1);
    let drops: Vec<_> = stats.drops().filter(|(_, n)| *n > 0).collect();
    assert_eq!(drops, [(DropReason::NoPermission, 1)]);
    assert_eq!(stats.denials().map(|(_, n)| n).sum::<u64>(), 1);
    assert_eq!(stats.auth_failures().map(|(_, n)| n).sum::<u64>(), 0);
}
