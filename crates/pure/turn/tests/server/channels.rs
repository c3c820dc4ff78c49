//! ChannelBind: RFC 8656 §12.2.

use stunner_config::PeerTransport;
use stunner_stun::{Method, attr};
use stunner_turn::server::{Effect, FromClient, RelayHeader, Settings};

use crate::client::channel_data;
use crate::world::{UDP_CLUSTER, World, addr, rule, static_auth};

#[test]
fn a_channel_carries_data_both_ways_and_installs_the_permission() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    assert_eq!(client.bind(&mut world, 0x4000, "10.1.0.1:9").code(), 200);
    let bytes = channel_data(0x4000, b"hello");
    match world.deliver(&client.path, &bytes) {
        FromClient::Relay(to_peer) => {
            assert_eq!(to_peer.allocation, id);
            assert_eq!(to_peer.peer, addr("10.1.0.1:9"));
            assert_eq!(to_peer.payload, b"hello");
            assert_eq!(to_peer.cluster, UDP_CLUSTER);
            assert!(!to_peer.dont_fragment);
        }
        other => panic!("{other:?}"),
    }
    let to_client = world.relayed_from_peer(id, "10.1.0.1:9", 100);
    assert_eq!(to_client.header, RelayHeader::Channel(0x4000));
    assert_eq!(to_client.path.tuple, client.path.tuple);
    // Another port of the same address has the permission, not the channel.
    let to_client = world.relayed_from_peer(id, "10.1.0.1:10", 100);
    assert!(matches!(to_client.header, RelayHeader::Data { .. }));
    let bound = Effect::ChannelBound {
        allocation: id,
        number: 0x4000,
        peer: addr("10.1.0.1:9"),
        path: client.path,
    };
    assert!(world.effects.contains(&bound));
}

#[test]
fn numbers_from_0x4000_to_0x7fff_are_channels_and_all_others_get_400() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    for (i, number) in [0x4000, 0x4fff, 0x5000, 0x7ffe, 0x7fff].iter().enumerate() {
        let peer = format!("10.1.0.1:{}", i + 1);
        assert_eq!(client.bind(&mut world, *number, &peer).code(), 200);
    }
    for number in [0x0000, 0x3fff, 0x8000, 0xffff] {
        let answer = client.bind(&mut world, number, "10.1.0.1:99");
        assert_eq!(answer.code(), 400, "{number:#x}");
    }
}

#[test]
fn rfc8656_12_2_conflicting_bindings_get_400_and_change_nothing() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    assert_eq!(client.bind(&mut world, 0x4000, "10.1.0.1:10").code(), 400);
    assert_eq!(client.bind(&mut world, 0x4001, "10.1.0.1:9").code(), 400);
    let to_client = world.relayed_from_peer(id, "10.1.0.1:9", 1);
    assert_eq!(to_client.header, RelayHeader::Channel(0x4000));
    let session = world.server.sessions().next().unwrap();
    assert_eq!(session.channels().count(), 1);
}

#[test]
fn binding_again_refreshes_and_says_nothing_new() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    world.effects.clear();
    world.advance(200);
    assert_eq!(client.bind(&mut world, 0x4000, "10.1.0.1:9").code(), 200);
    assert_eq!(world.effects, []);
    let session = world.server.sessions().next().unwrap();
    let (_, _, expires) = session.channels().next().unwrap();
    assert_eq!(expires, world.now.millis + 600_000);
    let (_, expires) = session.permissions().next().unwrap();
    assert_eq!(expires, world.now.millis + 300_000);
}

#[test]
fn a_channel_needs_the_peer_s_port_admitted() {
    let mut world = World::new();
    let ports = (100, 200);
    let cluster = rule(UDP_CLUSTER, PeerTransport::Udp, "10.1.0.0/16", ports);
    world.set_rules(vec![cluster]);
    let (mut client, _) = world.allocated();
    assert_eq!(client.bind(&mut world, 0x4000, "10.1.0.1:99").code(), 403);
    assert_eq!(client.bind(&mut world, 0x4000, "10.1.0.1:100").code(), 200);
    assert_eq!(
        client.bind(&mut world, 0x4001, "172.16.0.1:100").code(),
        403
    );
}

#[test]
fn rfc8656_12_2_missing_or_malformed_attributes_get_400() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    let without_peer = client.ask(&mut world, Method::CHANNEL_BIND, |writer| {
        writer.channel_number(0x4000);
    });
    let without_number = client.ask(&mut world, Method::CHANNEL_BIND, |writer| {
        writer.xor_address(attr::XOR_PEER_ADDRESS, addr("10.1.0.1:9"));
    });
    let short_number = client.ask(&mut world, Method::CHANNEL_BIND, |writer| {
        writer
            .attribute(attr::CHANNEL_NUMBER, &[0x40, 0])
            .xor_address(attr::XOR_PEER_ADDRESS, addr("10.1.0.1:9"));
    });
    for answer in [without_peer, without_number, short_number] {
        assert_eq!(answer.code(), 400);
    }
}

#[test]
fn channels_have_a_bound() {
    let settings = Settings {
        max_channels: 3,
        ..Settings::default()
    };
    let mut world = World::build(static_auth("user", "pass"), settings, 0);
    let (mut client, _) = world.allocated();
    for i in 0..3u16 {
        let peer = format!("10.1.0.1:{}", i + 1);
        assert_eq!(client.bind(&mut world, 0x4000 + i, &peer).code(), 200);
    }
    assert_eq!(client.bind(&mut world, 0x4009, "10.1.0.1:9").code(), 508);
    assert_eq!(client.bind(&mut world, 0x4001, "10.1.0.1:2").code(), 200);
}

#[test]
fn many_channels_are_found_as_well_as_few() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    for i in 0..300u16 {
        let peer = format!("10.1.0.{}:{}", i % 200, 1000 + i);
        assert_eq!(client.bind(&mut world, 0x4000 + i, &peer).code(), 200);
    }
    for i in 0..300u16 {
        let peer = format!("10.1.0.{}:{}", i % 200, 1000 + i);
        let to_client = world.relayed_from_peer(id, &peer, 1);
        assert_eq!(to_client.header, RelayHeader::Channel(0x4000 + i));
        let bytes = channel_data(0x4000 + i, b"x");
        match world.deliver(&client.path, &bytes) {
            FromClient::Relay(to_peer) => assert_eq!(to_peer.peer, addr(&peer)),
            other => panic!("{other:?}"),
        }
    }
    world.advance(599);
    client.refresh(&mut world, None);
    client.bind(&mut world, 0x4000 + 150, "10.1.0.150:1150");
    world.advance(1);
    let session = world.server.sessions().next().unwrap();
    assert_eq!(session.channels().count(), 1);
    world.relayed_from_peer(id, "10.1.0.150:1150", 1);
}
