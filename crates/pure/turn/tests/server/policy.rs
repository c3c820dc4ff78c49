//! Admission that changes under live sessions: with the next packet, in both directions.

use std::collections::HashMap;
use std::sync::Arc;

use stunner_config::PeerTransport;
use stunner_config::admission::{Admission, ClusterId, DenyReason, OwnAddresses, RelayPorts};
use stunner_turn::server::{DropReason, Effect, FromClient, FromPeer};

use crate::client::channel_data;
use crate::world::{LISTENER, UDP_CLUSTER, World, default_rules, listener, rule};

const DENIED_FROM_CLIENT: FromClient<'static> = FromClient::Dropped(DropReason::Denied);
const DENIED_FROM_PEER: FromPeer = FromPeer::Dropped(DropReason::Denied);

fn denials(world: &mut World) -> usize {
    let denials = world.take(|effect| matches!(effect, Effect::Denied(_)).then_some(()));
    denials.len()
}

#[test]
fn a_withdrawn_peer_is_cut_at_once_and_back_as_soon_as_it_is_routed_again() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.permit(&mut world, &["10.1.0.2:1"]);
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    let channel = channel_data(0x4000, b"x");
    let send = client.send_indication("10.1.0.2:9", b"x");
    for _ in 0..3 {
        for bytes in [&channel, &send] {
            let outcome = world.deliver(&client.path, bytes);
            assert!(matches!(outcome, FromClient::Relay(_)));
        }
        world.relayed_from_peer(id, "10.1.0.1:9", 1);
        world.relayed_from_peer(id, "10.1.0.2:9", 1);

        world.set_rules(vec![]);
        for _ in 0..5 {
            for bytes in [&channel, &send] {
                assert_eq!(world.deliver(&client.path, bytes), DENIED_FROM_CLIENT);
            }
            assert_eq!(world.peer_sends(id, "10.1.0.1:9", 1), DENIED_FROM_PEER);
            assert_eq!(world.peer_sends(id, "10.1.0.2:9", 1), DENIED_FROM_PEER);
        }
        // Packets are counted one by one, reports come once per peer and policy.
        assert_eq!(denials(&mut world), 2);
        world.set_rules(default_rules());
    }
    assert_eq!(world.server.stats().denied(DenyReason::NoRoute), 60);
    assert_eq!(world.server.allocation_count(), 1);
}

#[test]
fn a_permission_for_a_port_that_nothing_admits_is_refused() {
    let mut world = World::new();
    let cluster = rule(UDP_CLUSTER, PeerTransport::Udp, "10.1.0.0/16", (100, 200));
    world.set_rules(vec![cluster]);
    let (mut client, _) = world.allocated();
    assert_eq!(client.permit(&mut world, &["10.1.0.1:99"]).code(), 403);
    assert_eq!(
        client
            .permit(&mut world, &["10.1.0.1:100", "10.1.0.2:99"])
            .code(),
        403
    );
    assert_eq!(client.permit(&mut world, &["10.1.0.1:100"]).code(), 200);
    // Without a port the address alone counts.
    assert_eq!(client.permit(&mut world, &["10.1.0.2:0"]).code(), 200);
    assert_eq!(world.server.stats().denied(DenyReason::Port), 2);
}

#[test]
fn rfc8656_9_a_permission_holds_for_every_port_that_is_admitted() {
    let mut world = World::new();
    let ports = (100, 200);
    let cluster = rule(UDP_CLUSTER, PeerTransport::Udp, "10.1.0.0/16", ports);
    world.set_rules(vec![cluster]);
    let (mut client, id) = world.allocated();
    assert_eq!(client.permit(&mut world, &["10.1.0.1:0"]).code(), 200);
    for (port, passes) in [(100, true), (99, false), (200, true), (201, false)] {
        let peer = format!("10.1.0.1:{port}");
        let send = client.send_indication(&peer, b"x");
        let outcome = world.deliver(&client.path, &send);
        assert_eq!(matches!(outcome, FromClient::Relay(_)), passes);
        assert_eq!(
            matches!(world.peer_sends(id, &peer, 1), FromPeer::Relay(_)),
            passes
        );
    }
    assert_eq!(world.server.stats().denied(DenyReason::Port), 4);
}

#[test]
fn a_scan_of_ports_makes_one_report() {
    let mut world = World::new();
    let cluster = rule(UDP_CLUSTER, PeerTransport::Udp, "10.1.0.0/16", (1, 1));
    world.set_rules(vec![cluster]);
    let (mut client, _) = world.allocated();
    client.permit(&mut world, &["10.1.0.1:1"]);
    for port in 2..500 {
        let send = client.send_indication(&format!("10.1.0.1:{port}"), b"x");
        assert_eq!(world.deliver(&client.path, &send), DENIED_FROM_CLIENT);
    }
    assert_eq!(denials(&mut world), 1);
    assert_eq!(world.server.stats().denied(DenyReason::Port), 498);
}

#[test]
fn the_cluster_that_admits_a_packet_is_named_and_follows_the_policy() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    let to_client = world.relayed_from_peer(id, "10.1.0.1:9", 1);
    assert_eq!(to_client.cluster, UDP_CLUSTER);
    let other = rule(ClusterId(42), PeerTransport::Udp, "10.0.0.0/8", (1, 65535));
    world.set_rules(vec![other]);
    let to_client = world.relayed_from_peer(id, "10.1.0.1:9", 1);
    assert_eq!(to_client.cluster, ClusterId(42));
}

#[test]
fn tcp_clusters_admit_no_udp_peers() {
    let mut world = World::new();
    let tcp = rule(ClusterId(1), PeerTransport::Tcp, "10.1.0.0/16", (1, 65535));
    world.set_rules(vec![tcp]);
    let (mut client, _) = world.allocated();
    assert_eq!(client.permit(&mut world, &["10.1.0.1:1"]).code(), 403);
    assert_eq!(world.server.stats().denied(DenyReason::Transport), 1);
}

#[test]
fn wide_prefixes_do_not_reach_loopback_or_metadata() {
    let mut world = World::new();
    let everything = rule(ClusterId(1), PeerTransport::Udp, "0.0.0.0/0", (1, 65535));
    world.set_rules(vec![everything]);
    let (mut client, _) = world.allocated();
    for peer in ["127.0.0.1:80", "169.254.169.254:80", "224.0.0.1:1"] {
        assert_eq!(client.permit(&mut world, &[peer]).code(), 403, "{peer}");
        assert_eq!(client.bind(&mut world, 0x4000, peer).code(), 403, "{peer}");
    }
    assert_eq!(client.permit(&mut world, &["8.8.8.8:53"]).code(), 200);
}

#[test]
fn a_verdict_about_an_own_relay_port_is_not_remembered() {
    let mut world = World::new();
    let own = Arc::new(OwnAddresses {
        addresses: vec!["10.1.0.1".parse().unwrap()],
        listeners: vec![(PeerTransport::Udp, 3478)],
    });
    let ports = Arc::new(RelayPorts::new());
    let admission = Admission::compile(default_rules(), own, ports.clone(), false);
    world.change(|policy| {
        let listener = policy.listeners.get_mut(&LISTENER).unwrap();
        listener.admission = Arc::new(admission);
    });
    let (mut client, id) = world.allocated();
    ports.set(PeerTransport::Udp, 50_000);
    assert_eq!(
        client.bind(&mut world, 0x4000, "10.1.0.1:50000").code(),
        200
    );
    assert_eq!(client.bind(&mut world, 0x4001, "10.1.0.1:3478").code(), 403);
    let bytes = channel_data(0x4000, b"x");
    for _ in 0..3 {
        world.relayed_from_peer(id, "10.1.0.1:50000", 1);
        let outcome = world.deliver(&client.path, &bytes);
        assert!(matches!(outcome, FromClient::Relay(_)));
        // The other allocation ends, and its port is an ordinary own port.
        ports.clear(PeerTransport::Udp, 50_000);
        denials(&mut world);
        for _ in 0..10 {
            assert_eq!(world.deliver(&client.path, &bytes), DENIED_FROM_CLIENT);
        }
        assert!(denials(&mut world) <= 1, "one report, not one per packet");
        ports.set(PeerTransport::Udp, 50_000);
    }
}

#[test]
fn a_listener_that_has_left_the_policy_routes_nothing() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    world.change(|policy| policy.listeners = HashMap::new());
    let bytes = channel_data(0x4000, b"x");
    assert_eq!(world.deliver(&client.path, &bytes), DENIED_FROM_CLIENT);
    assert_eq!(world.peer_sends(id, "10.1.0.1:9", 1), DENIED_FROM_PEER);
    assert_eq!(client.permit(&mut world, &["10.1.0.1:1"]).code(), 403);
    assert_eq!(client.refresh(&mut world, None).code(), 200);
    world.change(|policy| {
        policy.listeners.insert(LISTENER, listener(default_rules()));
    });
    world.relayed_from_peer(id, "10.1.0.1:9", 1);
}

#[test]
fn a_thousand_policies_leave_every_session_alone() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    let bytes = channel_data(0x4000, b"x");
    for _ in 0..1000 {
        world.set_rules(default_rules());
        let outcome = world.deliver(&client.path, &bytes);
        assert!(matches!(outcome, FromClient::Relay(_)));
        world.relayed_from_peer(id, "10.1.0.1:9", 1);
    }
}
