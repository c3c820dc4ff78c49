//! Connect and ConnectionAttempt: RFC 6062 §5.2 and §5.3.

use stunner_config::PeerTransport;
use stunner_config::admission::ClusterId;
use stunner_stun::{Method, attr};
use stunner_turn::AllocationId;
use stunner_turn::server::{ConnectionId, DropReason, Effect, FromClient, FromPeer, Settings};

use crate::client::TestClient;
use crate::world::{World, addr, default_rules, rule, static_auth};

pub fn tcp_allocation(world: &mut World) -> (TestClient, AllocationId) {
    let mut client = TestClient::tcp("198.51.100.1:5000");
    assert_eq!(client.allocate_tcp(world).code(), 200);
    let id = world.only();
    world.effects.clear();
    (client, id)
}

/// The peer connections that the server wants made.
pub fn attempts(world: &mut World) -> Vec<(ConnectionId, String)> {
    world.take(|effect| match effect {
        Effect::ConnectPeer {
            connection, peer, ..
        } => Some((*connection, peer.to_string())),
        _ => None,
    })
}

pub fn closed_peers(world: &mut World) -> Vec<ConnectionId> {
    world.take(|effect| match effect {
        Effect::ClosePeer { connection } => Some(*connection),
        _ => None,
    })
}

pub fn connected(world: &mut World, id: ConnectionId, result: Result<(), ()>) {
    world.server.peer_connected(world.now, id, result);
    world.settle();
}

#[test]
fn rfc6062_5_2_a_connect_is_answered_when_the_peer_is_there() {
    let mut world = World::new();
    let (mut client, id) = tcp_allocation(&mut world);
    assert_eq!(client.connect(&mut world, "10.1.0.1:80"), None);
    let made = world.take(|effect| match effect {
        Effect::ConnectPeer {
            allocation,
            connection,
            relayed,
            peer,
        } => Some((*allocation, *connection, *relayed, *peer)),
        _ => None,
    });
    assert_eq!(made.len(), 1);
    let (allocation, connection, relayed, peer) = made[0];
    assert_eq!(allocation, id);
    assert_eq!(relayed, addr("203.0.113.1:50000"));
    assert_eq!(peer, addr("10.1.0.1:80"));
    assert_eq!(connection.shard(), 3);
    connected(&mut world, connection, Ok(()));
    let answer = world.answer_to(&client.path).unwrap();
    assert_eq!(answer.code(), 200);
    assert!(answer.is_signed_for(&client));
    assert_eq!(answer.message().connection_id(), Some(Ok(connection.0)));
}

#[test]
fn rfc6062_5_2_a_connect_that_fails_gets_447() {
    let mut world = World::new();
    let (mut client, _) = tcp_allocation(&mut world);
    client.connect(&mut world, "10.1.0.1:80");
    let connection = attempts(&mut world)[0].0;
    connected(&mut world, connection, Err(()));
    let answer = world.answer_to(&client.path).unwrap();
    assert_eq!(answer.code(), 447);
    assert!(answer.is_signed_for(&client));
    // The peer can be tried again.
    assert_eq!(client.connect(&mut world, "10.1.0.1:80"), None);
    assert_eq!(attempts(&mut world).len(), 1);
}

#[test]
fn rfc6062_5_2_a_second_connect_to_the_same_peer_gets_446_and_hurts_nothing() {
    let mut world = World::new();
    let (mut client, _) = tcp_allocation(&mut world);
    client.connect(&mut world, "10.1.0.1:80");
    let connection = attempts(&mut world)[0].0;
    for _ in 0..5 {
        let answer = client.connect(&mut world, "10.1.0.1:80").unwrap();
        assert_eq!(answer.code(), 446);
    }
    assert_eq!(client.connect(&mut world, "10.1.0.1:81"), None);
    connected(&mut world, connection, Ok(()));
    assert_eq!(world.answer_to(&client.path).unwrap().code(), 200);
    let answer = client.connect(&mut world, "10.1.0.1:80").unwrap();
    assert_eq!(answer.code(), 446, "also once it is there");
    assert_eq!(client.refresh(&mut world, None).code(), 200);
}

#[test]
fn a_slow_connect_holds_up_nothing_and_gets_447_after_30_seconds() {
    let mut world = World::new();
    let (mut client, _) = tcp_allocation(&mut world);
    client.connect(&mut world, "10.1.0.1:80");
    let slow = attempts(&mut world)[0].0;
    world.advance_ms(10_000);
    client.connect(&mut world, "10.1.0.2:80");
    let quick = attempts(&mut world)[0].0;
    connected(&mut world, quick, Ok(()));
    assert_eq!(world.answer_to(&client.path).unwrap().code(), 200);
    world.advance_ms(19_999);
    assert_eq!(world.answer_to(&client.path), None);
    world.advance_ms(1);
    let answer = world.answer_to(&client.path).unwrap();
    assert_eq!(answer.code(), 447);
    assert_eq!(closed_peers(&mut world), [slow]);
    // An answer that comes too late is nobody's.
    connected(&mut world, slow, Ok(()));
    assert_eq!(world.answer_to(&client.path), None);
}

#[test]
fn a_connect_to_a_denied_peer_or_port_gets_403() {
    let mut world = World::new();
    let ports = (80, 80);
    let cluster = rule(ClusterId(1), PeerTransport::Tcp, "10.1.0.0/16", ports);
    world.set_rules(vec![cluster]);
    let (mut client, _) = tcp_allocation(&mut world);
    for peer in ["172.16.0.1:80", "10.1.0.1:81"] {
        let answer = client.connect(&mut world, peer).unwrap();
        assert_eq!(answer.code(), 403, "{peer}");
    }
    assert_eq!(client.connect(&mut world, "10.1.0.1:80"), None);
}

#[test]
fn a_connect_that_makes_no_sense_is_refused() {
    let mut world = World::new();
    let (mut client, _) = tcp_allocation(&mut world);
    let nothing = client.ask(&mut world, Method::CONNECT, |_| {});
    assert_eq!(nothing.code(), 400);
    let malformed = client.ask(&mut world, Method::CONNECT, |writer| {
        writer.attribute(attr::XOR_PEER_ADDRESS, b"??");
    });
    assert_eq!(malformed.code(), 400);
    let v6 = client.connect(&mut world, "[2001:db8:1::1]:80").unwrap();
    assert_eq!(v6.code(), 443);
    let mut udp = TestClient::tcp("198.51.100.1:6000");
    udp.allocate(&mut world);
    let answer = udp.connect(&mut world, "10.1.0.1:80").unwrap();
    assert_eq!(answer.code(), 400, "not a TCP allocation");
}

#[test]
fn connections_have_a_bound() {
    let settings = Settings {
        max_connections: 2,
        ..Settings::default()
    };
    let mut world = World::build(static_auth("user", "pass"), settings, 0);
    let (mut client, id) = tcp_allocation(&mut world);
    client.permit(&mut world, &["10.1.0.9:1"]);
    assert_eq!(client.connect(&mut world, "10.1.0.1:1"), None);
    assert_eq!(client.connect(&mut world, "10.1.0.1:2"), None);
    let answer = client.connect(&mut world, "10.1.0.1:3").unwrap();
    assert_eq!(answer.code(), 508);
    let peer = addr("10.1.0.9:999");
    assert_eq!(world.server.peer_accepted(world.now, id, peer), None);
}

#[test]
fn rfc6062_5_3_a_peer_with_a_permission_is_announced() {
    let mut world = World::new();
    let (mut client, id) = tcp_allocation(&mut world);
    let peer = addr("10.1.0.1:40000");
    assert_eq!(world.server.peer_accepted(world.now, id, peer), None);
    assert_eq!(client.permit(&mut world, &["10.1.0.1:1"]).code(), 200);
    let connection = world.server.peer_accepted(world.now, id, peer).unwrap();
    world.settle();
    let told = world.answer_to(&client.path).unwrap();
    let message = told.message();
    assert_eq!(message.method(), Method::CONNECTION_ATTEMPT);
    assert_eq!(message.class(), stunner_stun::Class::Indication);
    assert_eq!(message.connection_id(), Some(Ok(connection.0)));
    assert_eq!(message.xor_address(attr::XOR_PEER_ADDRESS), Some(Ok(peer)));
    world.advance(300);
    let late = addr("10.1.0.1:40001");
    assert_eq!(world.server.peer_accepted(world.now, id, late), None);
}

#[test]
fn a_peer_that_the_policy_has_withdrawn_is_not_welcome() {
    let mut world = World::new();
    let (mut client, id) = tcp_allocation(&mut world);
    client.permit(&mut world, &["10.1.0.1:1"]);
    world.set_rules(vec![]);
    let peer = addr("10.1.0.1:40000");
    assert_eq!(world.server.peer_accepted(world.now, id, peer), None);
    world.set_rules(default_rules());
    assert!(world.server.peer_accepted(world.now, id, peer).is_some());
}

#[test]
fn rfc6062_3_a_tcp_allocation_knows_no_channels_and_no_datagrams() {
    let mut world = World::new();
    let (mut client, id) = tcp_allocation(&mut world);
    assert_eq!(client.bind(&mut world, 0x4000, "10.1.0.1:9").code(), 400);
    client.permit(&mut world, &["10.1.0.1:1"]);
    let send = client.send_indication("10.1.0.1:9", b"x");
    let outcome = world.deliver(&client.path, &send);
    assert_eq!(outcome, FromClient::Dropped(DropReason::WrongTransport));
    let dropped = FromPeer::Dropped(DropReason::NoAllocation);
    assert_eq!(world.peer_sends(id, "10.1.0.1:9", 1), dropped);
}
