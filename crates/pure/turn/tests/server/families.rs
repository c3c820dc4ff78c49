//! IPv4, IPv6 and both: RFC 8656 §7.2 on address families.

use stunner_config::RelayAddresses;
use stunner_stun::{Family, Method, attr};
use stunner_turn::server::Effect;

use crate::client::{Answer, TestClient, channel_data};
use crate::world::{LISTENER, Relays, World, addr};

fn world_with(v4: bool, v6: bool, wildcard: bool) -> World {
    let mut world = World::new();
    world.change(|policy| {
        let listener = policy.listeners.get_mut(&LISTENER).unwrap();
        listener.addresses = RelayAddresses {
            v4: v4.then_some([203, 0, 113, 1].into()),
            v6: v6.then(|| "2001:db8::1".parse().unwrap()),
            wildcard,
        };
    });
    world
}

const V4_CLIENT: &str = "198.51.100.1:5000";
const V6_CLIENT: &str = "[2001:db8::99]:5000";

fn allocate(world: &mut World, client: &str, family: Option<Family>) -> Answer {
    TestClient::udp(client).allocate_with(world, |writer| {
        if let Some(family) = family {
            writer.requested_family(family);
        }
    })
}

#[test]
fn the_listener_s_address_fixes_the_family() {
    for client in [V4_CLIENT, V6_CLIENT] {
        let mut world = world_with(true, true, false);
        assert!(allocate(&mut world, client, None).relayed()[0].is_ipv4());
        let mut world = world_with(true, false, false);
        assert!(allocate(&mut world, client, None).relayed()[0].is_ipv4());
        let mut world = world_with(false, true, false);
        assert!(allocate(&mut world, client, None).relayed()[0].is_ipv6());
    }
}

#[test]
fn a_wildcard_listener_relays_from_where_the_client_came_to() {
    let mut world = world_with(false, false, true);
    let answer = allocate(&mut world, V4_CLIENT, None);
    assert_eq!(answer.relayed()[0].ip(), addr("203.0.113.1:1").ip());
    let answer = allocate(&mut world, V6_CLIENT, None);
    assert_eq!(answer.relayed()[0].ip(), addr("[2001:db8::1]:1").ip());

    let mut mapped = TestClient::udp(V4_CLIENT);
    mapped.path.tuple.local = addr("[::ffff:203.0.113.1]:3478");
    mapped.path.tuple.client = addr("[::ffff:198.51.100.1]:1");
    let answer = mapped.allocate(&mut world);
    assert_eq!(answer.relayed()[0].ip(), addr("203.0.113.1:1").ip());
}

#[test]
fn rfc8656_7_2_a_family_that_the_listener_lacks_gets_440() {
    let v4 = Some(Family::V4);
    let v6 = Some(Family::V6);
    let mut world = world_with(true, false, false);
    assert_eq!(allocate(&mut world, V6_CLIENT, v6).code(), 440);
    let mut world = world_with(false, true, false);
    assert_eq!(allocate(&mut world, V4_CLIENT, v4).code(), 440);
    let mut world = world_with(false, false, true);
    assert_eq!(allocate(&mut world, V4_CLIENT, v6).code(), 440);
    let mut world = world_with(false, false, false);
    assert_eq!(allocate(&mut world, V4_CLIENT, None).code(), 440);
}

#[test]
fn either_family_can_be_had_by_clients_of_either_family() {
    for client in [V4_CLIENT, V6_CLIENT] {
        for family in [Family::V4, Family::V6] {
            let mut world = World::new();
            let answer = allocate(&mut world, client, Some(family));
            let relayed = answer.relayed();
            assert_eq!(relayed.len(), 1);
            assert_eq!(Family::of(&relayed[0].ip()), family);
        }
    }
}

fn allocate_both(world: &mut World) -> (TestClient, Answer) {
    let mut client = TestClient::udp(V4_CLIENT);
    let answer = client.allocate_with(world, |writer| {
        writer.additional_family(Family::V6);
    });
    (client, answer)
}

fn address_errors(answer: &Answer) -> Vec<(Family, u16)> {
    let message = answer.message();
    let errors = message.address_errors().map(Result::unwrap);
    errors.map(|error| (error.family, error.code)).collect()
}

#[test]
fn a_dual_allocation_has_both_addresses_and_reaches_peers_of_both() {
    let mut world = World::new();
    let (mut client, answer) = allocate_both(&mut world);
    let relayed = answer.relayed();
    assert_eq!(relayed.len(), 2);
    assert!(relayed[0].is_ipv4() && relayed[1].is_ipv6());
    assert_eq!(address_errors(&answer), []);
    let peers = ["10.1.0.1:1", "[2001:db8:1::7]:1"];
    assert_eq!(client.permit(&mut world, &peers).code(), 200);
    assert_eq!(client.bind(&mut world, 0x4000, "10.1.0.1:9").code(), 200);
    let v6_peer = "[2001:db8:1::7]:9";
    assert_eq!(client.bind(&mut world, 0x4001, v6_peer).code(), 200);
    let id = world.only();
    world.relayed_from_peer(id, "10.1.0.1:9", 10);
    world.relayed_from_peer(id, v6_peer, 10);
}

#[test]
fn rfc8656_7_2_half_a_dual_allocation_says_what_is_missing() {
    let mut world = world_with(true, false, false);
    let (_, answer) = allocate_both(&mut world);
    assert_eq!(answer.code(), 200);
    assert_eq!(answer.relayed().len(), 1);
    assert_eq!(address_errors(&answer), [(Family::V6, 440)]);

    let mut world = world_with(false, true, false);
    let (_, answer) = allocate_both(&mut world);
    assert_eq!(address_errors(&answer), [(Family::V4, 440)]);

    let mut world = World::new();
    world.relays = Relays::OnlyV4;
    let (mut client, answer) = allocate_both(&mut world);
    assert_eq!(address_errors(&answer), [(Family::V6, 508)]);
    client.repeat = true;
    let again = client.allocate_with(&mut world, |writer| {
        writer.additional_family(Family::V6);
    });
    assert_eq!(again, answer);
    client.repeat = false;
    assert_eq!(
        client.permit(&mut world, &["[2001:db8:1::7]:1"]).code(),
        443
    );

    let mut world = World::new();
    world.relays = Relays::OnlyV6;
    let (_, answer) = allocate_both(&mut world);
    assert_eq!(address_errors(&answer), [(Family::V4, 508)]);
}

#[test]
fn one_family_of_two_can_be_given_up_alone() {
    let mut world = World::new();
    let (mut client, _) = allocate_both(&mut world);
    let id = world.only();
    client.bind(&mut world, 0x4000, "10.1.0.1:9");
    client.bind(&mut world, 0x4001, "[2001:db8:1::7]:9");
    world.effects.clear();
    let give_up = |family| {
        move |writer: &mut stunner_stun::MessageWriter<'_>| {
            writer.lifetime(0).requested_family(family);
        }
    };
    let answer = client.ask(&mut world, Method::REFRESH, give_up(Family::V6));
    assert_eq!(answer.lifetime(), 0);
    assert_eq!(world.only(), id);
    let closed = world.take(|effect| match effect {
        Effect::CloseRelayAddress { relayed, .. } => Some(*relayed),
        _ => None,
    });
    assert_eq!(closed, [addr("[2001:db8::1]:50000")]);
    let unbound = world.take(|effect| match effect {
        Effect::ChannelUnbound { number, .. } => Some(*number),
        _ => None,
    });
    assert_eq!(unbound, [0x4001]);
    world.relayed_from_peer(id, "10.1.0.1:9", 10);
    assert_eq!(
        client.permit(&mut world, &["[2001:db8:1::7]:1"]).code(),
        443
    );
    world.deliver(&client.path, &channel_data(0x4000, b"x"));

    // Asking for what is not there is a mistake; the last family ends the allocation.
    let answer = client.ask(&mut world, Method::REFRESH, give_up(Family::V6));
    assert_eq!(answer.code(), 443);
    let answer = client.ask(&mut world, Method::REFRESH, give_up(Family::V4));
    assert_eq!(answer.lifetime(), 0);
    assert_eq!(world.server.allocation_count(), 0);
}

#[test]
fn rfc8656_8_2_refresh_for_a_family_the_allocation_has_not_gets_443() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    for (family, code) in [(2, 443), (3, 443), (1, 200)] {
        let answer = client.ask(&mut world, Method::REFRESH, |writer| {
            writer.attribute(attr::REQUESTED_ADDRESS_FAMILY, &[family, 0, 0, 0]);
        });
        assert_eq!(answer.code(), code);
    }
}

#[test]
fn rfc8656_10_2_peers_of_another_family_get_443() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    assert_eq!(
        client.permit(&mut world, &["[2001:db8:1::7]:1"]).code(),
        443
    );
    let answer = client.bind(&mut world, 0x4000, "[2001:db8:1::7]:1");
    assert_eq!(answer.code(), 443);
}
