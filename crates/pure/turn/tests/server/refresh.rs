//! Refresh: RFC 8656 §8.2.

use stunner_stun::{Method, attr};
use stunner_turn::server::{Effect, EndReason};

use crate::client::TestClient;
use crate::world::World;

#[test]
fn rfc8656_8_2_refresh_clamps_and_renews_the_lifetime() {
    for (asked, granted) in [
        (None, 600),
        (Some(1), 600),
        (Some(700), 700),
        (Some(99_999), 3600),
    ] {
        let mut world = World::new();
        let (mut client, _) = world.allocated();
        world.advance(100);
        let answer = client.refresh(&mut world, asked);
        assert_eq!(answer.lifetime(), granted);
        let session = world.server.sessions().next().unwrap();
        let expected = world.now.millis + u64::from(granted) * 1000;
        assert_eq!(session.expires(), expected);
    }
}

#[test]
fn rfc8656_8_2_lifetime_zero_deletes() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    world.advance(7);
    let answer = client.refresh(&mut world, Some(0));
    assert_eq!(answer.code(), 200);
    assert_eq!(answer.lifetime(), 0);
    assert_eq!(world.server.allocation_count(), 0);
    let ended = world.take(|effect| match effect {
        Effect::Ended(record) => Some(record.clone()),
        _ => None,
    });
    assert_eq!(ended[0].why, EndReason::Deleted);
    assert_eq!(ended[0].duration_ms, 7000);
    let closed = Effect::CloseRelay {
        allocation: id,
        user: "user".into(),
    };
    assert!(world.effects.contains(&closed));
    assert_eq!(world.server.next_deadline(), None);
    // The same again: the allocation is gone, as the client wanted.
    assert_eq!(client.refresh(&mut world, Some(0)).code(), 437);
    assert_eq!(client.allocate(&mut world).code(), 200);
}

#[test]
fn requests_without_an_allocation_get_437() {
    let mut world = World::new();
    let mut client = TestClient::udp("198.51.100.1:5000");
    for answer in [
        client.refresh(&mut world, None),
        client.refresh(&mut world, Some(0)),
        client.permit(&mut world, &["10.1.0.1:1"]),
        client.bind(&mut world, 0x4000, "10.1.0.1:1"),
        client.connect(&mut world, "10.1.0.1:1").unwrap(),
    ] {
        assert_eq!(answer.code(), 437);
        assert!(answer.is_signed_for(&client));
    }
}

#[test]
fn a_malformed_lifetime_gets_400() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    let answer = client.ask(&mut world, Method::REFRESH, |writer| {
        writer.attribute(attr::LIFETIME, &[0]);
    });
    assert_eq!(answer.code(), 400);
    assert_eq!(world.server.allocation_count(), 1);
}

#[test]
fn a_refresh_can_shorten_a_lifetime() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    client.refresh(&mut world, Some(3600));
    client.refresh(&mut world, Some(600));
    world.advance_ms(599_999);
    assert_eq!(world.server.allocation_count(), 1);
    world.advance_ms(1);
    assert_eq!(world.server.allocation_count(), 0);
}
