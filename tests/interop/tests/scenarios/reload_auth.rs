//! Credentials, auth type, realm: live allocations go on with what they were created with, new ones need the new.

use std::time::Duration;

use interop_tests::client::{Credentials, Response, TurnClient};
use interop_tests::config::{Config, REALM, Transport};
use interop_tests::process::wait_until;
use interop_tests::scene::{CHANNEL, Scene, assert_alive};
use serde_json::json;
use stunner_stun::Method;

const SOON: Duration = Duration::from_secs(20);

fn new_password(config: &mut Config) {
    config.0["auth"]["credentials"] =
        json!({ "username": "second-user", "password": "second-pass" });
}

fn second() -> Credentials {
    Credentials::new("second-user", "second-pass")
}

#[track_caller]
fn refused(client: &mut TurnClient) -> Option<u16> {
    client.allocate().expect_err("must be refused").code()
}

#[test]
fn live_sessions_keep_the_credential_they_were_created_with() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    scene.apply(new_password);
    assert_alive(&mut sessions, "after the credential changed");
    let other = std::net::SocketAddr::from(([127, 0, 0, 2], 9));
    for session in &mut sessions {
        session
            .permit(other)
            .expect("permit with the old credential");
        session
            .bind(CHANNEL + 1, other)
            .expect("bind with the old credential");
    }
    for transport in Transport::ALL {
        assert_eq!(
            refused(&mut scene.client(transport)),
            Some(401),
            "{transport:?}: the old credential still opens sessions"
        );
        scene
            .client(transport)
            .with_credentials(second())
            .join(CHANNEL, scene.peer.address());
    }
}

#[test]
fn a_live_session_is_challenged_in_its_own_realm() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    scene.apply(|config| config.0["auth"]["realm"] = "second.test".into());
    assert_alive(&mut sessions, "after the realm changed");
    for session in &mut sessions {
        // A request without MESSAGE-INTEGRITY on the 5-tuple of an allocation is challenged again.
        let challenge = session
            .exchange_unauthenticated(Method::REFRESH, |_| {})
            .expect("an answer");
        assert_eq!(challenge.code(), 401);
        assert_eq!(
            challenge.realm().as_deref(),
            Some(REALM),
            "the challenge names another realm"
        );
        session.accept_challenge(&challenge);
        session.refresh(600).expect("refresh after the challenge");
        let new = first_challenge(&scene, session.link.transport());
        assert_eq!(
            new.realm().as_deref(),
            Some("second.test"),
            "a new client is challenged in the old realm"
        );
    }
}

fn first_challenge(scene: &Scene, transport: Transport) -> Response {
    let mut client = scene.client(transport);
    client
        .exchange(Method::ALLOCATE, |writer| {
            writer.requested_transport(17);
        })
        .expect("an answer")
}

#[test]
fn auth_can_be_switched_off_and_on_under_live_sessions() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    scene.apply(|config| config.0["auth"] = json!({ "type": "none" }));
    assert_alive(&mut sessions, "after authentication was switched off");
    for transport in Transport::ALL {
        let mut client = scene.client(transport);
        client.binding().expect("STUN goes on");
        client.allocate().expect_err("auth none is STUN only");
    }
    scene.apply(|config| {
        config.0["auth"] = json!({
            "type": "static", "realm": REALM,
            "credentials": { "username": "second-user", "password": "second-pass" },
        });
    });
    assert_alive(&mut sessions, "after authentication was switched on");
    for transport in Transport::ALL {
        scene
            .client(transport)
            .with_credentials(second())
            .join(CHANNEL, scene.peer.address());
    }
}

#[test]
fn static_and_ephemeral_replace_each_other() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    scene.apply(|config| {
        config.0["auth"] = json!({ "type": "ephemeral", "realm": REALM, "credentials": { "secret": "shared-secret" } });
    });
    assert_alive(&mut sessions, "after static became ephemeral");
    let expiry = unix_now() + 3600;
    for user in [
        format!("{expiry}:alice"),
        format!("alice:{expiry}"),
        format!("{expiry}"),
        format!("alice:{expiry}:x"),
    ] {
        let credentials = Credentials::ephemeral(&user, "shared-secret");
        scene
            .client(Transport::Udp)
            .with_credentials(credentials)
            .join(CHANNEL, scene.peer.address());
    }
    let expired = Credentials::ephemeral(&format!("{}:alice", unix_now() - 10), "shared-secret");
    assert_eq!(
        refused(&mut scene.client(Transport::Udp).with_credentials(expired)),
        Some(401)
    );
    let forged = Credentials::ephemeral(&format!("{expiry}:alice"), "other-secret");
    assert_eq!(
        refused(&mut scene.client(Transport::Udp).with_credentials(forged)),
        Some(401)
    );
}

/// The credential of a live session may run out; the session is not tied to it (and a renewed one of the same user works too).
#[test]
fn an_ephemeral_session_outlives_its_credential() {
    let scene = Scene::start_with(&[], |config| {
        config.0["auth"] = json!({ "type": "longterm", "realm": REALM, "credentials": { "secret": "shared-secret" } });
    });
    // Long enough to be used, however slow the machine.
    let expiry = unix_now() + 8;
    let short = Credentials::ephemeral(&format!("{expiry}:alice"), "shared-secret");
    let mut client = scene.client(Transport::Udp).with_credentials(short.clone());
    client.join(CHANNEL, scene.peer.address());
    while unix_now() <= expiry {
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut late = scene.client(Transport::Udp).with_credentials(short);
    assert_eq!(refused(&mut late), Some(401), "the credential does not end");
    assert_eq!(
        client
            .refresh(600)
            .expect("refresh with the credential of the session"),
        600
    );
    let renewed = Credentials::ephemeral(&format!("{}:alice", unix_now() + 3600), "shared-secret");
    client.change_credentials(renewed);
    assert_eq!(
        client
            .refresh(600)
            .expect("refresh with a renewed credential of the same user"),
        600
    );
    let stranger = Credentials::ephemeral(&format!("{}:bob", unix_now() + 3600), "shared-secret");
    client.change_credentials(stranger);
    assert_eq!(
        client.refresh(600).expect_err("another user").code(),
        Some(441)
    );
}

#[test]
fn the_previous_credential_opens_sessions_during_the_grace() {
    let mut scene = Scene::start_with(&["--credential-grace", "8s"], |_| {});
    scene.apply(new_password);
    scene.session(Transport::Udp);
    scene
        .client(Transport::Udp)
        .with_credentials(second())
        .join(CHANNEL, scene.peer.address());
    let ended = wait_until(SOON, || {
        std::thread::sleep(Duration::from_millis(500));
        let refusal = scene.client(Transport::Udp).allocate().err();
        refusal.and_then(|refusal| refusal.code()) == Some(401)
    });
    assert!(ended, "the grace does not end");
}

fn unix_now() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970")
        .as_secs()
}
