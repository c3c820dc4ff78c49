//! The original Go `turncat` tunnelling through the server.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::Command;
use std::time::Duration;

use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::{Process, wait_until};
use interop_tests::server::TurnServer;
use interop_tests::{go, need};

const SOON: Duration = Duration::from_secs(20);

struct Tunnel {
    _turncat: Process,
    port: u16,
    _server: TurnServer,
    _peer: UdpEcho,
}

/// `turncat CLIENT://127.0.0.1:PORT turn://…?transport=SERVER udp://PEER`.
fn tunnel(turncat: std::path::PathBuf, client: &str, transport: Transport) -> Tunnel {
    let server = TurnServer::start();
    let peer = UdpEcho::start("127.0.0.1:0");
    let port = free_port();
    let uri = format!(
        "turn://{}:{}@127.0.0.1:{}?transport={}",
        server.user(),
        server.password(),
        server.port(transport),
        transport.name()
    );
    let mut command = Command::new(turncat);
    command.args(["--insecure", "--log", "all:INFO"]).args([
        &format!("{client}://127.0.0.1:{port}"),
        &uri,
        &format!("udp://{}", peer.address()),
    ]);
    let turncat = Process::start("turncat", command).expect("start turncat");
    assert!(
        turncat.wait_log("lient listening", SOON),
        "turncat does not listen"
    );
    Tunnel {
        _turncat: turncat,
        port,
        _server: server,
        _peer: peer,
    }
}

fn over_udp(test: &str, transport: Transport) {
    let tunnel = tunnel(need!(test, go::turncat()), "udp", transport);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bind");
    socket.connect(("127.0.0.1", tunnel.port)).expect("connect");
    socket
        .set_read_timeout(Some(Duration::from_secs(1)))
        .expect("timeout");
    let mut buffer = [0; 2048];
    // The first datagrams may be lost while turncat allocates; it has no handshake with its client.
    let up = wait_until(SOON, || {
        socket.send(b"hello").is_ok()
            && socket
                .recv(&mut buffer)
                .is_ok_and(|length| &buffer[..length] == b"hello")
    });
    assert!(up, "no echo through the tunnel");
    socket.set_read_timeout(Some(SOON)).expect("timeout");
    for number in 0..50_u32 {
        let message = format!("message {number} {}", "x".repeat(number as usize * 20));
        socket.send(message.as_bytes()).expect("send");
        let mut back = b"hello".to_vec();
        // Those from before the way was open may come late.
        while back == b"hello" {
            let length = socket
                .recv(&mut buffer)
                .unwrap_or_else(|error| panic!("message {number}: {error}"));
            back = buffer[..length].to_vec();
        }
        assert_eq!(back, message.as_bytes());
    }
}

fn over_tcp(test: &str, transport: Transport) {
    let tunnel = tunnel(need!(test, go::turncat()), "tcp", transport);
    let mut stream = TcpStream::connect(("127.0.0.1", tunnel.port)).expect("connect");
    stream.set_read_timeout(Some(SOON)).expect("timeout");
    for number in 0..50_u32 {
        let message = format!("message {number} {}", "y".repeat(number as usize * 20));
        stream.write_all(message.as_bytes()).expect("write");
        let mut back = vec![0; message.len()];
        stream
            .read_exact(&mut back)
            .unwrap_or_else(|error| panic!("message {number}: {error}"));
        assert_eq!(back, message.as_bytes());
    }
}

macro_rules! turncat_tests {
    ($($name:ident: $run:ident, $transport:ident;)*) => {$(
        #[test]
        fn $name() {
            $run(stringify!($name), Transport::$transport);
        }
    )*};
}

turncat_tests! {
    turncat_udp_client_over_turn_udp: over_udp, Udp;
    turncat_udp_client_over_turn_tcp: over_udp, Tcp;
    turncat_udp_client_over_turn_tls: over_udp, Tls;
    turncat_udp_client_over_turn_dtls: over_udp, Dtls;
    turncat_tcp_client_over_turn_udp: over_tcp, Udp;
    turncat_tcp_client_over_turn_tcp: over_tcp, Tcp;
    turncat_tcp_client_over_turn_tls: over_tcp, Tls;
}
