//! Long-term credentials: RFC 8489 §9.2.4, and what the configuration makes of them.

use std::sync::Arc;

use stunner_config::AuthMethod;
use stunner_stun::{MessageWriter, Method, PasswordAlgorithm, TransactionId, attr};
use stunner_turn::server::{AuthFailure, Credentials, DropReason, Effect, FromClient, Settings};

use crate::client::{Proof, TestClient};
use crate::world::{REALM, UNIX, World, ephemeral_auth, static_auth};

const REQUESTS: [Method; 6] = [
    Method::ALLOCATE,
    Method::REFRESH,
    Method::CREATE_PERMISSION,
    Method::CHANNEL_BIND,
    Method::CONNECT,
    Method::CONNECTION_BIND,
];

fn client() -> TestClient {
    TestClient::udp("198.51.100.1:5000")
}

fn udp(writer: &mut MessageWriter<'_>) {
    writer.requested_transport(17);
}

#[test]
fn rfc8489_9_2_4_a_request_without_integrity_is_challenged() {
    for method in REQUESTS {
        let mut world = World::new();
        let answer = client().try_ask(&mut world, method, udp).unwrap();
        let message = answer.message();
        assert_eq!(answer.code(), 401);
        assert_eq!(message.realm(), Some(Ok(REALM)));
        assert!(message.get(attr::NONCE).unwrap().starts_with(b"obMatJos2"));
        assert!(message.contains(attr::PASSWORD_ALGORITHMS));
        for forbidden in [attr::USERNAME, attr::USERHASH, attr::SOFTWARE] {
            assert!(!message.contains(forbidden));
        }
        assert!(!answer.is_signed());
    }
}

#[test]
fn a_challenge_with_the_default_realm_is_at_most_112_bytes() {
    let mut world = World::new();
    let challenge = client().try_ask(&mut world, Method::ALLOCATE, udp).unwrap();
    assert!(challenge.bytes.len() <= 112, "{}", challenge.bytes.len());
    // Counted with IP and UDP headers: 2.5 times the smallest Allocate.
    let smallest = 28 + 20 + 8;
    assert!((28 + challenge.bytes.len()) * 2 <= smallest * 5);
}

#[test]
fn rfc8489_9_2_4_integrity_without_name_realm_or_nonce_gets_400() {
    for missing in [attr::USERNAME, attr::REALM, attr::NONCE] {
        let mut world = World::new();
        let mut client = client();
        let challenge = client.try_ask(&mut world, Method::ALLOCATE, udp).unwrap();
        client.learn(&challenge);
        let mut buffer = [0; 512];
        let id = TransactionId([1; 12]);
        let class = stunner_stun::Class::Request;
        let mut writer = MessageWriter::new(&mut buffer, class, Method::ALLOCATE, id);
        udp(&mut writer);
        if missing != attr::USERNAME {
            writer.username("user");
        }
        if missing != attr::REALM {
            writer.realm(&client.realm);
        }
        if missing != attr::NONCE {
            writer.attribute(attr::NONCE, &client.nonce);
        }
        writer.integrity(&client.key());
        let len = writer.finish().unwrap();
        world.deliver(&client.path, &buffer[..len]);
        let answer = world.answer_to(&client.path).unwrap();
        assert_eq!(answer.code(), 400);
        for absent in [attr::USERNAME, attr::NONCE, attr::REALM] {
            assert!(!answer.message().contains(absent));
        }
        assert!(!answer.is_signed());
        assert_eq!(world.server.stats().auth_failed(AuthFailure::Incomplete), 1);
    }
}

#[test]
fn rfc8489_9_2_4_a_wrong_name_or_password_gets_401() {
    for (name, password, why) in [
        ("user", "wrong", AuthFailure::BadIntegrity),
        ("nobody", "pass", AuthFailure::UnknownUser),
    ] {
        let mut world = World::new();
        let mut client = client().with_credentials(name, password);
        let answer = client.allocate(&mut world);
        assert_eq!(answer.code(), 401);
        assert!(!answer.is_signed());
        assert!(answer.message().contains(attr::NONCE));
        assert!(answer.message().contains(attr::PASSWORD_ALGORITHMS));
        assert_eq!(world.server.stats().auth_failed(why), 1);
        let reported = world.take(|effect| match effect {
            Effect::AuthFailed { reason, .. } => Some(*reason),
            _ => None,
        });
        assert_eq!(reported, [why]);
        assert_eq!(world.server.allocation_count(), 0);
    }
}

#[test]
fn another_realm_gets_401() {
    let mut world = World::new();
    let mut client = client();
    let challenge = client.try_ask(&mut world, Method::ALLOCATE, udp).unwrap();
    client.learn(&challenge);
    client.realm = "elsewhere".into();
    assert_eq!(client.allocate(&mut world).code(), 401);
    assert_eq!(world.server.stats().auth_failed(AuthFailure::WrongRealm), 1);
}

#[test]
fn rfc8489_9_2_4_sha256_integrity_with_either_password_algorithm_is_served_in_kind() {
    for algorithm in [PasswordAlgorithm::Sha256, PasswordAlgorithm::Md5] {
        let mut world = World::new();
        let mut client = client();
        client.proof = Proof::Modern(algorithm);
        let answer = client.allocate(&mut world);
        assert_eq!(answer.code(), 200);
        assert!(answer.message().has_integrity_sha256());
        assert!(!answer.message().has_integrity());
        // Errors to authenticated requests are signed in the same kind.
        let error = client.bind(&mut world, 0x1234, "10.1.0.1:9");
        assert_eq!(error.code(), 400);
        assert!(error.message().has_integrity_sha256());
    }
}

#[test]
fn an_error_to_a_classic_request_is_signed_the_classic_way() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    let error = client.bind(&mut world, 0x1234, "10.1.0.1:9");
    assert_eq!(error.code(), 400);
    assert!(error.message().has_integrity());
    assert!(!error.message().has_integrity_sha256());
}

#[test]
fn rfc8489_9_2_2_a_static_user_may_come_as_userhash() {
    let mut world = World::new();
    let mut client = client();
    client.use_userhash = true;
    client.proof = Proof::Modern(PasswordAlgorithm::Sha256);
    assert_eq!(client.allocate(&mut world).code(), 200);
    assert_eq!(client.refresh(&mut world, None).code(), 200);
    let session = world.server.sessions().next().unwrap();
    assert_eq!(&**session.user(), "user");
    client.username = "other".into();
    assert_eq!(client.refresh(&mut world, None).code(), 401);
}

#[test]
fn the_nonce_announces_userhash_only_where_names_are_known() {
    use stunner_stun::nonce::SecurityFeatures;
    for (method, anonymity) in [
        (static_auth("user", "pass"), true),
        (ephemeral_auth("secret"), false),
    ] {
        let mut world = World::with_auth(method);
        let mut client = client();
        let challenge = client.try_ask(&mut world, Method::ALLOCATE, udp).unwrap();
        client.learn(&challenge);
        let features = SecurityFeatures::of(&client.nonce).unwrap();
        assert!(features.contains(SecurityFeatures::PASSWORD_ALGORITHMS));
        let hashes = features.contains(SecurityFeatures::USERNAME_ANONYMITY);
        assert_eq!(hashes, anonymity);
    }
}

#[test]
fn rfc8489_9_2_4_algorithms_other_than_offered_get_400() {
    let offered: &[u8] = &[0, 2, 0, 0, 0, 1, 0, 0];
    type Value<'a> = Option<&'a [u8]>;
    let cases: [(Value<'_>, Value<'_>); 5] = [
        // The stronger one was cut out of the offer.
        (Some(&[0, 1, 0, 0]), Some(&[0, 1, 0, 0])),
        (Some(offered), None),
        (None, Some(&[0, 2, 0, 0])),
        (Some(offered), Some(&[0, 9, 0, 0])),
        (Some(offered), Some(&[0])),
    ];
    for (algorithms, algorithm) in cases {
        let mut world = World::new();
        let mut client = client();
        let challenge = client.try_ask(&mut world, Method::ALLOCATE, udp).unwrap();
        client.learn(&challenge);
        let answer = client.ask(&mut world, Method::ALLOCATE, |writer| {
            udp(writer);
            if let Some(value) = algorithms {
                writer.attribute(attr::PASSWORD_ALGORITHMS, value);
            }
            if let Some(value) = algorithm {
                writer.attribute(attr::PASSWORD_ALGORITHM, value);
            }
        });
        assert_eq!(answer.code(), 400, "{algorithms:?} {algorithm:?}");
        assert!(!answer.is_signed());
        assert_eq!(world.server.stats().auth_failed(AuthFailure::BidDown), 1);
    }
}

#[test]
fn a_nonce_whose_features_were_changed_is_stale() {
    let mut world = World::new();
    let mut client = client();
    let challenge = client.try_ask(&mut world, Method::ALLOCATE, udp).unwrap();
    client.learn(&challenge);
    client.nonce[9..13].copy_from_slice(b"AAAA");
    assert_eq!(client.allocate(&mut world).code(), 438);
}

#[test]
fn rfc8489_9_2_4_a_nonce_is_good_for_an_hour_and_then_gets_438() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    for _ in 0..5 {
        world.advance(590);
        assert_eq!(client.refresh(&mut world, None).code(), 200);
    }
    world.advance(590);
    assert_eq!(client.refresh(&mut world, Some(3600)).code(), 200);
    world.advance_ms(3_600_000 - 6 * 590_000 - 1);
    assert_eq!(client.refresh(&mut world, None).code(), 200);
    world.advance_ms(1);
    let stale = client.refresh(&mut world, None);
    assert_eq!(stale.code(), 438);
    assert!(stale.message().contains(attr::PASSWORD_ALGORITHMS));
    assert!(!stale.is_signed());
    client.learn(&stale);
    assert_eq!(client.refresh(&mut world, None).code(), 200);
    let stale_count = world.server.stats().auth_failed(AuthFailure::StaleNonce);
    assert_eq!(stale_count, 1);
}

#[test]
fn a_wrong_password_is_told_even_with_a_stale_nonce() {
    let mut world = World::new();
    let mut client = client().with_credentials("user", "wrong");
    client.allocate(&mut world);
    world.advance(4000);
    assert_eq!(client.allocate(&mut world).code(), 401);
}

#[test]
fn a_nonce_belongs_to_the_client_address_and_not_to_its_port() {
    let mut world = World::new();
    let (client, _) = world.allocated();
    let mut rebound = client.clone();
    rebound.path.tuple.client.set_port(6000);
    assert_eq!(rebound.allocate(&mut world).code(), 200);
    let mut moved = client.clone();
    moved
        .path
        .tuple
        .client
        .set_ip("198.51.100.2".parse().unwrap());
    assert_eq!(moved.allocate(&mut world).code(), 438);
}

#[test]
fn nonces_are_good_on_every_shard() {
    let mut one = World::new();
    let mut two = World::new();
    let mut client = client();
    let challenge = client.try_ask(&mut one, Method::ALLOCATE, udp).unwrap();
    client.learn(&challenge);
    assert_eq!(client.allocate(&mut two).code(), 200);
}

#[test]
fn answers_before_authentication_are_limited_per_source_and_the_rest_dropped() {
    let mut world = World::build(static_auth("user", "pass"), Settings::default(), 10);
    let mut answered = 0;
    for port in 5000..5050 {
        let mut client = TestClient::udp(&format!("198.51.100.1:{port}"));
        // Challenges, wrong passwords and stale nonces are one budget.
        if port % 2 == 0 {
            client.realm = REALM.into();
            client.nonce = b"whatever".to_vec();
        }
        answered += usize::from(client.try_ask(&mut world, Method::ALLOCATE, udp).is_some());
    }
    assert_eq!(answered, 10);
    let stats = world.server.stats();
    assert_eq!(stats.dropped(DropReason::RateLimited), 40);
    // Another source has its own budget, and so has the next second.
    let mut other = TestClient::udp("198.51.100.2:5000");
    assert!(other.try_ask(&mut world, Method::ALLOCATE, udp).is_some());
    world.advance(1);
    assert!(
        client()
            .try_ask(&mut world, Method::ALLOCATE, udp)
            .is_some()
    );
}

#[test]
fn the_limit_does_not_touch_binding_nor_authenticated_requests() {
    let mut world = World::build(static_auth("user", "pass"), Settings::default(), 1);
    let (mut client, _) = world.allocated();
    let bytes = TestClient::udp("198.51.100.1:1").compose(Method::ALLOCATE, udp);
    let outcome = world.deliver(&client.path, &bytes);
    assert_eq!(outcome, FromClient::Dropped(DropReason::RateLimited));
    for _ in 0..20 {
        assert_eq!(client.refresh(&mut world, None).code(), 200);
        assert_eq!(client.ask(&mut world, Method::BINDING, |_| {}).code(), 200);
    }
}

#[test]
fn with_authentication_none_every_turn_request_gets_400() {
    for method in REQUESTS {
        let mut world = World::with_auth(AuthMethod::None);
        let answer = client().ask(&mut world, method, udp);
        assert_eq!(answer.code(), 400);
        assert!(!answer.message().contains(attr::NONCE));
        // With credentials from a former life it is the same.
        let mut old = client();
        old.realm = REALM.into();
        old.nonce = b"nonce".to_vec();
        assert_eq!(old.ask(&mut world, method, udp).code(), 400);
    }
}

#[test]
fn every_shape_of_an_ephemeral_name_is_accepted() {
    let expiry = UNIX + 100;
    for (name, user) in [
        (format!("{expiry}:alice"), "alice".to_owned()),
        (format!("alice:{expiry}"), format!("alice:{expiry}")),
        (format!("{expiry}"), format!("{expiry}")),
        (format!("alice:{expiry}:x"), format!("alice:{expiry}:x")),
        (format!("{expiry}:a:b"), format!("{expiry}:a:b")),
    ] {
        let mut world = World::with_auth(ephemeral_auth("secret"));
        let mut client = client().with_ephemeral(&name, "secret");
        assert_eq!(client.allocate(&mut world).code(), 200, "{name}");
        assert_eq!(&*world.requests[0].user, user);
    }
}

#[test]
fn an_ephemeral_name_that_is_expired_or_wrong_gets_401() {
    let cases = [
        (
            format!("{}:alice", UNIX - 1),
            "secret",
            AuthFailure::Expired,
        ),
        (format!("42:{}", UNIX + 100), "secret", AuthFailure::Expired),
        ("alice".to_owned(), "secret", AuthFailure::UnknownUser),
        (
            format!("{}:alice", UNIX + 9),
            "guess",
            AuthFailure::BadIntegrity,
        ),
    ];
    for (name, secret, why) in cases {
        let mut world = World::with_auth(ephemeral_auth("secret"));
        let mut client = client().with_ephemeral(&name, secret);
        assert_eq!(client.allocate(&mut world).code(), 401, "{name}");
        assert_eq!(world.server.stats().auth_failed(why), 1, "{name}");
    }
}

#[test]
fn an_ephemeral_name_beyond_the_longest_lifetime_gets_401() {
    let mut world = World::with_auth(ephemeral_auth("secret"));
    let credentials = Credentials::new(REALM, ephemeral_auth("secret"), Some(3600));
    world.change(|policy| policy.auth.current = Arc::new(credentials));
    let mut long = client().with_ephemeral(&format!("{}:a", UNIX + 3601), "secret");
    assert_eq!(long.allocate(&mut world).code(), 401);
    let mut short = client().with_ephemeral(&format!("{}:a", UNIX + 3600), "secret");
    assert_eq!(short.allocate(&mut world).code(), 200);
}

#[test]
fn nothing_is_kept_for_clients_that_have_not_authenticated() {
    let mut world = World::new();
    for port in 1..2000 {
        let mut client = TestClient::udp(&format!("198.51.100.1:{port}"));
        client.try_ask(&mut world, Method::ALLOCATE, udp);
        client.nonce = b"obMatJos2gAAAguess".to_vec();
        client.realm = REALM.into();
        client.password = "wrong".into();
        client.try_ask(&mut world, Method::ALLOCATE, udp);
    }
    assert_eq!(world.server.allocation_count(), 0);
    assert_eq!(world.server.next_deadline(), None);
}
