//! Guests: users for a short time who reach what is said for them alone.

use proptest::prelude::*;
use stunner_config::admission::ClusterId;
use stunner_config::{AuthMethod, PeerTransport};
use stunner_stun::{Method, PasswordAlgorithm};
use stunner_turn::AllocationId;
use stunner_turn::server::{
    AuthFailure, DropReason, Effect, EndReason, FromClient, FromPeer, Guest,
};

use crate::client::{Proof, TestClient, channel_data};
use crate::tcp::{attempts, connected};
use crate::world::{UNIX, World, addr, ephemeral_auth, listener, rule, static_auth};

const NAME: &str = "1700000060:ice-test-b1946ac9";
const PASSWORD: &str = "the-guest's-password";
const EXPIRES: u64 = UNIX + 60;
/// What the guest may reach: outside of what the listener routes.
const ECHO: &str = "192.0.2.77:40000";
/// What the listener routes.
const ROUTED: &str = "10.1.0.1:9";
const ECHO_CLUSTER: ClusterId = ClusterId(99);

fn guest_of(name: &str, password: &str, peer: &str) -> Guest {
    let peer = addr(peer);
    let net = format!("{}/32", peer.ip());
    let ports = (peer.port(), peer.port());
    let rules = vec![rule(ECHO_CLUSTER, PeerTransport::Udp, &net, ports)];
    Guest::new(name, password, EXPIRES, listener(rules).admission)
}

fn invite(world: &mut World) {
    world.change(|policy| policy.guests = vec![guest_of(NAME, PASSWORD, ECHO)]);
}

fn guest_client(port: u16) -> TestClient {
    TestClient::udp(&format!("198.51.100.2:{port}")).with_credentials(NAME, PASSWORD)
}

/// A guest with an allocation.
fn guest_in(world: &mut World) -> (TestClient, AllocationId) {
    invite(world);
    let mut client = guest_client(6000);
    assert_eq!(client.allocate(world).code(), 200);
    let id = allocation_of(world, &client);
    (client, id)
}

fn allocation_of(world: &World, client: &TestClient) -> AllocationId {
    let mut sessions = world.server.sessions();
    let session = sessions.find(|s| s.path().tuple == client.path.tuple);
    session.expect("an allocation").allocation
}

fn failures(world: &mut World) -> Vec<AuthFailure> {
    world.take(|effect| match effect {
        Effect::AuthFailed { reason, .. } => Some(*reason),
        _ => None,
    })
}

#[test]
fn a_guest_reaches_the_one_peer_and_nothing_that_the_listener_routes() {
    let mut world = World::new();
    let (mut guest, id) = guest_in(&mut world);
    assert_eq!(guest.bind(&mut world, 0x4000, ECHO).code(), 200);
    let bytes = channel_data(0x4000, b"ping");
    for _ in 0..2 {
        match world.deliver(&guest.path, &bytes) {
            FromClient::Relay(to_peer) => assert_eq!(to_peer.cluster, ECHO_CLUSTER),
            other => panic!("{other:?}"),
        }
        let to_client = world.relayed_from_peer(id, ECHO, 4);
        assert_eq!(to_client.cluster, ECHO_CLUSTER);
    }
    for peer in [ROUTED, "10.1.0.1:0", "192.0.2.77:40001", "192.0.2.78:40000"] {
        assert_eq!(guest.permit(&mut world, &[peer]).code(), 403, "{peer}");
        assert_eq!(guest.bind(&mut world, 0x4001, peer).code(), 403, "{peer}");
    }
    // The permission is for the address, but another port of it stays out of reach.
    let send = guest.send_indication("192.0.2.77:40001", b"x");
    let outcome = world.deliver(&guest.path, &send);
    assert_eq!(outcome, FromClient::Dropped(DropReason::Denied));
    let outcome = world.peer_sends(id, "192.0.2.77:40001", 1);
    assert_eq!(outcome, FromPeer::Dropped(DropReason::Denied));
    let outcome = world.peer_sends(id, ROUTED, 1);
    assert_eq!(outcome, FromPeer::Dropped(DropReason::NoPermission));
}

#[test]
fn a_user_of_the_configuration_does_not_reach_the_guests_peer() {
    let mut world = World::new();
    let (_, _) = guest_in(&mut world);
    let mut user = TestClient::udp("198.51.100.1:5000");
    assert_eq!(user.allocate(&mut world).code(), 200);
    assert_eq!(user.permit(&mut world, &[ECHO]).code(), 403);
    assert_eq!(user.bind(&mut world, 0x4000, ECHO).code(), 403);
    assert_eq!(user.bind(&mut world, 0x4000, ROUTED).code(), 200);
}

#[test]
fn two_guests_do_not_reach_each_others_peer() {
    let mut world = World::new();
    let other = ("1700000060:ice-test-other", "other", "192.0.2.80:50000");
    world.change(|policy| {
        policy.guests = vec![
            guest_of(NAME, PASSWORD, ECHO),
            guest_of(other.0, other.1, other.2),
        ];
    });
    let mut first = guest_client(6000);
    let mut second = guest_client(6001).with_credentials(other.0, other.1);
    for client in [&mut first, &mut second] {
        assert_eq!(client.allocate(&mut world).code(), 200);
    }
    assert_eq!(first.permit(&mut world, &[ECHO]).code(), 200);
    assert_eq!(first.permit(&mut world, &[other.2]).code(), 403);
    assert_eq!(second.permit(&mut world, &[other.2]).code(), 200);
    assert_eq!(second.permit(&mut world, &[ECHO]).code(), 403);
}

#[test]
fn a_guest_has_no_tcp_peers() {
    let mut world = World::new();
    invite(&mut world);
    let mut guest = TestClient::tcp("198.51.100.2:6000").with_credentials(NAME, PASSWORD);
    assert_eq!(guest.allocate_tcp(&mut world).code(), 200);
    for peer in [ECHO, "10.1.0.1:80"] {
        let answer = guest.connect(&mut world, peer).expect("an answer");
        assert_eq!(answer.code(), 403, "{peer}");
    }
    assert!(attempts(&mut world).is_empty());
}

#[test]
fn a_guest_has_to_know_the_password() {
    for method in [static_auth("user", "pass"), ephemeral_auth("secret")] {
        let mut world = World::with_auth(method);
        invite(&mut world);
        let mut wrong = guest_client(6000).with_credentials(NAME, "wrong");
        assert_eq!(wrong.allocate(&mut world).code(), 401);
        assert_eq!(failures(&mut world), [AuthFailure::BadIntegrity]);
        assert_eq!(world.server.allocation_count(), 0);
    }
}

#[test]
fn nothing_tells_a_guests_name_from_any_other() {
    for method in [static_auth("user", "pass"), ephemeral_auth("secret")] {
        let mut world = World::with_auth(method);
        invite(&mut world);
        let mut answers = Vec::new();
        for name in [NAME, "1700000060:ice-test-unknown1"] {
            let mut client = guest_client(6000).with_credentials(name, "wrong");
            let answer = client.allocate(&mut world);
            let error = answer.message().error().unwrap().unwrap();
            answers.push((error.code, error.reason.to_owned(), answer.bytes.len()));
        }
        assert_eq!(answers[0], answers[1]);
    }
}

#[test]
fn guests_come_in_whatever_way_users_prove_themselves() {
    for method in [static_auth("user", "pass"), ephemeral_auth("secret")] {
        for proof in [
            Proof::Classic,
            Proof::Modern(PasswordAlgorithm::Md5),
            Proof::Modern(PasswordAlgorithm::Sha256),
        ] {
            for use_userhash in [false, true] {
                let mut world = World::with_auth(method.clone());
                invite(&mut world);
                let mut guest = guest_client(6000);
                guest.proof = proof;
                guest.use_userhash = use_userhash;
                assert_eq!(guest.allocate(&mut world).code(), 200);
                assert_eq!(guest.permit(&mut world, &[ECHO]).code(), 200);
                assert_eq!(guest.permit(&mut world, &[ROUTED]).code(), 403);
                assert_eq!(guest.refresh(&mut world, None).code(), 200);
            }
        }
    }
}

#[test]
fn an_ephemeral_user_with_the_guests_name_stays_a_user() {
    let mut world = World::with_auth(ephemeral_auth("secret"));
    invite(&mut world);
    let mut user = TestClient::udp("198.51.100.1:5000").with_ephemeral(NAME, "secret");
    assert_eq!(user.allocate(&mut world).code(), 200);
    assert_eq!(user.permit(&mut world, &[ROUTED]).code(), 200);
    assert_eq!(user.permit(&mut world, &[ECHO]).code(), 403);
}

#[test]
fn a_guest_and_a_user_of_one_name_are_strangers() {
    let mut world = World::new();
    let (guest, _) = guest_in(&mut world);
    world.set_auth("stunner.l7mp.io", static_auth(NAME, "of the configuration"));
    let mut user = guest.clone();
    user.password = "of the configuration".into();
    assert_eq!(user.refresh(&mut world, Some(0)).code(), 441);
    assert_eq!(failures(&mut world), [AuthFailure::OtherUser]);
    assert_eq!(world.server.allocation_count(), 1);
}

#[test]
fn without_turn_there_are_no_guests_either() {
    let mut world = World::with_auth(AuthMethod::None);
    invite(&mut world);
    let mut guest = guest_client(6000);
    assert_eq!(guest.allocate(&mut world).code(), 400);
    assert_eq!(world.server.allocation_count(), 0);
}

#[test]
fn an_expired_guest_makes_no_allocation() {
    let mut world = World::new();
    invite(&mut world);
    world.advance(60);
    assert_eq!(guest_client(6000).allocate(&mut world).code(), 200);
    world.advance(1);
    assert_eq!(guest_client(6001).allocate(&mut world).code(), 401);
    assert_eq!(failures(&mut world), [AuthFailure::Expired]);
}

#[test]
fn a_guests_allocation_ends_a_minute_after_the_guest_whatever_it_asks_for() {
    let mut world = World::new();
    invite(&mut world);
    let mut guest = guest_client(6000);
    let answer = guest.allocate_with(&mut world, |writer| {
        writer.lifetime(3600);
    });
    assert_eq!(answer.lifetime(), 120);
    assert_eq!(guest.bind(&mut world, 0x4000, ECHO).code(), 200);
    for left in [120, 90, 61, 60, 59, 30, 1] {
        let now = world.now.unix;
        world.advance(EXPIRES + 60 - left - now);
        let answer = guest.refresh(&mut world, Some(3600));
        assert_eq!(answer.lifetime() as u64, left);
    }
    world.advance_ms(999);
    assert_eq!(world.server.allocation_count(), 1);
    world.advance_ms(1);
    assert_eq!(world.server.allocation_count(), 0);
    let ended = world.take(|effect| match effect {
        Effect::Ended(record) => Some(record.why),
        _ => None,
    });
    assert_eq!(ended, [EndReason::Expired]);
}

#[test]
fn a_guest_who_is_dismissed_reaches_nobody_any_more() {
    let mut world = World::new();
    let (mut guest, id) = guest_in(&mut world);
    guest.bind(&mut world, 0x4000, ECHO);
    world.relayed_from_peer(id, ECHO, 1);
    world.change(|policy| policy.guests.clear());
    let bytes = channel_data(0x4000, b"x");
    let outcome = world.deliver(&guest.path, &bytes);
    assert_eq!(outcome, FromClient::Dropped(DropReason::Denied));
    let outcome = world.peer_sends(id, ECHO, 1);
    assert_eq!(outcome, FromPeer::Dropped(DropReason::Denied));
    assert_eq!(guest.permit(&mut world, &[ECHO]).code(), 403);
    assert_eq!(guest.permit(&mut world, &[ROUTED]).code(), 403);
    let reports = world.take(|effect| matches!(effect, Effect::Denied(_)).then_some(()));
    assert_eq!(reports, [], "nobody needs to look into a farewell");
    assert_eq!(
        world.server.stats().denials().map(|(_, n)| n).sum::<u64>(),
        0
    );
    // Its own allocation can still be given up.
    assert_eq!(guest.refresh(&mut world, Some(0)).code(), 200);
    assert_eq!(guest_client(6001).allocate(&mut world).code(), 401);
}

#[test]
fn users_do_not_notice_guests_who_come_and_go() {
    let mut world = World::new();
    let mut user = TestClient::tcp("198.51.100.1:5000");
    assert_eq!(user.allocate_tcp(&mut world).code(), 200);
    assert_eq!(user.connect(&mut world, "10.1.0.1:80"), None);
    let (connection, _) = attempts(&mut world)[0];
    connected(&mut world, connection, Ok(()));
    let mut other = TestClient::udp("198.51.100.1:5001");
    assert_eq!(other.allocate(&mut world).code(), 200);
    assert_eq!(other.bind(&mut world, 0x4000, ROUTED).code(), 200);
    let bytes = channel_data(0x4000, b"x");
    for _ in 0..3 {
        invite(&mut world);
        assert!(matches!(
            world.deliver(&other.path, &bytes),
            FromClient::Relay(_)
        ));
        world.change(|policy| policy.guests.clear());
        assert!(matches!(
            world.deliver(&other.path, &bytes),
            FromClient::Relay(_)
        ));
    }
    assert!(world.server.connection_cluster(connection).is_some());
}

#[test]
fn quotas_and_records_know_a_guest_by_the_whole_name() {
    let mut world = World::with_auth(ephemeral_auth("secret"));
    let (_, _) = guest_in(&mut world);
    let request = world.requests.last().expect("an OpenRelay");
    assert_eq!(&*request.user, NAME);
    assert!(request.is_guests);
    let mut user = TestClient::udp("198.51.100.1:5000").with_ephemeral(NAME, "secret");
    assert_eq!(user.allocate(&mut world).code(), 200);
    assert!(!world.requests.last().expect("an OpenRelay").is_guests);
}

proptest! {
    /// Whatever is asked of which peer: a guest is let through to the echo peer alone, a user to what is routed alone,
    /// before and after any change of the guests.
    #[test]
    fn a_guest_and_a_user_never_share_a_peer(
        steps in prop::collection::vec((0u8..6, 0u8..4, 38_000u16..42_000, any::<bool>()), 1..60)
    ) {
        let mut world = World::new();
        let (mut guest, guest_id) = guest_in(&mut world);
        let mut user = TestClient::udp("198.51.100.1:5000");
        prop_assert_eq!(user.allocate(&mut world).code(), 200);
        let user_id = allocation_of(&world, &user);
        let mut invited = true;
        for (step, host, port, echo_port) in steps {
            let host = ["192.0.2.77", "10.1.0.1", "192.0.2.78", "172.16.0.1"][usize::from(host)];
            let port = if echo_port { 40_000 } else { port };
            let peer = format!("{host}:{port}");
            let is_echo = peer == ECHO;
            let is_routed = host == "10.1.0.1";
            match step {
                0 => {
                    invited = !invited;
                    match invited {
                        true => invite(&mut world),
                        false => world.change(|policy| policy.guests.clear()),
                    }
                }
                1 => {
                    let code = guest.permit(&mut world, &[&peer]).code();
                    prop_assert_eq!(code == 200, is_echo && invited);
                    let code = user.permit(&mut world, &[&peer]).code();
                    prop_assert_eq!(code == 200, is_routed);
                }
                2 | 3 => {
                    for (client, may) in [(&guest, is_echo && invited), (&user, is_routed)] {
                        let send = client.send_indication(&peer, b"x");
                        let outcome = world.deliver(&client.path, &send);
                        prop_assert!(may || !matches!(outcome, FromClient::Relay(_)));
                    }
                }
                _ => {
                    for (id, may) in [(guest_id, is_echo && invited), (user_id, is_routed)] {
                        let outcome = world.peer_sends(id, &peer, 1);
                        prop_assert!(may || !matches!(outcome, FromPeer::Relay(_)));
                    }
                }
            }
        }
    }
}

#[test]
fn a_guests_request_without_integrity_is_challenged_as_anybodys() {
    let mut world = World::new();
    invite(&mut world);
    let mut guest = guest_client(6000);
    let mut user = TestClient::udp("198.51.100.2:6001");
    let ask = |client: &mut TestClient, world: &mut World| {
        let answer = client.try_ask(world, Method::ALLOCATE, |writer| {
            writer.requested_transport(17);
        });
        let answer = answer.expect("a challenge");
        (answer.code(), answer.bytes.len())
    };
    let challenge = ask(&mut guest, &mut world);
    assert_eq!(challenge, ask(&mut user, &mut world));
    assert_eq!(challenge.0, 401);
}
