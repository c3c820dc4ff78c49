//! Datagrams of any size that UDP carries.

use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::{need, skip};

use crate::scenery::{Auth, Client, Server, pattern};

#[test]
fn datagrams_of_any_size_pass_whole() {
    let server = Server::start(Auth::Static);
    let peer = UdpEcho::start("127.0.0.1:0");
    let peer = format!("udp://{}", peer.address());
    for (transport, largest) in [
        // A ChannelData header takes four bytes of what a datagram carries.
        (Transport::Udp, 65_503),
        (Transport::Tcp, 65_507),
        (Transport::Tls, 65_507),
        // A record of DTLS carries 16384 bytes, padded ones among them.
        (Transport::Dtls, 16_380),
    ] {
        let mut turncat = server.turncat("udp://127.0.0.1:0", transport, "127.0.0.1", &peer, &[]);
        let mut client = Client::connect(&turncat.ready());
        for size in [0, 1, 1472, 1473, 9000, 16_000, largest - 1, largest] {
            client.echoes(&pattern(size));
        }
        let ended = turncat.interrupt();
        assert_eq!(ended.code, Some(0), "{transport:?}: {}", ended.stderr);
    }
}

#[test]
fn a_datagram_that_the_transport_does_not_carry_is_dropped_and_told() {
    let server = Server::start(Auth::Static);
    let peer = UdpEcho::start("127.0.0.1:0");
    let peer = format!("udp://{}", peer.address());
    let mut turncat = server.turncat(
        "udp://127.0.0.1:0",
        Transport::Dtls,
        "127.0.0.1",
        &peer,
        &[],
    );
    let mut client = Client::connect(&turncat.ready());
    client.echoes(b"small");
    client.send(&pattern(20_000));
    turncat.wait_stderr("dropped a datagram of 20000 bytes");
    client.echoes(b"small again");
    let ended = turncat.interrupt();
    assert!(
        ended.stderr.contains("dropped 1 packet;"),
        "{}",
        ended.stderr
    );
}

/// IPv6 would carry a little more than IPv4, and servers would drop it without a word.
#[test]
fn the_limits_of_ipv4_count_over_ipv6_too() {
    need!("the_limits_of_ipv4_count_over_ipv6_too", skip::ipv6());
    let server = Server::start(Auth::Static);
    let peer = UdpEcho::start("[::1]:0");
    let peer = format!("udp://{}", peer.address());
    for (transport, largest) in [
        (Transport::Udp, 65_503),
        (Transport::Tcp, 65_507),
        (Transport::Tls, 65_507),
    ] {
        let mut turncat = server.turncat("udp://[::1]:0", transport, "[::1]", &peer, &[]);
        let mut client = Client::connect(&turncat.ready());
        client.echoes(&pattern(largest));
        for size in [largest + 1, 65_527] {
            client.send(&pattern(size));
            client.echoes(b"small");
        }
        let ended = turncat.interrupt();
        let told = format!("dropped a datagram of {} bytes", largest + 1);
        assert!(
            ended.stderr.contains(&told) && ended.stderr.contains("dropped 2 packets;"),
            "{transport:?}: {}",
            ended.stderr
        );
    }
}

/// What a stream gives in one read is cut into datagrams that fit.
#[test]
fn reads_of_a_stream_are_cut_into_datagrams() {
    let server = Server::start(Auth::Static);
    let peer = UdpEcho::start("127.0.0.1:0");
    let peer_uri = format!("udp://{}", peer.address());
    let flags = ["--max-datagram", "1000"];
    let mut turncat = server.turncat(
        "tcp://127.0.0.1:0",
        Transport::Tcp,
        "127.0.0.1",
        &peer_uri,
        &flags,
    );
    let mut client = Client::connect(&turncat.ready());
    client.echoes(&pattern(10_000));
    assert!(peer.seen() >= 10, "{} datagrams", peer.seen());
    let ended = turncat.interrupt();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
