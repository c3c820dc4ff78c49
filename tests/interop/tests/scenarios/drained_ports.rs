//! What clients find at a port that its listener has left and that stays open for its last sessions.

use std::time::Duration;

use interop_tests::config::Transport;
use interop_tests::echo::TcpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use interop_tests::scene::Scene;
use stunner_stun::{Method, attr};

/// RFC 6062 §4.3: every ConnectionBind is a new connection, and a live TCP allocation needs it at the port it knows.
#[test]
fn tcp_allocations_bind_connections_at_the_port_their_listener_left() {
    let mut scene = Scene::start();
    let peer = TcpEcho::start("127.0.0.1:0");
    for transport in [Transport::Tcp, Transport::Tls] {
        let old = scene.address(transport);
        let mut control = scene.client(transport);
        control
            .request(Method::ALLOCATE, |writer| {
                writer.requested_transport(6);
            })
            .expect("a TCP allocation");
        scene.apply(|config| config.listener(transport.name())["port"] = free_port().into());

        let connected = control
            .request(Method::CONNECT, |writer| {
                writer.xor_address(attr::XOR_PEER_ADDRESS, peer.address());
            })
            .expect("a connection to the peer");
        let id = connected.message().connection_id();
        let id = id.and_then(Result::ok).expect("CONNECTION-ID");
        let mut data = scene.client_at(transport, old);
        data.request(Method::CONNECTION_BIND, |writer| {
            writer.connection_id(id);
        })
        .unwrap_or_else(|refusal| panic!("{transport:?}: ConnectionBind: {refusal:?}"));
        data.link
            .send_raw(b"through the old port")
            .expect("a live connection");
        let mut back = Vec::new();
        let echoed = wait_until(Duration::from_secs(20), || {
            if let Ok(Some(bytes)) = data.link.receive_raw() {
                back.extend_from_slice(&bytes);
            }
            back == b"through the old port"
        });
        assert!(echoed, "{transport:?}: got {back:?}");
    }
}

#[test]
fn new_clients_of_a_port_that_its_listener_left_are_told_508() {
    let mut scene = Scene::start();
    let _holding_the_ports_open = scene.sessions();
    for transport in Transport::ALL {
        let old = scene.address(transport);
        scene.apply(|config| config.listener(transport.name())["port"] = free_port().into());
        let refusal = scene.client_at(transport, old).allocate();
        assert_eq!(
            refusal.expect_err("the old port takes new clients").code(),
            Some(508),
            "{transport:?}"
        );
    }
}
