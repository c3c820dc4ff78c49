//! Our Go client on pion/turn v5: Send indications, channels, peers that speak first and RFC 6062 relays.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use interop_tests::config::Transport;
use interop_tests::echo::{TcpEcho, UdpEcho};
use interop_tests::process::run;
use interop_tests::server::{TurnServer, testing_coturn};
use interop_tests::{go, need, skip};

fn pion(
    test: &str,
    transport: Transport,
    address: fn(&TurnServer, Transport) -> SocketAddr,
    more: &[&str],
) {
    let client = need!(test, go::pion_client());
    if test.contains("ipv6") {
        need!(test, skip::ipv6());
    }
    let server = TurnServer::start();
    let address = address(&server, transport);
    let peer_host = if address.is_ipv6() {
        "[::1]:0"
    } else {
        "127.0.0.1:0"
    };
    let (udp, tcp) = (UdpEcho::start(peer_host), TcpEcho::start(peer_host));
    let peer = if more.contains(&"tcp") {
        tcp.address()
    } else {
        udp.address()
    };
    let mut command = Command::new(client);
    command
        .args([
            "-transport",
            transport.name(),
            "-server",
            &address.to_string(),
        ])
        .args([
            "-user",
            server.user(),
            "-pass",
            server.password(),
            "-peer",
            &peer.to_string(),
        ])
        .args(more.iter().map(|argument| {
            if testing_coturn() {
                argument.replace(",60000", "")
            } else {
                (*argument).to_owned()
            }
        }))
        .arg("-ca")
        .arg(server.ca_file());
    let output = run("pionclient", command, Duration::from_secs(60)).expect_success("pionclient");
    assert!(output.ends_with("ok"), "{output}");
}

macro_rules! pion_tests {
    ($($(#[$doc:meta])* $name:ident: $transport:ident, $address:ident, $more:expr;)*) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            pion(stringify!($name), Transport::$transport, TurnServer::$address, &$more);
        }
    )*};
}

/// pion's reader holds back a stream frame of less than nine bytes until more bytes follow; hence nothing
/// shorter than five. coturn cuts everything at 16 KiB, `stunnerd` carries what UDP can.
const LARGE: &str = "5,6,7,8,100,1200,1472,9000,60000";

pion_tests! {
    pion_over_udp: Udp, v4, ["-sizes", LARGE];
    pion_over_tcp: Tcp, v4, ["-sizes", LARGE];
    pion_over_tls: Tls, v4, ["-sizes", LARGE];
    /// pion's DTLS reads at most 8 KiB per datagram.
    pion_over_dtls: Dtls, v4, ["-sizes", "1,2,3,4,100,1200,1472,6000"];
    pion_over_udp_ipv6: Udp, v6, ["-sizes", "1,100,1200"];
    pion_over_dtls_ipv6: Dtls, v6, ["-sizes", "1,100,1200"];
    pion_tcp_relay: Tcp, v4, ["-relay", "tcp", "-sizes", "1,100,1200,60000"];
}
