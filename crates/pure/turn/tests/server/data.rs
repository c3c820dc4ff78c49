//! Send, Data and ChannelData: RFC 8656 §11 and §12.

use stunner_stun::{Icmp, Message, Method, attr};
use stunner_turn::ClientTransport;
use stunner_turn::server::{DropReason, FromClient, FromPeer, RelayHeader, Traffic};

use crate::client::{TestClient, channel_data, indication};
use crate::world::{V6_CLUSTER, World, addr};

fn dropped(why: DropReason) -> FromClient<'static> {
    FromClient::Dropped(why)
}

#[test]
fn rfc8656_11_2_a_send_indication_needs_peer_data_and_permission() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    let good = client.send_indication("10.1.0.1:9", b"payload");
    let outcome = world.deliver(&client.path, &good);
    assert_eq!(outcome, dropped(DropReason::NoPermission));
    client.permit(&mut world, &["10.1.0.1:1"]);
    assert!(matches!(
        world.deliver(&client.path, &good),
        FromClient::Relay(to_peer) if to_peer.payload == b"payload" && !to_peer.dont_fragment
    ));
    let without_data = indication(Method::SEND, |writer| {
        writer.xor_address(attr::XOR_PEER_ADDRESS, addr("10.1.0.1:9"));
    });
    let without_peer = indication(Method::SEND, |writer| {
        writer.data(b"x");
    });
    for bytes in [&without_data, &without_peer] {
        let outcome = world.deliver(&client.path, bytes);
        assert_eq!(outcome, dropped(DropReason::Malformed));
    }
    assert!(world.sent.is_empty(), "indications are never answered");
}

#[test]
fn an_empty_datagram_is_data_too() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    let by_send = client.send_indication("10.1.0.1:9", b"");
    let by_channel = channel_data(0x4000, b"");
    for bytes in [&by_send, &by_channel] {
        assert!(matches!(
            world.deliver(&client.path, bytes),
            FromClient::Relay(to_peer) if to_peer.payload.is_empty()
        ));
    }
    world.relayed_from_peer(id, "10.1.0.1:9", 0);
}

#[test]
fn rfc8656_15_dont_fragment_reaches_the_caller() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    client.permit(&mut world, &["10.1.0.1:1"]);
    let bytes = indication(Method::SEND, |writer| {
        writer
            .xor_address(attr::XOR_PEER_ADDRESS, addr("10.1.0.1:9"))
            .dont_fragment()
            .data(b"x");
    });
    assert!(matches!(
        world.deliver(&client.path, &bytes),
        FromClient::Relay(to_peer) if to_peer.dont_fragment
    ));
}

#[test]
fn rfc8489_6_3_2_an_indication_with_an_unknown_required_attribute_is_dropped() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    client.permit(&mut world, &["10.1.0.1:1"]);
    let bytes = indication(Method::SEND, |writer| {
        writer
            .xor_address(attr::XOR_PEER_ADDRESS, addr("10.1.0.1:9"))
            .attribute(0x7000, b"?")
            .data(b"x");
    });
    let outcome = world.deliver(&client.path, &bytes);
    assert_eq!(outcome, dropped(DropReason::UnknownAttribute));
}

#[test]
fn data_without_an_allocation_is_dropped() {
    let mut world = World::new();
    let client = TestClient::udp("198.51.100.1:5000");
    let send = client.send_indication("10.1.0.1:9", b"x");
    for bytes in [&send, &channel_data(0x4000, b"x")] {
        let outcome = world.deliver(&client.path, bytes);
        assert_eq!(outcome, dropped(DropReason::NoAllocation));
    }
    assert_eq!(world.server.stats().dropped(DropReason::NoAllocation), 2);
}

#[test]
fn channel_data_with_padding_passes_and_cut_short_is_dropped() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    let mut padded = channel_data(0x4000, b"hello");
    padded.extend_from_slice(&[0; 3]);
    assert!(matches!(
        world.deliver(&client.path, &padded),
        FromClient::Relay(to_peer) if to_peer.payload == b"hello"
    ));
    let whole = channel_data(0x4000, b"hello");
    let outcome = world.deliver(&client.path, &whole[..8]);
    assert_eq!(outcome, dropped(DropReason::Malformed));
    let unbound = channel_data(0x4001, b"x");
    let outcome = world.deliver(&client.path, &unbound);
    assert_eq!(outcome, dropped(DropReason::NoChannel));
}

/// What a client gets for a payload from a peer.
fn wrapped(world: &mut World, peer: &str, payload: &[u8]) -> (Vec<u8>, RelayHeader) {
    let id = world.only();
    let to_client = world.relayed_from_peer(id, peer, payload.len());
    let stream = to_client.path.tuple.transport.is_stream();
    let mut buffer = [0xee; RelayHeader::MAX];
    let (prefix, padding) = to_client.header.write(payload.len(), stream, &mut buffer);
    let mut bytes = buffer[..prefix].to_vec();
    bytes.extend_from_slice(payload);
    bytes.extend(std::iter::repeat_n(0, padding));
    let expected = to_client.header.message_len(payload.len(), stream);
    assert_eq!(bytes.len(), expected);
    (bytes, to_client.header)
}

#[test]
fn rfc8656_11_3_a_data_indication_wraps_the_payload_where_it_lies() {
    for peer in ["10.1.0.1:9", "[2001:db8:1::9]:9"] {
        for payload in [&b""[..], b"x", b"four", b"seven b"] {
            let mut world = World::new();
            let mut client = TestClient::udp("198.51.100.1:5000");
            client.allocate_with(&mut world, |writer| {
                writer.additional_family(stunner_stun::Family::V6);
            });
            client.permit(&mut world, &[peer]);
            let (bytes, _) = wrapped(&mut world, peer, payload);
            let message = Message::parse(&bytes).unwrap();
            assert_eq!(message.method(), Method::DATA);
            assert_eq!(message.class(), stunner_stun::Class::Indication);
            assert_eq!(
                message.xor_address(attr::XOR_PEER_ADDRESS),
                Some(Ok(addr(peer)))
            );
            assert_eq!(message.data(), Some(payload));
        }
    }
}

#[test]
fn two_data_indications_have_two_transaction_ids() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    client.permit(&mut world, &["10.1.0.1:9"]);
    let (one, _) = wrapped(&mut world, "10.1.0.1:9", b"x");
    let (two, _) = wrapped(&mut world, "10.1.0.1:9", b"x");
    assert_ne!(one[8..20], two[8..20]);
}

#[test]
fn rfc8656_12_5_channel_data_is_padded_on_streams_only() {
    for (transport, padded) in [
        (ClientTransport::Udp, false),
        (ClientTransport::Dtls, false),
        (ClientTransport::Tcp, true),
        (ClientTransport::Tls, true),
    ] {
        let mut world = World::new();
        let mut client = TestClient::new(transport, "198.51.100.1:5000");
        client.allocate(&mut world);
        client.bind(&mut world, 0x4000, "10.1.0.1:9");
        let (bytes, header) = wrapped(&mut world, "10.1.0.1:9", b"hello");
        assert_eq!(header, RelayHeader::Channel(0x4000));
        assert_eq!(bytes[..4], [0x40, 0, 0, 5]);
        assert_eq!(bytes.len(), if padded { 12 } else { 9 });
    }
}

#[test]
fn what_a_transport_cannot_carry_is_dropped_as_too_big() {
    // The most payload that fits behind a channel header and inside a Data indication.
    for (transport, by_channel, by_data) in [
        (ClientTransport::Udp, 65_503, 65_468),
        (ClientTransport::Dtls, 16_380, 16_348),
        (ClientTransport::Tcp, 65_507, 65_507),
    ] {
        let mut world = World::new();
        let mut client = TestClient::new(transport, "198.51.100.1:5000");
        client.allocate(&mut world);
        let id = world.only();
        client.permit(&mut world, &["10.1.0.2:1"]);
        client.bind(&mut world, 0x4000, "10.1.0.1:9");
        let too_big = FromPeer::Dropped(DropReason::TooBig);
        for (peer, fits) in [("10.1.0.1:9", by_channel), ("10.1.0.2:9", by_data)] {
            world.relayed_from_peer(id, peer, fits);
            if transport != ClientTransport::Tcp {
                assert_eq!(world.peer_sends(id, peer, fits + 1), too_big);
            }
        }
    }
    // Towards a peer: what a stream can frame may be more than a datagram can hold.
    let mut world = World::new();
    let mut client = TestClient::tcp("198.51.100.1:5000");
    client.allocate(&mut world);
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    let fits = channel_data(0x4000, &vec![0; 65_507]);
    assert!(matches!(
        world.deliver(&client.path, &fits),
        FromClient::Relay(_)
    ));
    let too_big = channel_data(0x4000, &vec![0; 65_508]);
    let outcome = world.deliver(&client.path, &too_big);
    assert_eq!(outcome, dropped(DropReason::TooBig));
}

#[test]
fn traffic_is_counted_per_allocation_and_idle_ones_do_not_hold_a_drain() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    world.advance(50);
    world.deliver(&client.path, &channel_data(0x4000, b"12345"));
    let send = client.send_indication("10.1.0.1:9", b"123");
    world.deliver(&client.path, &send);
    world.relayed_from_peer(id, "10.1.0.1:9", 100);
    world.peer_sends(id, "10.9.9.9:9", 100);
    let session = world.server.sessions().next().unwrap();
    assert_eq!(
        session.to_peer(),
        Traffic {
            packets: 2,
            bytes: 8
        }
    );
    assert_eq!(
        session.to_client(),
        Traffic {
            packets: 1,
            bytes: 100
        }
    );
    assert_eq!(session.last_traffic(), world.now.millis);
    world.advance_ms(59_999);
    assert_eq!(world.server.active_allocation_count(world.now, 60_000), 1);
    world.advance_ms(1);
    assert_eq!(world.server.active_allocation_count(world.now, 60_000), 0);
    assert_eq!(world.server.allocation_count(), 1);
    world.relayed_from_peer(id, "10.1.0.1:9", 1);
    assert_eq!(world.server.active_allocation_count(world.now, 60_000), 1);
}

#[test]
fn rfc8656_11_5_icmp_errors_reach_the_client_with_a_permission() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    let icmp = Icmp {
        icmp_type: 3,
        code: 3,
        data: [0; 4],
    };
    let peer = addr("10.1.0.1:9");
    world.server.icmp_from_peer(world.now, id, peer, icmp);
    world.settle();
    assert!(world.sent.is_empty());
    client.permit(&mut world, &["10.1.0.1:1"]);
    world.server.icmp_from_peer(world.now, id, peer, icmp);
    world.settle();
    let told = world.answer_to(&client.path).unwrap();
    let message = told.message();
    assert_eq!(message.method(), Method::DATA);
    assert_eq!(message.icmp(), Some(Ok(icmp)));
    assert_eq!(message.xor_address(attr::XOR_PEER_ADDRESS), Some(Ok(peer)));
    assert!(message.data().is_none());
}

#[test]
fn a_peer_with_flow_label_and_scope_is_the_same_peer() {
    let mut world = World::new();
    let mut client = TestClient::udp("198.51.100.1:5000");
    client.allocate_with(&mut world, |writer| {
        writer.requested_family(stunner_stun::Family::V6);
    });
    client.bind(&mut world, 0x4000, "[2001:db8:1::9]:9");
    let id = world.only();
    let labelled = std::net::SocketAddrV6::new("2001:db8:1::9".parse().unwrap(), 9, 77, 3);
    match world.server.from_peer(world.now, id, labelled.into(), 5) {
        FromPeer::Relay(to_client) => {
            assert_eq!(to_client.header, RelayHeader::Channel(0x4000));
            assert_eq!(to_client.cluster, V6_CLUSTER);
        }
        other => panic!("{other:?}"),
    }
}
