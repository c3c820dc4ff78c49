//! Draining: RFC 8489 §10, and ports that only serve what they have.

use stunner_stun::attr;

use crate::client::{TestClient, channel_data};
use crate::world::{World, addr};

#[test]
fn a_draining_process_refuses_new_allocations_with_508() {
    let mut world = World::new();
    let (mut live, id) = world.allocated();
    world.drain_to(None);
    let mut newcomer = TestClient::udp("198.51.100.2:5000");
    let answer = newcomer.allocate(&mut world);
    assert_eq!(answer.code(), 508);
    assert!(answer.is_signed());
    // What is live goes on in every way.
    assert_eq!(live.refresh(&mut world, None).code(), 200);
    assert_eq!(live.bind(&mut world, 0x4000, "10.1.0.1:9").code(), 200);
    world.deliver(&live.path, &channel_data(0x4000, b"x"));
    world.relayed_from_peer(id, "10.1.0.1:9", 1);
    // A repeated Allocate is not a new one.
    assert_eq!(live.allocate(&mut world).code(), 437);
}

#[test]
fn rfc8489_10_a_draining_process_with_an_alternate_server_answers_300() {
    let mut world = World::new();
    world.drain_to(Some("203.0.113.9:3478"));
    let mut client = TestClient::udp("198.51.100.2:5000");
    let answer = client.allocate(&mut world);
    assert_eq!(answer.code(), 300);
    assert!(answer.is_signed(), "a redirect has to be believed");
    assert_eq!(
        answer.message().alternate_server(),
        Some(Ok(addr("203.0.113.9:3478")))
    );
    assert!(world.requests.is_empty());
}

#[test]
fn rfc8489_10_an_alternate_server_of_another_family_is_not_named() {
    let mut world = World::new();
    world.drain_to(Some("203.0.113.9:3478"));
    let mut client = TestClient::udp("[2001:db8::99]:5000");
    let answer = client.allocate(&mut world);
    assert_eq!(answer.code(), 508);
    assert!(!answer.message().contains(attr::ALTERNATE_SERVER));
    let mut mapped = TestClient::udp("[::ffff:198.51.100.2]:5000");
    assert_eq!(mapped.allocate(&mut world).code(), 300);
}

#[test]
fn nobody_without_credentials_learns_of_the_alternate_server() {
    let mut world = World::new();
    world.drain_to(Some("203.0.113.9:3478"));
    let mut client = TestClient::udp("198.51.100.2:5000").with_credentials("user", "wrong");
    assert_eq!(client.allocate(&mut world).code(), 401);
}

#[test]
fn a_port_that_drains_refuses_new_allocations_with_508() {
    let mut world = World::new();
    let (mut live, _) = world.allocated();
    live.path.accepting = false;
    assert_eq!(live.refresh(&mut world, None).code(), 200);
    let mut newcomer = TestClient::udp("198.51.100.2:5000");
    newcomer.path.accepting = false;
    assert_eq!(newcomer.allocate(&mut world).code(), 508);
    newcomer.path.accepting = true;
    assert_eq!(newcomer.allocate(&mut world).code(), 200);
}

#[test]
fn a_drain_that_is_called_off_lets_allocations_in_again() {
    let mut world = World::new();
    world.drain_to(None);
    let mut client = TestClient::udp("198.51.100.2:5000");
    assert_eq!(client.allocate(&mut world).code(), 508);
    world.change(|policy| policy.draining = None);
    assert_eq!(client.allocate(&mut world).code(), 200);
}
