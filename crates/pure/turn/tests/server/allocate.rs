//! Allocate: RFC 8656 §7.2.

use stunner_stun::{Family, Method, attr};
use stunner_turn::server::{DropReason, Effect, RelayRefusal};
use stunner_turn::{ClientTransport, LinkId};

use crate::client::{Answer, TestClient};
use crate::world::{Relays, World, addr};

fn client() -> TestClient {
    TestClient::udp("198.51.100.1:5000")
}

#[test]
fn an_allocation_names_relayed_and_mapped_address_and_lifetime() {
    for transport in [
        ClientTransport::Udp,
        ClientTransport::Tcp,
        ClientTransport::Tls,
        ClientTransport::Dtls,
    ] {
        let mut world = World::new();
        let mut client = TestClient::new(transport, "198.51.100.1:5000");
        let answer = client.allocate(&mut world);
        let message = answer.message();
        assert_eq!(answer.code(), 200);
        assert_eq!(answer.relayed(), [addr("203.0.113.1:50000")]);
        assert_eq!(answer.lifetime(), 600);
        assert_eq!(
            message.xor_address(attr::XOR_MAPPED_ADDRESS),
            Some(Ok(addr("198.51.100.1:5000")))
        );
        assert_eq!(message.software(), Some(Ok("stunner-test")));
        assert!(message.has_integrity());
        assert!(!message.contains(attr::RESERVATION_TOKEN));

        let started = world.take(|effect| match effect {
            Effect::Started(start) => Some(start.clone()),
            _ => None,
        });
        assert_eq!(started.len(), 1);
        assert_eq!(&*started[0].user, "user");
        assert_eq!(started[0].relayed, [addr("203.0.113.1:50000")]);
        let request = world.requests[0].id;
        let id = world.only();
        let ready = Effect::RelayReady {
            allocation: id,
            request,
        };
        assert!(world.effects.contains(&ready));
    }
}

#[test]
fn rfc8656_7_2_lifetimes_are_clamped_to_600_and_3600() {
    for (asked, granted) in [
        (0, 600),
        (30, 600),
        (600, 600),
        (601, 601),
        (3599, 3599),
        (3600, 3600),
        (3601, 3600),
        (u32::MAX, 3600),
    ] {
        let mut world = World::new();
        let answer = client().allocate_with(&mut world, |writer| {
            writer.lifetime(asked);
        });
        assert_eq!(answer.lifetime(), granted, "asked for {asked}");
        let session = world.server.sessions().next().unwrap();
        let expected = world.now.millis + u64::from(granted) * 1000;
        assert_eq!(session.expires(), expected);
    }
}

#[test]
fn rfc8656_7_2_a_repeated_request_gets_the_same_success() {
    let mut world = World::new();
    let mut client = client();
    let first = client.allocate_with(&mut world, |writer| {
        writer.lifetime(1000);
    });
    world.advance(3);
    client.repeat = true;
    let second = client.allocate_with(&mut world, |writer| {
        writer.lifetime(1000);
    });
    assert_eq!(first, second);
    assert_eq!(world.server.allocation_count(), 1);
    assert_eq!(world.requests.len(), 1);
}

#[test]
fn rfc8656_7_2_another_request_on_the_same_5_tuple_gets_437() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    let answer = client.allocate(&mut world);
    assert_eq!(answer.code(), 437);
    assert!(answer.is_signed());
    assert_eq!(world.server.allocation_count(), 1);
}

#[test]
fn every_part_of_the_5_tuple_counts() {
    let mut world = World::new();
    let (client, _) = world.allocated();
    let mut other_port = client.clone();
    other_port.path.tuple.client.set_port(5001);
    let mut other_local = client.clone();
    other_local.path.tuple.local.set_port(3479);
    let mut other_transport = client.clone();
    other_transport.path.tuple.transport = ClientTransport::Tcp;
    for client in [&mut other_port, &mut other_local, &mut other_transport] {
        assert_eq!(client.allocate(&mut world).code(), 200);
    }
    let mut same = client.clone();
    same.path.link = LinkId(99);
    assert_eq!(same.allocate(&mut world).code(), 437);
    assert_eq!(world.server.allocation_count(), 4);
}

type Attribute<'a> = (u16, &'a [u8]);

/// Allocates with exactly these attributes.
fn allocate_raw(attributes: &[Attribute<'_>], transport: ClientTransport) -> Answer {
    let mut world = World::new();
    let mut client = TestClient::new(transport, "198.51.100.1:5000");
    client.ask(&mut world, Method::ALLOCATE, |writer| {
        for (kind, value) in attributes {
            writer.attribute(*kind, value);
        }
    })
}

const UDP: Attribute<'static> = (attr::REQUESTED_TRANSPORT, &[17, 0, 0, 0]);
const TCP: Attribute<'static> = (attr::REQUESTED_TRANSPORT, &[6, 0, 0, 0]);
const TOKEN: Attribute<'static> = (attr::RESERVATION_TOKEN, &[1; 8]);
const EVEN: Attribute<'static> = (attr::EVEN_PORT, &[0]);
const EVEN_RESERVE: Attribute<'static> = (attr::EVEN_PORT, &[0x80]);
const WANT_V4: Attribute<'static> = (attr::REQUESTED_ADDRESS_FAMILY, &[1, 0, 0, 0]);
const WANT_V6: Attribute<'static> = (attr::REQUESTED_ADDRESS_FAMILY, &[2, 0, 0, 0]);
const ALSO_V4: Attribute<'static> = (attr::ADDITIONAL_ADDRESS_FAMILY, &[1, 0, 0, 0]);
const ALSO_V6: Attribute<'static> = (attr::ADDITIONAL_ADDRESS_FAMILY, &[2, 0, 0, 0]);
const NO_FRAGMENTS: Attribute<'static> = (attr::DONT_FRAGMENT, &[]);

#[test]
fn rfc8656_7_2_requests_that_make_no_sense_are_refused() {
    let cases: [(&[Attribute<'_>], u16); 21] = [
        (&[], 400),
        (&[(attr::REQUESTED_TRANSPORT, &[17])], 400),
        (&[(attr::REQUESTED_TRANSPORT, &[132, 0, 0, 0])], 442),
        (&[(attr::REQUESTED_TRANSPORT, &[0, 0, 0, 0])], 442),
        // RFC 6062 §5.1: TCP allocations need a stream.
        (&[TCP], 400),
        (&[UDP, TOKEN, EVEN], 400),
        (&[UDP, TOKEN, EVEN_RESERVE], 400),
        (&[UDP, TOKEN, WANT_V4], 400),
        (&[UDP, TOKEN, ALSO_V6], 400),
        (&[UDP, (attr::RESERVATION_TOKEN, &[1; 7])], 400),
        (&[UDP, (attr::EVEN_PORT, &[0, 0])], 400),
        (&[UDP, (attr::LIFETIME, &[0, 0])], 400),
        (&[UDP, WANT_V4, ALSO_V6], 400),
        (&[UDP, ALSO_V4], 400),
        (
            &[UDP, (attr::ADDITIONAL_ADDRESS_FAMILY, &[3, 0, 0, 0])],
            400,
        ),
        (&[UDP, (attr::REQUESTED_ADDRESS_FAMILY, &[3, 0, 0, 0])], 440),
        (&[UDP, (attr::REQUESTED_ADDRESS_FAMILY, &[1])], 400),
        (&[UDP, ALSO_V6, EVEN_RESERVE], 400),
        (&[UDP, ALSO_V6, EVEN], 200),
        (&[UDP, WANT_V6, EVEN_RESERVE, NO_FRAGMENTS], 200),
        (&[UDP, (attr::MOBILITY_TICKET, &[])], 200),
    ];
    for (attributes, code) in cases {
        let answer = allocate_raw(attributes, ClientTransport::Udp);
        assert_eq!(answer.code(), code, "{attributes:x?}");
        assert!(answer.is_signed());
    }
}

#[test]
fn rfc6062_5_1_a_tcp_allocation_takes_no_udp_attributes_and_no_datagram_client() {
    for forbidden in [EVEN, TOKEN, NO_FRAGMENTS] {
        let answer = allocate_raw(&[TCP, forbidden], ClientTransport::Tcp);
        assert_eq!(answer.code(), 400);
    }
    assert_eq!(allocate_raw(&[TCP], ClientTransport::Dtls).code(), 400);
    assert_eq!(allocate_raw(&[TCP], ClientTransport::Tcp).code(), 200);
    assert_eq!(allocate_raw(&[TCP], ClientTransport::Tls).code(), 200);
    let sctp = (attr::REQUESTED_TRANSPORT, [132, 0, 0, 0]);
    let answer = allocate_raw(&[(sctp.0, &sctp.1)], ClientTransport::Tcp);
    assert_eq!(answer.code(), 442);
}

#[test]
fn the_caller_s_refusals_become_error_codes() {
    for (refusal, code) in [
        (RelayRefusal::NoPort, 508),
        (RelayRefusal::Quota, 486),
        (RelayRefusal::FamilyUnsupported, 440),
        (RelayRefusal::BadReservation, 508),
    ] {
        let mut world = World::new();
        world.relays = Relays::Refuse(refusal);
        let mut client = client();
        let answer = client.allocate(&mut world);
        assert_eq!(answer.code(), code);
        assert!(answer.is_signed());
        assert_eq!(world.server.allocation_count(), 0);
        // The 5-tuple is free for the next try.
        world.relays = Relays::Grant;
        assert_eq!(client.allocate(&mut world).code(), 200);
    }
}

#[test]
fn rfc8656_7_2_an_even_port_and_its_neighbour_are_asked_for() {
    let mut world = World::new();
    world.reservation = Some([7; 8]);
    let answer = client().allocate_with(&mut world, |writer| {
        writer.even_port(true);
    });
    assert!(world.requests[0].even_port && world.requests[0].reserve_next);
    assert_eq!(answer.message().reservation_token(), Some(Ok([7; 8])));

    let mut second = TestClient::udp("198.51.100.1:5001");
    let answer = second.allocate_with(&mut world, |writer| {
        writer.reservation_token(&[7; 8]);
    });
    assert_eq!(answer.code(), 200);
    assert_eq!(world.requests[1].reservation, Some([7; 8]));
    assert!(!world.requests[1].even_port);

    let mut third = TestClient::udp("198.51.100.1:5002");
    let answer = third.allocate_with(&mut world, |writer| {
        writer.even_port(false);
    });
    assert!(world.requests[2].even_port && !world.requests[2].reserve_next);
    assert!(!answer.message().contains(attr::RESERVATION_TOKEN));
}

#[test]
fn while_the_sockets_are_being_opened_a_repetition_waits_and_another_request_gets_437() {
    let mut world = World::new();
    let mut client = client();
    client.allocate(&mut World::new());
    world.relays = Relays::Wait;
    let request = |client: &mut TestClient, world: &mut World| {
        client.try_ask(world, Method::ALLOCATE, |writer| {
            writer.requested_transport(17);
        })
    };
    assert_eq!(request(&mut client, &mut world), None);
    client.repeat = true;
    assert_eq!(request(&mut client, &mut world), None);
    assert_eq!(world.server.stats().dropped(DropReason::Duplicate), 1);
    let mut other = client.clone();
    other.repeat = false;
    assert_eq!(request(&mut other, &mut world).unwrap().code(), 437);

    let asked = world.requests[0].clone();
    let grant = world.grant(&asked);
    world.answer_waiting_relay(Ok(grant));
    let answer = world.answer_to(&client.path).unwrap();
    assert_eq!(answer.code(), 200);
    assert_eq!(world.requests.len(), 1);
}

#[test]
fn sockets_for_a_client_that_went_away_are_given_back() {
    let mut world = World::new();
    let mut client = TestClient::tcp("198.51.100.1:5000");
    client.allocate(&mut World::new());
    world.relays = Relays::Wait;
    client.try_ask(&mut world, Method::ALLOCATE, |writer| {
        writer.requested_transport(17);
    });
    world.server.client_closed(world.now, &client.path.tuple);
    let asked = world.requests[0].clone();
    let grant = world.grant(&asked);
    world.answer_waiting_relay(Ok(grant));
    assert_eq!(world.server.allocation_count(), 0);
    assert_eq!(
        world.effects,
        [Effect::AbandonRelay {
            request: asked.id,
            user: "user".into()
        }]
    );
    assert!(world.sent.is_empty());
}

#[test]
fn rfc8489_6_3_unknown_attributes_get_420_after_authentication_and_signed() {
    let mut world = World::new();
    let mut client = client();
    let unsigned = client.try_ask(&mut world, Method::ALLOCATE, |writer| {
        writer.requested_transport(17).attribute(0x7fff, b"?");
    });
    let unsigned = unsigned.unwrap();
    assert_eq!(unsigned.code(), 401, "who asks comes first");
    client.learn(&unsigned);
    let answer = client.allocate_with(&mut world, |writer| {
        writer.attribute(0x7fff, b"?").attribute(0xfff0, b"?");
    });
    assert_eq!(answer.code(), 420);
    assert!(answer.is_signed());
    let message = answer.message();
    let unknown: Vec<u16> = message.unknown_attributes().unwrap().unwrap().collect();
    assert_eq!(unknown, [0x7fff]);
}

#[test]
fn fingerprint_comes_back_to_those_who_sent_it() {
    let mut world = World::new();
    let mut client = client();
    client.fingerprint = true;
    let answer = client.allocate(&mut world);
    assert_eq!(answer.message().check_fingerprint(), Some(true));
    client.fingerprint = false;
    let answer = client.refresh(&mut world, None);
    assert_eq!(answer.message().check_fingerprint(), None);
}

#[test]
fn requested_family_reaches_the_caller() {
    let mut world = World::new();
    client().allocate_with(&mut world, |writer| {
        writer.requested_family(Family::V6);
    });
    let request = &world.requests[0];
    assert_eq!(request.v4, None);
    assert_eq!(request.v6, Some("2001:db8::1".parse().unwrap()));
}
