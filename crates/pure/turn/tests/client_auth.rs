//! Challenges as the client meets them: which it answers, how, and which it refuses.

mod client_support;

use client_support::*;
use stunner_stun::{Class, Key, Message, PasswordAlgorithm, attr};
use stunner_turn::client::{AllocateOptions, Client, Credentials, Event, Settings, Transport};

fn started(client: &mut Client) -> Vec<u8> {
    client.allocate(0, AllocateOptions::default()).unwrap();
    sent(client)
}

fn error_code_of(event: Event) -> u16 {
    match event {
        Event::Error { code, .. } => code,
        other => panic!("expected an error, got {other:?}"),
    }
}

#[test]
fn the_first_request_carries_no_credential_and_the_answer_to_401_does() {
    let mut client = client();
    let first = started(&mut client);
    let message = Message::parse(&first).unwrap();
    assert_eq!(message.get(attr::USERNAME), None);
    assert!(!message.has_integrity());
    assert_eq!(message.requested_transport(), Some(Ok(17)));

    assert_eq!(
        client.handle(5, &challenge(&first, 401, REALM, NONCE)),
        Event::Pending
    );
    let second = sent(&mut client);
    let message = Message::parse(&second).unwrap();
    assert_ne!(
        message.transaction_id(),
        Message::parse(&first).unwrap().transaction_id()
    );
    assert_eq!(message.username(), Some(Ok(USER)));
    assert_eq!(message.realm(), Some(Ok(REALM)));
    assert_eq!(message.nonce(), Some(Ok(NONCE)));
    assert!(message.verify_integrity(&md5_key()));

    let Event::Allocated(answer) = client.handle(9, &allocated(&second, 600)) else {
        panic!()
    };
    assert_eq!(answer.relayed, relayed());
    assert_eq!(answer.mapped, Some(mapped()));
    assert_eq!(answer.lifetime, 600);
    assert_eq!(client.relayed(), Some(relayed()));
    assert!(client.is_idle());
}

#[test]
fn rfc8489_9_2_5_a_second_401_for_the_same_realm_is_final() {
    let mut client = client();
    let first = started(&mut client);
    client.handle(0, &challenge(&first, 401, REALM, NONCE));
    let second = sent(&mut client);
    let event = client.handle(0, &challenge(&second, 401, REALM, "another-nonce"));
    assert_eq!(error_code_of(event), 401);
    assert_eq!(client.poll_transmit(), None);
}

#[test]
fn a_401_with_another_realm_is_answered_with_a_key_for_that_realm() {
    let mut client = client();
    let first = started(&mut client);
    client.handle(0, &challenge(&first, 401, REALM, NONCE));
    let second = sent(&mut client);
    assert_eq!(
        client.handle(0, &challenge(&second, 401, "new.example", "n2")),
        Event::Pending
    );
    let third = sent(&mut client);
    let message = Message::parse(&third).unwrap();
    assert_eq!(message.realm(), Some(Ok("new.example")));
    assert!(message.verify_integrity(&Key::md5(USER, "new.example", PASSWORD)));
}

#[test]
fn rfc8489_9_2_5_a_stale_nonce_is_replaced_and_later_requests_use_the_new_one() {
    let mut client = client();
    allocate(&mut client, 0, AllocateOptions::default());
    client.refresh(1000, None).unwrap();
    let refresh = sent(&mut client);
    assert_eq!(Message::parse(&refresh).unwrap().nonce(), Some(Ok(NONCE)));
    assert_eq!(
        client.handle(1001, &challenge(&refresh, 438, REALM, "fresh")),
        Event::Pending
    );
    let again = sent(&mut client);
    assert_eq!(Message::parse(&again).unwrap().nonce(), Some(Ok("fresh")));
    let refreshed = success(&again, |writer| {
        writer.lifetime(900);
    });
    assert_eq!(
        client.handle(1002, &refreshed),
        Event::Refreshed { lifetime: 900 }
    );
    client.create_permission(1003, &[peer(1)]).unwrap();
    assert_eq!(
        Message::parse(&sent(&mut client)).unwrap().nonce(),
        Some(Ok("fresh"))
    );
}

#[test]
fn a_server_that_calls_every_nonce_stale_is_given_up_on() {
    let mut client = client();
    let mut request = started(&mut client);
    for n in 0..10 {
        match client.handle(0, &challenge(&request, 438, REALM, &format!("nonce-{n}"))) {
            Event::Pending => request = sent(&mut client),
            event => {
                assert_eq!(error_code_of(event), 438);
                assert!(n >= 3, "a few retries are due");
                return;
            }
        }
    }
    panic!("the client never stops");
}

#[test]
fn without_a_credential_a_401_ends_the_request() {
    let mut client = Client::new(
        Settings::new(Credentials::None, Transport::Datagram),
        [3; 32],
    );
    let first = started(&mut client);
    assert_eq!(
        error_code_of(client.handle(0, &challenge(&first, 401, REALM, NONCE))),
        401
    );
    assert!(client.is_idle());
}

#[test]
fn rfc8489_9_2_5_a_success_with_wrong_or_missing_integrity_is_as_if_never_received() {
    let mut client = client();
    let first = started(&mut client);
    client.handle(0, &challenge(&first, 401, REALM, NONCE));
    let second = sent(&mut client);
    let fill = |writer: &mut stunner_stun::MessageWriter<'_>| {
        writer
            .xor_address(attr::XOR_RELAYED_ADDRESS, relayed())
            .lifetime(600);
    };
    let unsigned = answer(&second, Class::Success, None, fill);
    assert_eq!(client.handle(1, &unsigned), Event::Ignored);
    let forged = answer(
        &second,
        Class::Success,
        Some(&Key::short_term("guess")),
        fill,
    );
    assert_eq!(client.handle(2, &forged), Event::Ignored);
    assert!(matches!(
        client.handle(3, &allocated(&second, 600)),
        Event::Allocated(_)
    ));
}

#[test]
fn sha256_is_used_when_the_server_offers_password_algorithms() {
    let mut client = client();
    let first = started(&mut client);
    let nonce = modern_nonce(false);
    let offer = [PasswordAlgorithm::Sha256, PasswordAlgorithm::Md5];
    client.handle(0, &modern_challenge(&first, &nonce, &offer));
    let second = sent(&mut client);
    let message = Message::parse(&second).unwrap();
    assert!(message.verify_integrity_sha256(&sha256_key()));
    assert!(!message.has_integrity());
    let chosen = message.password_algorithm().unwrap().unwrap().algorithm();
    assert_eq!(chosen, Some(PasswordAlgorithm::Sha256));
    let echoed = message.get(attr::PASSWORD_ALGORITHMS);
    let challenge = modern_challenge(&first, &nonce, &offer);
    assert_eq!(
        echoed,
        Message::parse(&challenge)
            .unwrap()
            .get(attr::PASSWORD_ALGORITHMS)
    );
    assert_eq!(message.username(), Some(Ok(USER)));

    // The answer must stay with SHA-256: an attacker may not bid it down.
    let weak = answer(&second, Class::Success, Some(&sha256_key()), |writer| {
        writer.xor_address(attr::XOR_RELAYED_ADDRESS, relayed());
    });
    assert_eq!(client.handle(1, &weak), Event::Ignored);
    let strong = answer(&second, Class::Success, None, |writer| {
        writer
            .xor_address(attr::XOR_RELAYED_ADDRESS, relayed())
            .integrity_sha256(&sha256_key());
    });
    assert!(matches!(client.handle(2, &strong), Event::Allocated(_)));
}

#[test]
fn rfc8489_9_2_5_the_first_known_algorithm_of_the_server_wins() {
    let mut client = client();
    let first = started(&mut client);
    let offer = [PasswordAlgorithm::Md5, PasswordAlgorithm::Sha256];
    client.handle(0, &modern_challenge(&first, &modern_nonce(false), &offer));
    let second = sent(&mut client);
    let message = Message::parse(&second).unwrap();
    let chosen = message.password_algorithm().unwrap().unwrap().algorithm();
    assert_eq!(chosen, Some(PasswordAlgorithm::Md5));
    assert!(message.verify_integrity_sha256(&md5_key()));
}

#[test]
fn rfc8489_9_2_5_a_challenge_stripped_of_its_algorithms_is_not_answered() {
    let mut client = client();
    let first = started(&mut client);
    let event = client.handle(0, &challenge(&first, 401, REALM, &modern_nonce(false)));
    assert_eq!(error_code_of(event), 401);
    assert_eq!(client.poll_transmit(), None);
}

#[test]
fn the_anonymity_bit_of_the_nonce_hides_the_user_name() {
    let mut client = client();
    let first = started(&mut client);
    let offer = [PasswordAlgorithm::Sha256];
    client.handle(0, &modern_challenge(&first, &modern_nonce(true), &offer));
    let second = sent(&mut client);
    let message = Message::parse(&second).unwrap();
    assert_eq!(message.get(attr::USERNAME), None);
    assert_eq!(
        message.userhash(),
        Some(Ok(&stunner_stun::userhash(USER, REALM)))
    );
}

#[test]
fn with_sha256_off_the_client_is_an_rfc_5389_client() {
    let mut settings = Settings::with_password(USER, PASSWORD, Transport::Datagram);
    settings.allow_sha256 = false;
    let mut client = Client::new(settings, [4; 32]);
    let first = started(&mut client);
    let offer = [PasswordAlgorithm::Sha256];
    client.handle(0, &modern_challenge(&first, &modern_nonce(true), &offer));
    let second = sent(&mut client);
    let message = Message::parse(&second).unwrap();
    assert!(message.verify_integrity(&md5_key()));
    assert_eq!(message.get(attr::PASSWORD_ALGORITHM), None);
    assert_eq!(message.username(), Some(Ok(USER)));
}

#[test]
fn the_password_is_not_in_the_debug_text() {
    let client = client();
    let text = format!("{client:?}");
    assert!(text.contains(USER) && !text.contains(PASSWORD), "{text}");
}
