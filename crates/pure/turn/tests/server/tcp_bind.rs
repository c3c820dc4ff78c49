//! ConnectionBind and the end of connections: RFC 6062 §5.4 and §5.5.

use stunner_stun::Method;
use stunner_turn::server::{ConnectionId, Effect, Settings, Traffic};
use stunner_turn::{AllocationId, ClientTransport};

use crate::client::TestClient;
use crate::tcp::{attempts, closed_peers, connected, tcp_allocation};
use crate::world::{REALM, World, static_auth};

/// A TCP allocation with one connection that waits to be bound.
fn unbound(world: &mut World) -> (TestClient, AllocationId, ConnectionId) {
    let (mut client, id) = tcp_allocation(world);
    client.connect(world, "10.1.0.1:80");
    let connection = attempts(world)[0].0;
    connected(world, connection, Ok(()));
    world.answer_to(&client.path).unwrap();
    (client, id, connection)
}

fn data_client() -> TestClient {
    TestClient::tcp("198.51.100.1:6000")
}

fn closed_clients(world: &mut World) -> usize {
    let closed = world.take(|effect| matches!(effect, Effect::CloseClient { .. }).then_some(()));
    closed.len()
}

#[test]
fn rfc6062_5_4_a_second_connection_is_bound_to_the_peer() {
    let mut world = World::new();
    let (_, _, connection) = unbound(&mut world);
    let mut data = data_client();
    let answer = data.connection_bind(&mut world, connection.0);
    assert_eq!(answer.code(), 200);
    assert!(answer.is_signed());
    let path = data.path;
    let bound = Effect::BindPeer { connection, path };
    assert!(world.effects.contains(&bound));
    // Bound once, it cannot be bound again, and it does not time out.
    let mut second = TestClient::tcp("198.51.100.1:6001");
    assert_eq!(second.connection_bind(&mut world, connection.0).code(), 400);
    world.advance(500);
    assert!(closed_peers(&mut world).is_empty());
}

#[test]
fn rfc6062_5_4_binding_what_is_not_there_gets_400() {
    let mut world = World::new();
    let (mut control, _, connection) = unbound(&mut world);
    let unknown = connection.0 ^ 1;
    assert_eq!(
        data_client().connection_bind(&mut world, unknown).code(),
        400
    );
    let nothing = data_client().ask(&mut world, Method::CONNECTION_BIND, |_| {});
    assert_eq!(nothing.code(), 400);
    let mut datagram = TestClient::udp("198.51.100.1:7000");
    assert_eq!(
        datagram.connection_bind(&mut world, connection.0).code(),
        400
    );
    let answer = control.connection_bind(&mut world, connection.0);
    assert_eq!(answer.code(), 400, "the control connection carries no data");
    assert_eq!(
        data_client()
            .connection_bind(&mut world, connection.0)
            .code(),
        200
    );
}

#[test]
fn one_client_connection_carries_one_peer_connection() {
    let mut world = World::new();
    let (mut control, _, connection) = unbound(&mut world);
    let mut data = data_client();
    assert_eq!(data.connection_bind(&mut world, connection.0).code(), 200);
    control.connect(&mut world, "10.1.0.2:80");
    let second = attempts(&mut world)[0].0;
    connected(&mut world, second, Ok(()));
    assert_eq!(data.connection_bind(&mut world, second.0).code(), 400);
}

#[test]
fn a_connection_that_is_still_being_made_cannot_be_bound() {
    let mut world = World::new();
    let (mut client, _) = tcp_allocation(&mut world);
    client.connect(&mut world, "10.1.0.1:80");
    let connection = attempts(&mut world)[0].0;
    assert_eq!(
        data_client()
            .connection_bind(&mut world, connection.0)
            .code(),
        400
    );
    connected(&mut world, connection, Ok(()));
    assert_eq!(
        data_client()
            .connection_bind(&mut world, connection.0)
            .code(),
        200
    );
}

#[test]
fn rfc6062_5_2_a_connection_that_nobody_binds_is_closed_after_30_seconds() {
    let mut world = World::new();
    let (mut client, _, connection) = unbound(&mut world);
    world.advance_ms(29_999);
    assert!(closed_peers(&mut world).is_empty());
    world.advance_ms(1);
    assert_eq!(closed_peers(&mut world), [connection]);
    assert_eq!(
        data_client()
            .connection_bind(&mut world, connection.0)
            .code(),
        400
    );
    assert_eq!(client.connect(&mut world, "10.1.0.1:80"), None);
}

#[test]
fn a_connection_of_an_allocation_whose_time_is_over_cannot_be_bound() {
    let mut world = World::new();
    let (mut client, _) = tcp_allocation(&mut world);
    world.advance(590);
    client.connect(&mut world, "10.1.0.1:80");
    let connection = attempts(&mut world)[0].0;
    connected(&mut world, connection, Ok(()));
    // The timer is late.
    world.now.millis += 10_000;
    assert_eq!(
        data_client()
            .connection_bind(&mut world, connection.0)
            .code(),
        400
    );
    assert_eq!(closed_peers(&mut world), [connection]);
}

#[test]
fn a_connection_is_bound_by_the_user_of_its_allocation_only() {
    let mut world = World::with_auth(crate::world::ephemeral_auth("secret"));
    let alice = format!("{}:alice", crate::world::UNIX + 1000);
    let mallory = format!("{}:mallory", crate::world::UNIX + 1000);
    let mut control = TestClient::tcp("198.51.100.1:5000").with_ephemeral(&alice, "secret");
    control.allocate_tcp(&mut world);
    control.connect(&mut world, "10.1.0.1:80");
    let connection = attempts(&mut world)[0].0;
    connected(&mut world, connection, Ok(()));
    let mut thief = data_client().with_ephemeral(&mallory, "secret");
    assert_eq!(thief.connection_bind(&mut world, connection.0).code(), 441);
    let mut owner = data_client().with_ephemeral(&alice, "secret");
    assert_eq!(owner.connection_bind(&mut world, connection.0).code(), 200);
}

#[test]
fn connect_and_bind_go_on_with_the_credentials_of_the_allocation() {
    let mut world = World::new();
    let (mut control, _) = tcp_allocation(&mut world);
    world.set_auth("new.realm", static_auth("user", "rotated"));
    assert_eq!(control.connect(&mut world, "10.1.0.1:80"), None);
    let connection = attempts(&mut world)[0].0;
    connected(&mut world, connection, Ok(()));
    assert_eq!(world.answer_to(&control.path).unwrap().code(), 200);
    let mut data = data_client();
    assert_eq!(data.connection_bind(&mut world, connection.0).code(), 200);
    assert_eq!(
        data.realm, REALM,
        "challenged in the realm of the allocation"
    );
}

#[test]
fn a_bind_for_another_shard_is_forwarded_unopened() {
    let settings = Settings {
        shards: 8,
        ..Settings::default()
    };
    let mut world = World::build(static_auth("user", "pass"), settings, 0);
    let mut data = data_client();
    let bind = |world: &mut World, data: &mut TestClient, id: u32| {
        data.try_ask(world, Method::CONNECTION_BIND, |writer| {
            writer.connection_id(id);
        })
    };
    assert_eq!(bind(&mut world, &mut data, 0x0500_0001), None);
    let path = data.path;
    let forwarded = Effect::ForwardBind { shard: 5, path };
    assert_eq!(world.effects, [forwarded]);
    // There is no shard 8, and our own is 3: those are answered here.
    assert_eq!(
        bind(&mut world, &mut data, 0x0800_0001).unwrap().code(),
        401
    );
    assert_eq!(
        bind(&mut world, &mut data, 0x0300_0001).unwrap().code(),
        401
    );
}

#[test]
fn either_side_of_a_bound_pair_closes_the_other() {
    let mut world = World::new();
    let (_, _, connection) = unbound(&mut world);
    let mut data = data_client();
    data.connection_bind(&mut world, connection.0);
    world.server.peer_closed(world.now, connection);
    world.settle();
    assert_eq!(closed_clients(&mut world), 1);
    assert!(closed_peers(&mut world).is_empty(), "it has closed already");

    let mut world = World::new();
    let (_, _, connection) = unbound(&mut world);
    let mut data = data_client();
    data.connection_bind(&mut world, connection.0);
    world.server.client_closed(world.now, &data.path.tuple);
    world.settle();
    assert_eq!(closed_peers(&mut world), [connection]);
    assert_eq!(closed_clients(&mut world), 0);
    assert_eq!(world.server.allocation_count(), 1);
}

#[test]
fn a_peer_that_closes_before_it_is_bound_is_forgotten() {
    let mut world = World::new();
    let (_, _, connection) = unbound(&mut world);
    world.server.peer_closed(world.now, connection);
    world.settle();
    assert_eq!(
        data_client()
            .connection_bind(&mut world, connection.0)
            .code(),
        400
    );
}

#[test]
fn the_end_of_an_allocation_closes_its_connections() {
    let mut world = World::new();
    let (mut control, _, connection) = unbound(&mut world);
    let mut data = data_client();
    data.connection_bind(&mut world, connection.0);
    control.connect(&mut world, "10.1.0.2:80");
    let pending = attempts(&mut world)[0].0;
    let delete = control.compose(Method::REFRESH, |writer| {
        writer.lifetime(0);
    });
    world.deliver(&control.path, &delete);
    let codes = [(); 2].map(|()| world.answer_to(&control.path).unwrap().code());
    assert_eq!(
        codes,
        [447, 200],
        "the Connect that waited, then the Refresh"
    );
    let mut closed = closed_peers(&mut world);
    closed.sort();
    let mut expected = [connection, pending];
    expected.sort();
    assert_eq!(closed, expected);
    assert_eq!(closed_clients(&mut world), 1);
    world.server.peer_closed(world.now, connection);
    world.settle();
    assert_eq!(world.server.next_deadline(), None);
}

#[test]
fn a_client_that_is_gone_gets_no_answer_to_its_connect() {
    let mut world = World::new();
    let (mut control, _) = tcp_allocation(&mut world);
    control.connect(&mut world, "10.1.0.2:80");
    let pending = attempts(&mut world)[0].0;
    world.server.client_closed(world.now, &control.path.tuple);
    world.settle();
    assert_eq!(closed_peers(&mut world), [pending]);
    assert!(world.sent.is_empty());
}

#[test]
fn a_policy_that_withdraws_a_peer_closes_its_connections() {
    let mut world = World::new();
    let (_, _, connection) = unbound(&mut world);
    let mut data = data_client();
    data.connection_bind(&mut world, connection.0);
    world.set_rules(crate::world::default_rules());
    assert!(closed_peers(&mut world).is_empty());
    world.set_rules(vec![]);
    assert_eq!(closed_peers(&mut world), [connection]);
    assert_eq!(closed_clients(&mut world), 1);
    assert_eq!(world.server.allocation_count(), 1);
}

#[test]
fn bytes_of_a_bound_connection_count_for_the_session() {
    let mut world = World::new();
    let (_, _, connection) = unbound(&mut world);
    data_client().connection_bind(&mut world, connection.0);
    world.advance(70);
    assert_eq!(world.server.active_allocation_count(world.now, 60_000), 0);
    world
        .server
        .connection_traffic(world.now, connection, 10, 0);
    world.server.connection_traffic(world.now, connection, 0, 7);
    assert_eq!(world.server.active_allocation_count(world.now, 60_000), 1);
    let session = world.server.sessions().next().unwrap();
    let (packets, bytes) = (1, 10);
    assert_eq!(session.to_peer(), Traffic { packets, bytes });
    let bytes = 7;
    assert_eq!(session.to_client(), Traffic { packets, bytes });
}

#[test]
fn tls_clients_bind_too() {
    let mut world = World::new();
    let (_, _, connection) = unbound(&mut world);
    let mut data = TestClient::new(ClientTransport::Tls, "198.51.100.1:6000");
    assert_eq!(data.connection_bind(&mut world, connection.0).code(), 200);
}
