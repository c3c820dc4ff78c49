//! Byte streams through TCP allocations (RFC 6062).

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use interop_tests::client::{TurnClient, wait_readable};
use interop_tests::config::Transport;
use interop_tests::process::wait_until;
use interop_tests::scene::Scene;
use stunner_stun::{Method, attr};

/// Well above what all buffers on the way hold together.
const MANY_BYTES: usize = 48 << 20;

/// A client with a TCP allocation, and its data connection to `peer`.
fn connected(scene: &Scene, transport: Transport, peer: SocketAddr) -> (TurnClient, TurnClient) {
    let mut control = scene.client(transport);
    control
        .request(Method::ALLOCATE, |writer| {
            writer.requested_transport(6);
        })
        .expect("a TCP allocation");
    let connected = control
        .request(Method::CONNECT, |writer| {
            writer.xor_address(attr::XOR_PEER_ADDRESS, peer);
        })
        .expect("a connection to the peer");
    let id = connected.message().connection_id();
    let id = id.and_then(Result::ok).expect("CONNECTION-ID");
    let mut data = scene.client(transport);
    data.request(Method::CONNECTION_BIND, |writer| {
        writer.connection_id(id);
    })
    .expect("a bound connection");
    (control, data)
}

/// Flow control holds the peer back while the client does not read, and lets it go on afterwards.
#[test]
fn a_stream_goes_on_where_it_stopped_when_a_slow_client_reads_again() {
    let scene = Scene::start();
    for transport in [Transport::Tcp, Transport::Tls] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let peer = listener.local_addr().expect("an address");
        let pushing = thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("the relay connects");
            let chunk = vec![7; 64 << 10];
            for _ in 0..MANY_BYTES / chunk.len() {
                socket.write_all(&chunk)?;
            }
            socket.shutdown(std::net::Shutdown::Write)
        });
        let (_control, mut data) = connected(&scene, transport, peer);
        // Long enough for every buffer to be full.
        thread::sleep(Duration::from_millis(700));

        let deadline = Instant::now() + Duration::from_secs(60);
        let mut count = 0;
        while count < MANY_BYTES && Instant::now() < deadline {
            match data.link.receive_raw() {
                Ok(Some(bytes)) => count += bytes.len(),
                Ok(None) => {
                    wait_readable(&[data.link.fd()], Duration::from_millis(100));
                }
                Err(error) => panic!("{transport:?}: after {count} bytes: {error:?}"),
            }
        }
        assert_eq!(count, MANY_BYTES, "{transport:?}: the stream has stalled");
        let pushed = pushing.join().expect("the peer's thread");
        pushed.expect("the peer could write everything");
    }
}

/// RFC 6062 §5.5: the peer's connection ends with the client's, whatever the peer does.
#[test]
fn rfc6062_5_5_a_peer_that_ignores_the_end_of_its_client_is_let_go() {
    let scene = Scene::start();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let peer = listener.local_addr().expect("an address");
    let (mut control, data) = connected(&scene, Transport::Tcp, peer);
    let (_silent, _) = listener.accept().expect("the relay connects");
    drop(data);
    let again = wait_until(Duration::from_secs(60), || {
        let answer = control.exchange(Method::CONNECT, |writer| {
            writer.xor_address(attr::XOR_PEER_ADDRESS, peer);
        });
        answer.is_ok_and(|response| response.is_success())
    });
    assert!(again, "the old connection to the peer stays");
}
