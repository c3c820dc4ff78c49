//! Credentials that change under live allocations.

use std::sync::Arc;

use stunner_config::AuthMethod;
use stunner_stun::{Method, attr};
use stunner_turn::AllocationId;
use stunner_turn::server::{AuthFailure, Credentials};

use crate::client::{TestClient, channel_data};
use crate::world::{REALM, UNIX, World, ephemeral_auth, static_auth};

fn all_requests_work(world: &mut World, client: &mut TestClient) {
    assert_eq!(client.refresh(world, None).code(), 200);
    assert_eq!(client.permit(world, &["10.1.0.1:1"]).code(), 200);
    assert_eq!(client.bind(world, 0x4001, "10.1.0.1:9000").code(), 200);
}

#[test]
fn a_live_allocation_goes_on_with_the_credentials_it_was_made_with() {
    let changes: [(&str, AuthMethod); 5] = [
        (REALM, static_auth("user", "other-password")),
        (REALM, static_auth("other-user", "pass")),
        ("new.realm", static_auth("user", "pass")),
        ("new.realm", ephemeral_auth("secret")),
        (REALM, AuthMethod::None),
    ];
    for (realm, method) in changes {
        let mut world = World::new();
        let (mut client, _) = world.allocated();
        world.set_auth(realm, method.clone());
        all_requests_work(&mut world, &mut client);
        // Also when its nonce has run out: the challenge is in the old realm.
        client.refresh(&mut world, Some(3600));
        world.advance(3500);
        client.refresh(&mut world, Some(3600));
        world.advance(200);
        let stale = client.refresh(&mut world, None);
        assert_eq!(stale.code(), 438);
        assert_eq!(stale.message().realm(), Some(Ok(REALM)));
        client.learn(&stale);
        all_requests_work(&mut world, &mut client);

        // A new allocation needs the new credentials.
        let mut newcomer = TestClient::udp("198.51.100.9:1");
        let answer = newcomer.allocate(&mut world);
        match method {
            AuthMethod::None => assert_eq!(answer.code(), 400),
            _ if realm == "new.realm" && method == static_auth("user", "pass") => {
                assert_eq!(answer.code(), 200);
                assert_eq!(newcomer.realm, "new.realm");
            }
            _ => assert_eq!(answer.code(), 401),
        }
    }
}

#[test]
fn an_unsigned_request_on_a_live_allocation_is_challenged_in_its_realm() {
    let mut world = World::new();
    let (client, _) = world.allocated();
    world.set_auth("new.realm", AuthMethod::None);
    let mut bare = client.clone();
    bare.nonce.clear();
    let challenge = bare.try_ask(&mut world, Method::REFRESH, |_| {}).unwrap();
    assert_eq!(challenge.code(), 401);
    assert_eq!(challenge.message().realm(), Some(Ok(REALM)));
}

#[test]
fn the_old_credentials_are_worthless_once_the_allocation_has_ended() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    world.set_auth(REALM, static_auth("user", "rotated"));
    assert_eq!(client.refresh(&mut world, Some(0)).code(), 200);
    assert_eq!(client.allocate(&mut world).code(), 401);
}

#[test]
fn the_new_password_of_the_same_user_works_on_a_live_allocation_too() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    world.set_auth(REALM, static_auth("user", "rotated"));
    client.password = "rotated".into();
    all_requests_work(&mut world, &mut client);
    client.password = "pass".into();
    all_requests_work(&mut world, &mut client);
    client.password = "neither".into();
    assert_eq!(client.refresh(&mut world, None).code(), 401);
}

fn ephemeral_allocation(world: &mut World, name: &str) -> (TestClient, AllocationId) {
    let mut client = TestClient::udp("198.51.100.1:5000").with_ephemeral(name, "secret");
    assert_eq!(client.allocate(world).code(), 200);
    (client, world.only())
}

#[test]
fn an_ephemeral_credential_that_expires_does_not_end_its_allocation() {
    let mut world = World::with_auth(ephemeral_auth("secret"));
    let name = format!("{}:alice", UNIX + 10);
    let (mut client, id) = ephemeral_allocation(&mut world, &name);
    world.advance(500);
    all_requests_work(&mut world, &mut client);
    world.deliver(&client.path, &channel_data(0x4001, b"x"));
    assert_eq!(world.only(), id);
    // But it starts nothing new.
    let mut again = client.clone();
    again.path.tuple.client.set_port(5001);
    assert_eq!(again.allocate(&mut world).code(), 401);
}

#[test]
fn a_renewed_credential_of_the_same_user_id_is_welcome_and_another_user_gets_441() {
    let mut world = World::with_auth(ephemeral_auth("secret"));
    let name = format!("{}:alice", UNIX + 10);
    let (client, _) = ephemeral_allocation(&mut world, &name);
    world.advance(100);
    let renewed = format!("{}:alice", UNIX + 5000);
    let mut renewed = client.clone().with_ephemeral(&renewed, "secret");
    all_requests_work(&mut world, &mut renewed);

    let mallory = format!("{}:mallory", UNIX + 5000);
    let mut mallory = client.clone().with_ephemeral(&mallory, "secret");
    let answer = mallory.refresh(&mut world, Some(0));
    assert_eq!(answer.code(), 441);
    assert!(answer.is_signed());
    assert_eq!(mallory.permit(&mut world, &["10.1.0.1:1"]).code(), 441);
    assert_eq!(mallory.bind(&mut world, 0x4001, "10.1.0.1:1").code(), 441);
    assert_eq!(mallory.allocate(&mut world).code(), 437);
    let strangers = world.server.stats().auth_failed(AuthFailure::OtherUser);
    assert_eq!(strangers, 3);

    let expired = format!("{}:alice", UNIX + 20);
    let mut expired = client.clone().with_ephemeral(&expired, "secret");
    assert_eq!(expired.refresh(&mut world, None).code(), 401);
}

#[test]
fn a_renewed_credential_may_use_the_realm_of_the_allocation() {
    let mut world = World::with_auth(ephemeral_auth("secret"));
    let name = format!("{}:alice", UNIX + 10);
    let (client, _) = ephemeral_allocation(&mut world, &name);
    world.set_auth("new.realm", ephemeral_auth("new-secret"));
    let renewed = format!("{}:alice", UNIX + 5000);
    let mut renewed = client.clone().with_ephemeral(&renewed, "new-secret");
    assert_eq!(renewed.realm, REALM);
    all_requests_work(&mut world, &mut renewed);
    renewed.realm = "new.realm".into();
    all_requests_work(&mut world, &mut renewed);
}

#[test]
fn the_previous_credentials_start_allocations_during_the_grace_and_not_after() {
    for new_realm in [REALM, "new.realm"] {
        let mut world = World::new();
        let until = world.now.millis + 30_000;
        world.change(|policy| {
            policy.auth.previous = Some((policy.auth.current.clone(), until));
            let method = static_auth("user", "rotated");
            policy.auth.current = Arc::new(Credentials::new(new_realm, method, None));
        });
        for (port, password) in [(1, "pass"), (2, "rotated")] {
            let mut client = TestClient::udp(&format!("198.51.100.1:{port}"));
            client.password = password.into();
            assert_eq!(client.allocate(&mut world).code(), 200, "{password}");
            assert_eq!(client.realm, new_realm);
        }
        // A client that still knows the realm of before may use it.
        let mut old = TestClient::udp("198.51.100.1:3");
        let challenge = old.try_ask(&mut world, Method::ALLOCATE, |_| {}).unwrap();
        old.learn(&challenge);
        old.realm = REALM.into();
        assert_eq!(old.allocate(&mut world).code(), 200);

        world.advance_ms(30_000);
        let mut late = TestClient::udp("198.51.100.1:4");
        assert_eq!(late.allocate(&mut world).code(), 401);
        // What was allocated during the grace goes on.
        assert_eq!(old.refresh(&mut world, None).code(), 200);
    }
}

#[test]
fn a_grace_outlives_the_switch_to_none() {
    let mut world = World::new();
    let until = world.now.millis + 30_000;
    world.change(|policy| {
        policy.auth.previous = Some((policy.auth.current.clone(), until));
        policy.auth.current = Arc::new(Credentials::new(REALM, AuthMethod::None, None));
    });
    let mut client = TestClient::udp("198.51.100.1:1");
    assert_eq!(client.allocate(&mut world).code(), 200);
    world.advance_ms(30_000);
    let mut late = TestClient::udp("198.51.100.1:4");
    assert_eq!(late.allocate(&mut world).code(), 400);
}

#[test]
fn none_to_static_turns_turn_on_at_once() {
    let mut world = World::with_auth(AuthMethod::None);
    let mut client = TestClient::udp("198.51.100.1:1");
    assert_eq!(client.allocate(&mut world).code(), 400);
    world.set_auth(REALM, static_auth("user", "pass"));
    let answer = client.allocate(&mut world);
    assert_eq!(answer.code(), 200);
    assert!(answer.message().contains(attr::SOFTWARE));
}
