//! Listeners, connections and operators that end allocations.

use stunner_turn::server::{Effect, EndReason, SessionRecord, Traffic};
use stunner_turn::{ClientTransport, LinkId, ListenerId};

use crate::client::{TestClient, channel_data};
use crate::world::{World, addr, default_rules, listener};

fn records(world: &mut World) -> Vec<SessionRecord> {
    world.take(|effect| match effect {
        Effect::Ended(record) => Some(record.clone()),
        _ => None,
    })
}

fn closed_clients(world: &mut World) -> usize {
    let closed = world.take(|effect| matches!(effect, Effect::CloseClient { .. }).then_some(()));
    closed.len()
}

#[test]
fn a_removed_listener_ends_its_sessions_and_no_others() {
    let mut world = World::new();
    let other = ListenerId(2);
    world.change(|policy| {
        policy.listeners.insert(other, listener(default_rules()));
    });
    for port in 1..=10 {
        let transport = match port % 2 {
            0 => ClientTransport::Tls,
            _ => ClientTransport::Udp,
        };
        let mut client = TestClient::new(transport, &format!("198.51.100.1:{port}"));
        if port > 6 {
            client.path.listener = other;
        }
        assert_eq!(client.allocate(&mut world).code(), 200);
    }
    world.server.end_listener(world.now, other);
    world.settle();
    let ended = records(&mut world);
    assert_eq!(ended.len(), 4);
    assert!(
        ended
            .iter()
            .all(|r| r.why == EndReason::ListenerRemoved && r.listener == other)
    );
    assert_eq!(
        closed_clients(&mut world),
        2,
        "the TLS ones are told by closing"
    );
    assert_eq!(world.server.allocation_count(), 6);
    let stats = world.server.stats();
    assert_eq!(stats.allocations_started - stats.allocations_ended, 6);
}

#[test]
fn a_closed_connection_ends_its_allocation() {
    let mut world = World::new();
    let mut client = TestClient::tcp("198.51.100.1:5000");
    client.allocate(&mut world);
    world.server.client_closed(world.now, &client.path.tuple);
    world.settle();
    assert_eq!(records(&mut world)[0].why, EndReason::ClientClosed);
    assert_eq!(closed_clients(&mut world), 0);
    world.server.client_closed(world.now, &client.path.tuple);
    world.settle();
    assert!(records(&mut world).is_empty());
}

#[test]
fn an_operator_ends_one_session() {
    let mut world = World::new();
    let mut client = TestClient::tcp("198.51.100.1:5000");
    client.allocate(&mut world);
    let id = world.only();
    let now = world.now;
    assert!(world.server.end_allocation(now, id, EndReason::Killed));
    assert!(!world.server.end_allocation(now, id, EndReason::Killed));
    world.settle();
    assert_eq!(records(&mut world)[0].why, EndReason::Killed);
    assert_eq!(closed_clients(&mut world), 1);
}

#[test]
fn the_record_of_a_session_tells_who_how_long_and_how_much() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    world.advance(61);
    world.deliver(&client.path, &channel_data(0x4000, b"12345"));
    world.relayed_from_peer(id, "10.1.0.1:9", 100);
    world.relayed_from_peer(id, "10.1.0.1:9", 100);
    client.refresh(&mut world, Some(0));
    let record = records(&mut world).remove(0);
    assert_eq!(&*record.user, "user");
    assert_eq!(record.path.tuple, client.path.tuple);
    assert_eq!(record.relayed, [addr("203.0.113.1:50000")]);
    assert_eq!(record.duration_ms, 61_000);
    let sent = Traffic {
        packets: 1,
        bytes: 5,
    };
    let received = Traffic {
        packets: 2,
        bytes: 200,
    };
    assert_eq!((record.to_peer, record.to_client), (sent, received));
}

#[test]
fn answers_follow_the_client_to_another_socket_of_the_same_5_tuple() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.path.link = LinkId(77);
    client.permit(&mut world, &["10.1.0.1:1"]);
    let to_client = world.relayed_from_peer(id, "10.1.0.1:9", 1);
    assert_eq!(to_client.path.link, LinkId(77));
}

#[test]
fn sessions_can_be_listed_with_their_peers() {
    let mut world = World::new();
    let (mut client, id) = world.allocated();
    client.permit(&mut world, &["10.1.0.2:1"]);
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    let session = world.server.sessions().next().unwrap();
    assert_eq!(session.allocation, id);
    assert_eq!(&**session.username(), "user");
    assert_eq!(session.path().tuple, client.path.tuple);
    let relayed: Vec<_> = session.relayed().collect();
    assert_eq!(relayed, [addr("203.0.113.1:50000")]);
    let mut permitted: Vec<_> = session
        .permissions()
        .map(|(ip, _)| ip.to_string())
        .collect();
    permitted.sort();
    assert_eq!(permitted, ["10.1.0.1", "10.1.0.2"]);
    let channels: Vec<_> = session.channels().map(|(n, peer, _)| (n, peer)).collect();
    assert_eq!(channels, [(0x4000, addr("10.1.0.1:9"))]);
}
