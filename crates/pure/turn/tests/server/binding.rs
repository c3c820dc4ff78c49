//! STUN Binding: RFC 8489 §12.

use stunner_config::AuthMethod;
use stunner_stun::{Method, attr};
use stunner_turn::server::{DropReason, FromClient};

use crate::client::{TestClient, indication};
use crate::world::{World, addr, static_auth};

#[test]
fn binding_needs_no_credentials_in_any_mode() {
    for method in [static_auth("user", "pass"), AuthMethod::None] {
        let mut world = World::with_auth(method);
        let mut client = TestClient::udp("198.51.100.1:5000");
        let answer = client.ask(&mut world, Method::BINDING, |_| {});
        let message = answer.message();
        assert_eq!(answer.code(), 200);
        assert_eq!(
            message.xor_address(attr::XOR_MAPPED_ADDRESS),
            Some(Ok(addr("198.51.100.1:5000")))
        );
        assert_eq!(message.check_fingerprint(), Some(true));
        assert!(!message.contains(attr::SOFTWARE));
        assert_eq!(world.server.allocation_count(), 0);
    }
}

#[test]
fn binding_tells_an_ipv6_client_its_address() {
    let mut world = World::new();
    let mut client = TestClient::udp("[2001:db8::99]:7000");
    let answer = client.ask(&mut world, Method::BINDING, |_| {});
    let mapped = answer.message().xor_address(attr::XOR_MAPPED_ADDRESS);
    assert_eq!(mapped, Some(Ok(addr("[2001:db8::99]:7000"))));
}

#[test]
fn a_client_on_a_dual_stack_socket_is_told_its_ipv4_address() {
    let mut world = World::new();
    let mut client = TestClient::udp("[::ffff:198.51.100.1]:5000");
    let answer = client.ask(&mut world, Method::BINDING, |_| {});
    let mapped = answer.message().xor_address(attr::XOR_MAPPED_ADDRESS);
    assert_eq!(mapped, Some(Ok(addr("198.51.100.1:5000"))));
}

#[test]
fn rfc8489_6_3_1_1_unknown_required_attributes_get_420_with_their_names() {
    let mut world = World::new();
    let mut client = TestClient::udp("198.51.100.1:5000");
    let answer = client.ask(&mut world, Method::BINDING, |writer| {
        writer
            .attribute(0x0003, &[0; 4])
            .attribute(0x7abc, b"x")
            .attribute(0xc0de, b"optional");
    });
    assert_eq!(answer.code(), 420);
    let message = answer.message();
    let unknown: Vec<u16> = message.unknown_attributes().unwrap().unwrap().collect();
    assert_eq!(unknown, [0x0003, 0x7abc]);
    assert!(!answer.is_signed());
}

#[test]
fn a_binding_indication_is_taken_without_answer() {
    let mut world = World::new();
    let client = TestClient::udp("198.51.100.1:5000");
    let bytes = indication(Method::BINDING, |_| {});
    assert_eq!(world.deliver(&client.path, &bytes), FromClient::Handled);
    assert!(world.sent.is_empty());
}

#[test]
fn rfc8489_7_3_a_wrong_fingerprint_is_discarded() {
    let mut world = World::new();
    let mut client = TestClient::udp("198.51.100.1:5000");
    client.fingerprint = true;
    let mut bytes = client.compose(Method::BINDING, |_| {});
    *bytes.last_mut().unwrap() ^= 1;
    let outcome = world.deliver(&client.path, &bytes);
    assert_eq!(outcome, FromClient::Dropped(DropReason::BadFingerprint));
    assert!(world.sent.is_empty());
}
