//! CreatePermission: RFC 8656 §9 and §10.2.

use stunner_config::admission::DenyReason;
use stunner_stun::{Method, attr};
use stunner_turn::server::{DropReason, Effect, FromClient, FromPeer, Settings};

use crate::client::TestClient;
use crate::world::{World, addr, static_auth};

#[test]
fn a_permission_lets_data_pass_both_ways_whatever_the_port() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    let no_permission = FromPeer::Dropped(DropReason::NoPermission);
    assert_eq!(world.peer_sends(id, "10.1.0.1:9", 10), no_permission);
    assert_eq!(client.permit(&mut world, &["10.1.0.1:7777"]).code(), 200);
    for port in [9, 7777, 65535] {
        let peer = format!("10.1.0.1:{port}");
        world.relayed_from_peer(id, &peer, 10);
        let bytes = client.send_indication(&peer, b"hello");
        match world.deliver(&client.path, &bytes) {
            FromClient::Relay(to_peer) => {
                assert_eq!(to_peer.peer, addr(&peer));
                assert_eq!(to_peer.payload, b"hello");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(world.peer_sends(id, "10.1.0.2:9", 10), no_permission);
}

#[test]
fn several_peers_in_one_request_are_all_permitted() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    let peers = ["10.1.0.1:0", "10.1.0.2:0", "10.1.0.3:0", "10.1.0.1:5"];
    assert_eq!(client.permit(&mut world, &peers).code(), 200);
    let session = world.server.sessions().next().unwrap();
    assert_eq!(session.permissions().count(), 3);
    world.relayed_from_peer(id, "10.1.0.3:9", 10);
}

#[test]
fn several_peers_are_all_or_nothing() {
    for (bad, code) in [("172.16.0.1:1", 403), ("[2001:db8:1::1]:1", 443)] {
        let mut world = World::new();
        let (mut client, _) = world.allocated();
        let answer = client.permit(&mut world, &["10.1.0.1:1", bad, "10.1.0.2:1"]);
        assert_eq!(answer.code(), code);
        assert!(answer.is_signed());
        let session = world.server.sessions().next().unwrap();
        assert_eq!(session.permissions().count(), 0);
    }
}

#[test]
fn a_denied_peer_gets_403_and_is_reported_with_its_reason() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    assert_eq!(client.permit(&mut world, &["172.16.0.1:80"]).code(), 403);
    assert_eq!(world.server.stats().denied(DenyReason::NoRoute), 1);
    let denials = world.take(|effect| match effect {
        Effect::Denied(denial) => Some(denial.clone()),
        _ => None,
    });
    assert_eq!(denials.len(), 1);
    assert_eq!(denials[0].peer, addr("172.16.0.1:0"));
    assert_eq!(denials[0].reason, DenyReason::NoRoute);
    assert_eq!(&*denials[0].user, "user");
}

#[test]
fn rfc8656_10_2_a_missing_or_malformed_peer_gets_400() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    assert_eq!(client.permit(&mut world, &[]).code(), 400);
    for value in [&[0u8, 1, 2][..], &[0, 9, 0, 0, 1, 2, 3, 4]] {
        let answer = client.ask(&mut world, Method::CREATE_PERMISSION, |writer| {
            writer
                .xor_address(attr::XOR_PEER_ADDRESS, addr("10.1.0.1:1"))
                .attribute(attr::XOR_PEER_ADDRESS, value);
        });
        assert_eq!(answer.code(), 400);
    }
    let session = world.server.sessions().next().unwrap();
    assert_eq!(session.permissions().count(), 0);
}

#[test]
fn permissions_have_a_bound_and_expired_ones_make_room() {
    let settings = Settings {
        max_permissions: 10,
        ..Settings::default()
    };
    let mut world = World::build(static_auth("user", "pass"), settings, 0);
    let (mut client, _) = world.allocated();
    for i in 0..10 {
        let peer = format!("10.1.0.{i}:1");
        assert_eq!(client.permit(&mut world, &[&peer]).code(), 200);
    }
    assert_eq!(client.permit(&mut world, &["10.1.1.1:1"]).code(), 508);
    assert_eq!(client.bind(&mut world, 0x4000, "10.1.1.1:1").code(), 508);
    assert_eq!(client.permit(&mut world, &["10.1.0.3:1"]).code(), 200);
    world.now.millis += 300_000;
    assert_eq!(client.permit(&mut world, &["10.1.1.1:1"]).code(), 200);
}

#[test]
fn many_permissions_are_found_as_well_as_few() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    for i in 0..200 {
        let peer = format!("10.1.7.{i}:1");
        assert_eq!(client.permit(&mut world, &[&peer]).code(), 200);
    }
    for i in 0..200 {
        world.relayed_from_peer(id, &format!("10.1.7.{i}:5"), 1);
    }
    let dropped = FromPeer::Dropped(DropReason::NoPermission);
    assert_eq!(world.peer_sends(id, "10.1.8.1:5", 1), dropped);
    world.advance(299);
    client.permit(&mut world, &["10.1.7.77:1"]);
    world.advance(1);
    world.relayed_from_peer(id, "10.1.7.77:5", 1);
    assert_eq!(world.peer_sends(id, "10.1.7.76:5", 1), dropped);
}

#[test]
fn permissions_of_one_client_are_not_those_of_another() {
    let mut world = World::new();
    let (mut one, _) = world.allocated();
    let mut two = TestClient::udp("198.51.100.2:5000");
    two.allocate(&mut world);
    one.permit(&mut world, &["10.1.0.1:1"]);
    let bytes = two.send_indication("10.1.0.1:1", b"x");
    let outcome = world.deliver(&two.path, &bytes);
    assert_eq!(outcome, FromClient::Dropped(DropReason::NoPermission));
}
