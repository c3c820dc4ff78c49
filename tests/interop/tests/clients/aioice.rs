//! Python's aioice as client: TURN over UDP, TCP and TLS, and two relay-only ICE agents.

use std::process::Command;
use std::time::Duration;

use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::process::run;
use interop_tests::server::TurnServer;
use interop_tests::{need, python};

fn aioice(test: &str, what: &str, transport: Transport) {
    let interpreter = need!(test, python::interpreter());
    let server = TurnServer::start();
    let peer = UdpEcho::start("127.0.0.1:0");
    let mut command = Command::new(interpreter);
    command
        .arg(python::script("aioice_client.py"))
        .args([what, "--transport", transport.name()])
        .args([
            "--host",
            "127.0.0.1",
            "--port",
            &server.port(transport).to_string(),
        ])
        .args(["--user", server.user(), "--password", server.password()])
        .args([
            "--peer-host",
            "127.0.0.1",
            "--peer-port",
            &peer.address().port().to_string(),
        ])
        .arg("--ca")
        .arg(server.ca_file());
    let output = run("aioice", command, Duration::from_secs(90)).expect_success("aioice");
    assert!(output.ends_with("ok"), "{output}");
}

#[test]
fn aioice_echo_over_udp() {
    aioice("aioice_echo_over_udp", "echo", Transport::Udp);
}

#[test]
fn aioice_echo_over_tcp() {
    aioice("aioice_echo_over_tcp", "echo", Transport::Tcp);
}

#[test]
fn aioice_echo_over_tls_with_verified_certificate() {
    aioice(
        "aioice_echo_over_tls_with_verified_certificate",
        "echo",
        Transport::Tls,
    );
}

#[test]
fn aioice_relay_only_agents_connect_over_udp() {
    aioice(
        "aioice_relay_only_agents_connect_over_udp",
        "ice",
        Transport::Udp,
    );
}

#[test]
fn aioice_relay_only_agents_connect_over_tcp() {
    aioice(
        "aioice_relay_only_agents_connect_over_tcp",
        "ice",
        Transport::Tcp,
    );
}
