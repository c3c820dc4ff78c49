//! Everything ends at its millisecond, whether or not a timer was served in time.

use stunner_turn::server::{DropReason, Effect, EndReason, FromClient, FromPeer, RelayHeader};

use crate::client::channel_data;
use crate::world::{World, addr};

fn ended(world: &mut World) -> Vec<EndReason> {
    world.take(|effect| match effect {
        Effect::Ended(record) => Some(record.why),
        _ => None,
    })
}

#[test]
fn an_allocation_ends_after_600_seconds() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    world.advance_ms(599_999);
    assert_eq!(world.server.allocation_count(), 1);
    world.advance_ms(1);
    assert_eq!(world.server.allocation_count(), 0);
    assert_eq!(ended(&mut world), [EndReason::Expired]);
    let gone = FromPeer::Dropped(DropReason::NoAllocation);
    assert_eq!(world.peer_sends(id, "10.1.0.1:9", 1), gone);
    assert_eq!(client.refresh(&mut world, None).code(), 437);
}

#[test]
fn an_allocation_whose_timer_is_late_serves_nobody_any_more() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.refresh(&mut world, Some(600));
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    // The clock moves, but nobody calls on_timeout.
    world.now.millis += 600_000;
    let bytes = channel_data(0x4000, b"x");
    let outcome = world.deliver(&client.path, &bytes);
    assert_eq!(outcome, FromClient::Dropped(DropReason::NoAllocation));
    let gone = FromPeer::Dropped(DropReason::NoAllocation);
    assert_eq!(world.peer_sends(id, "10.1.0.1:9", 1), gone);
    // The next request finds the 5-tuple free.
    assert_eq!(client.allocate(&mut world).code(), 200);
    assert_eq!(ended(&mut world), [EndReason::Expired]);
    assert_eq!(world.server.allocation_count(), 1);
    world.server.on_timeout(world.now);
    assert_eq!(world.server.allocation_count(), 1);
}

#[test]
fn a_permission_ends_after_300_seconds_unless_refreshed() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.permit(&mut world, &["10.1.0.1:1", "10.1.0.2:1"]);
    world.advance(200);
    client.permit(&mut world, &["10.1.0.2:1"]);
    world.advance_ms(99_999);
    world.relayed_from_peer(id, "10.1.0.1:9", 1);
    world.advance_ms(1);
    let dropped = FromPeer::Dropped(DropReason::NoPermission);
    assert_eq!(world.peer_sends(id, "10.1.0.1:9", 1), dropped);
    let send = client.send_indication("10.1.0.1:9", b"x");
    let outcome = world.deliver(&client.path, &send);
    assert_eq!(outcome, FromClient::Dropped(DropReason::NoPermission));
    world.relayed_from_peer(id, "10.1.0.2:9", 1);
    let session = world.server.sessions().next().unwrap();
    assert_eq!(session.permissions().count(), 1);
    world.advance_ms(199_999);
    world.relayed_from_peer(id, "10.1.0.2:9", 1);
    world.advance_ms(1);
    assert_eq!(world.peer_sends(id, "10.1.0.2:9", 1), dropped);
}

#[test]
fn data_does_not_refresh_a_permission() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.permit(&mut world, &["10.1.0.1:1"]);
    for _ in 0..300 {
        world.relayed_from_peer(id, "10.1.0.1:9", 1);
        let send = client.send_indication("10.1.0.1:9", b"x");
        let outcome = world.deliver(&client.path, &send);
        assert!(matches!(outcome, FromClient::Relay(_)));
        world.advance(1);
    }
    let dropped = FromPeer::Dropped(DropReason::NoPermission);
    assert_eq!(world.peer_sends(id, "10.1.0.1:9", 1), dropped);
}

#[test]
fn a_channel_ends_after_600_seconds_and_says_so() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.refresh(&mut world, Some(3600));
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    world.effects.clear();
    world.advance_ms(599_999);
    let bytes = channel_data(0x4000, b"x");
    let outcome = world.deliver(&client.path, &bytes);
    assert!(matches!(outcome, FromClient::Relay(_)));
    assert_eq!(world.effects, []);
    world.advance_ms(1);
    assert_eq!(
        world.effects,
        [Effect::ChannelUnbound {
            allocation: id,
            number: 0x4000,
            peer: addr("10.1.0.1:9"),
            path: client.path
        }]
    );
    let outcome = world.deliver(&client.path, &bytes);
    assert_eq!(outcome, FromClient::Dropped(DropReason::NoChannel));
    // Number and peer are free again, for others too.
    assert_eq!(client.bind(&mut world, 0x4000, "10.1.0.7:9").code(), 200);
    assert_eq!(client.bind(&mut world, 0x4001, "10.1.0.1:9").code(), 200);
}

#[test]
fn an_expired_channel_is_no_obstacle_before_its_timer_is_served() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    client.refresh(&mut world, Some(3600));
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    world.now.millis += 600_000;
    let bytes = channel_data(0x4000, b"x");
    let outcome = world.deliver(&client.path, &bytes);
    assert_eq!(outcome, FromClient::Dropped(DropReason::NoChannel));
    assert_eq!(client.bind(&mut world, 0x4000, "10.1.0.7:9").code(), 200);
    let unbound = world.take(|effect| match effect {
        Effect::ChannelUnbound { peer, .. } => Some(*peer),
        _ => None,
    });
    assert_eq!(unbound, [addr("10.1.0.1:9")]);
}

#[test]
fn a_channel_outlives_its_permission_towards_the_peer_but_not_from_it() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    world.advance(300);
    let bytes = channel_data(0x4000, b"x");
    let outcome = world.deliver(&client.path, &bytes);
    assert!(matches!(outcome, FromClient::Relay(_)));
    let dropped = FromPeer::Dropped(DropReason::NoPermission);
    assert_eq!(world.peer_sends(id, "10.1.0.1:9", 1), dropped);
    // A permission for the address opens the way back, on the channel.
    client.permit(&mut world, &["10.1.0.1:1"]);
    let to_client = world.relayed_from_peer(id, "10.1.0.1:9", 1);
    assert_eq!(to_client.header, RelayHeader::Channel(0x4000));
}

#[test]
fn an_ended_allocation_unbinds_its_channels_and_closes_its_relay() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    client.bind(&mut world, 0x4001, "10.1.0.1:10");
    world.effects.clear();
    world.advance(600);
    let kinds: Vec<&str> = (world.effects.iter())
        .map(|effect| match effect {
            Effect::ChannelUnbound { .. } => "unbound",
            Effect::CloseRelay { allocation, .. } if *allocation == id => "close",
            Effect::Ended(_) => "ended",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["unbound", "unbound", "close", "ended"]);
    assert_eq!(world.server.next_deadline(), None);
}

#[test]
fn the_id_of_an_ended_allocation_never_means_its_successor() {
    let mut world = World::new();
    let (mut client, first) = world.allocated();
    client.refresh(&mut world, Some(0));
    client.allocate(&mut world);
    let second = world.only();
    assert_eq!(first.index, second.index);
    assert_ne!(first, second);
    client.permit(&mut world, &["10.1.0.1:1"]);
    let gone = FromPeer::Dropped(DropReason::NoAllocation);
    assert_eq!(world.peer_sends(first, "10.1.0.1:9", 1), gone);
    world.relayed_from_peer(second, "10.1.0.1:9", 1);
    let now = world.now;
    assert!(!world.server.end_allocation(now, first, EndReason::Killed));
}
