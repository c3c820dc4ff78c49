//! coturn's client tools against the server: `turnutils_uclient` over every transport and relay kind, and
//! `turnutils_stunclient`. A run passes when the tool ends with 0 and its counters show that every message
//! came back.

use std::process::Command;
use std::time::Duration;

use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::process::run;
use interop_tests::server::TurnServer;
use interop_tests::{need, skip};

const PATIENCE: Duration = Duration::from_secs(90);
const MESSAGES: u32 = 25;
const ATTEMPTS: u32 = 3;

/// How many messages come back of those sent: all, or half where the tool lets one side only speak.
#[derive(Clone, Copy, PartialEq)]
enum Expect {
    All,
    Half,
}

/// One run of `turnutils_uclient` with `flags` against `address`; nothing may be lost.
#[track_caller]
fn uclient(server: &TurnServer, transport: Transport, flags: &str, address: &str) {
    uclient_expecting(server, transport, flags, address, Expect::All);
}

/// Over streams the tool does not count a message that waits in its own TLS or read buffer when it stops (seen against
/// coturn and `stunnerd` alike, whose counters show every message relayed). It therefore sends slower there, and a
/// short count is repeated, twice at most, before it counts as ours. So are datagrams: the tool gives up on what a slow
/// machine brings late. That none is lost on the way is for the storm to see.
#[track_caller]
fn uclient_expecting(
    server: &TurnServer,
    transport: Transport,
    flags: &str,
    address: &str,
    expect: Expect,
) {
    let clients = if transport.is_stream() { 2 } else { 4 };
    let sent = clients * MESSAGES;
    let want = if expect == Expect::All {
        (sent, sent)
    } else {
        (sent, sent / 2)
    };
    let mut last = (0, 0);
    let mut output = String::new();
    for _ in 0..ATTEMPTS {
        let mut command = Command::new("turnutils_uclient");
        command
            .args([
                "-u",
                server.user(),
                "-w",
                server.password(),
                "-p",
                &server.port(transport).to_string(),
            ])
            .args(["-n", &MESSAGES.to_string(), "-m", &clients.to_string()])
            .args(["-z", if transport.is_stream() { "50" } else { "20" }])
            .args(flags.split_whitespace())
            .arg(address);
        let what = format!("{command:?}");
        output = run("turnutils_uclient", command, PATIENCE).expect_success(&what);
        last = totals(&output);
        if last == want {
            return;
        }
    }
    panic!("uclient {flags} {address}: (sent, received) is {last:?} instead of {want:?}\n{output}");
}

/// The tool's own count of messages sent and received.
fn totals(output: &str) -> (u32, u32) {
    let line = output
        .lines()
        .rev()
        .find(|line| line.contains("start_mclient: tot_send_msgs="));
    let line = line.unwrap_or_default();
    (
        counter(line, "tot_send_msgs="),
        counter(line, "tot_recv_msgs="),
    )
}

fn counter(line: &str, name: &str) -> u32 {
    let rest = line.split(name).nth(1).unwrap_or_default();
    rest.chars()
        .take_while(char::is_ascii_digit)
        .collect::<String>()
        .parse()
        .unwrap_or(u32::MAX)
}

/// Flags that point `uclient` at an echo peer; `-c` leaves out the RTCP companion allocations.
fn at_peer(peer: &UdpEcho) -> String {
    format!("-c -e {} -r {}", peer.address().ip(), peer.address().port())
}

macro_rules! uclient_tests {
    ($($(#[$doc:meta])* $name:ident: |$server:ident, $peer:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            need!(stringify!($name), skip::program("turnutils_uclient", "coturn"));
            if stringify!($name).contains("ipv6") || stringify!($name).contains("dual") {
                need!(stringify!($name), skip::ipv6());
            }
            let $server = TurnServer::start();
            let $peer = UdpEcho::start("127.0.0.1:0");
            $body;
        }
    )*};
}

uclient_tests! {
    uclient_udp_channels: |server, peer| uclient(&server, Transport::Udp, &at_peer(&peer), "127.0.0.1");
    uclient_udp_send_indications: |server, peer| uclient(&server, Transport::Udp, &format!("{} -s", at_peer(&peer)), "127.0.0.1");
    uclient_udp_between_two_clients: |server, _peer| uclient(&server, Transport::Udp, "-c -y", "127.0.0.1");
    /// Without `-c` each client asks for an RTP/RTCP pair: EVEN-PORT and RESERVATION-TOKEN.
    uclient_udp_rtcp_pairs: |server, _peer| uclient(&server, Transport::Udp, "-y", "127.0.0.1");
    uclient_udp_explicit_ipv4_relay: |server, peer| uclient(&server, Transport::Udp, &format!("{} -X", at_peer(&peer)), "127.0.0.1");
    uclient_udp_dont_fragment: |server, peer| uclient(&server, Transport::Udp, &format!("{} -g -s", at_peer(&peer)), "127.0.0.1");
    uclient_udp_padded_channels: |server, peer| uclient(&server, Transport::Udp, &format!("{} -D -l 171", at_peer(&peer)), "127.0.0.1");
    uclient_udp_large_messages: |server, peer| uclient(&server, Transport::Udp, &format!("{} -l 1400", at_peer(&peer)), "127.0.0.1");
    uclient_udp_extra_requests: |server, peer| uclient(&server, Transport::Udp, &format!("{} -G", at_peer(&peer)), "127.0.0.1");
    /// Both families in one allocation (RFC 8656 5.1, ADDITIONAL-ADDRESS-FAMILY).
    uclient_udp_dual_allocation: |server, _peer| uclient(&server, Transport::Udp, "-c -y -Z", "127.0.0.1");
    uclient_udp_ipv6: |server, _peer| uclient(&server, Transport::Udp, "-c -y -x", "::1");
    uclient_udp_ipv6_relay_for_an_ipv4_client: |server, _peer| uclient(&server, Transport::Udp, "-c -y -x", "127.0.0.1");
    uclient_tcp_channels: |server, peer| uclient(&server, Transport::Tcp, &format!("{} -t", at_peer(&peer)), "127.0.0.1");
    /// An odd length, so that ChannelData over TCP needs its padding (RFC 8656 12.5).
    uclient_tcp_odd_length: |server, peer| uclient(&server, Transport::Tcp, &format!("{} -t -l 173", at_peer(&peer)), "127.0.0.1");
    uclient_tcp_send_indications: |server, peer| uclient(&server, Transport::Tcp, &format!("{} -t -s", at_peer(&peer)), "127.0.0.1");
    uclient_tcp_ipv6: |server, _peer| uclient(&server, Transport::Tcp, "-t -c -y -x", "::1");
    uclient_tls_channels: |server, peer| uclient(&server, Transport::Tls, &format!("{} -t -S", at_peer(&peer)), "127.0.0.1");
    uclient_tls_send_indications: |server, peer| uclient(&server, Transport::Tls, &format!("{} -t -S -s", at_peer(&peer)), "127.0.0.1");
    uclient_tls_ipv6: |server, _peer| uclient(&server, Transport::Tls, "-t -S -c -y -x", "::1");
    uclient_dtls_channels: |server, peer| uclient(&server, Transport::Dtls, &format!("{} -S", at_peer(&peer)), "127.0.0.1");
    uclient_dtls_send_indications: |server, peer| uclient(&server, Transport::Dtls, &format!("{} -S -s", at_peer(&peer)), "127.0.0.1");
    uclient_dtls_ipv6: |server, _peer| uclient(&server, Transport::Dtls, "-S -c -y -x", "::1");
    /// RFC 6062: TCP relay between two clients, connections opened by Connect.
    uclient_tcp_relay: |server, _peer| uclient(&server, Transport::Tcp, "-T", "127.0.0.1");
    /// RFC 6062 with the peer as the active side: ConnectionAttempt. The tool
    /// lets only the active side count what it gets.
    uclient_tcp_relay_passive: |server, _peer| uclient_expecting(&server, Transport::Tcp, "-T -P", "127.0.0.1", Expect::Half);
    uclient_tcp_relay_over_tls: |server, _peer| uclient(&server, Transport::Tls, "-T -S", "127.0.0.1");
    uclient_tcp_relay_ipv6: |server, _peer| uclient(&server, Transport::Tcp, "-T -x", "::1");
}

#[test]
fn uclient_tls_and_dtls_with_an_rsa_certificate() {
    let name = "uclient_tls_and_dtls_with_an_rsa_certificate";
    need!(name, skip::program("turnutils_uclient", "coturn"));
    let server = TurnServer::start_rsa();
    let peer = UdpEcho::start("127.0.0.1:0");
    uclient(
        &server,
        Transport::Tls,
        &format!("{} -t -S", at_peer(&peer)),
        "127.0.0.1",
    );
    uclient(
        &server,
        Transport::Dtls,
        &format!("{} -S", at_peer(&peer)),
        "127.0.0.1",
    );
}

#[test]
fn uclient_verifies_the_certificate() {
    need!(
        "uclient_verifies_the_certificate",
        skip::program("turnutils_uclient", "coturn")
    );
    let server = TurnServer::start();
    let peer = UdpEcho::start("127.0.0.1:0");
    let ca = server.ca_file();
    let flags = format!("{} -t -S -E {}", at_peer(&peer), ca.display());
    uclient(&server, Transport::Tls, &flags, "127.0.0.1");
}

#[test]
fn stunclient_learns_its_address() {
    need!(
        "stunclient_learns_its_address",
        skip::program("turnutils_stunclient", "coturn")
    );
    let server = TurnServer::start();
    let six = skip::ipv6().is_ok().then_some("::1");
    for address in ["127.0.0.1"].into_iter().chain(six) {
        let mut command = Command::new("turnutils_stunclient");
        command.args(["-p", &server.port(Transport::Udp).to_string(), address]);
        let what = format!("{command:?}");
        let output = run("turnutils_stunclient", command, PATIENCE).expect_success(&what);
        let line = output.lines().find(|line| line.contains("reflexive addr"));
        let line = line.unwrap_or_else(|| panic!("{what}: no reflexive address\n{output}"));
        assert!(line.contains(address), "{what}: {line}");
    }
}
