//! `openssl s_client` against the TLS and DTLS listeners: versions, chain, names, ALPN.

use std::io::Write;
use std::process::{Command, Stdio};

use interop_tests::config::Transport;
use interop_tests::need;
use interop_tests::server::{TurnServer, testing_coturn};
use interop_tests::skip;

/// Runs `openssl s_client` with `flags`, verifying against the test CA, and returns all it printed.
fn s_client(server: &TurnServer, transport: Transport, flags: &[&str]) -> (bool, String) {
    let mut command = Command::new("timeout");
    command
        .args([
            "20",
            "openssl",
            "s_client",
            "-connect",
            &server.v4(transport).to_string(),
        ])
        .args([
            "-verify_return_error",
            "-verify_hostname",
            "turn.example.test",
            "-servername",
            "turn.example.test",
        ])
        .arg("-CAfile")
        .arg(server.ca_file())
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("start openssl");
    // `Q` at the start of a line ends s_client properly, close_notify included.
    child
        .stdin
        .take()
        .expect("stdin")
        .write_all(b"Q\n")
        .expect("write");
    let out = child.wait_with_output().expect("openssl");
    let text =
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    (out.status.success(), text)
}

#[track_caller]
fn expect(server: &TurnServer, transport: Transport, flags: &[&str], texts: &[&str]) {
    let (success, output) = s_client(server, transport, flags);
    assert!(success, "openssl s_client {flags:?} failed\n{output}");
    for text in texts {
        assert!(
            output.contains(text),
            "openssl s_client {flags:?} does not show {text:?}\n{output}"
        );
    }
}

#[test]
fn tls_1_2_and_1_3_with_a_verified_chain() {
    need!(
        "tls_1_2_and_1_3_with_a_verified_chain",
        skip::program("openssl", "openssl")
    );
    for server in [TurnServer::start(), TurnServer::start_rsa()] {
        expect(
            &server,
            Transport::Tls,
            &["-tls1_2"],
            &["Verify return code: 0 (ok)", "TLSv1.2"],
        );
        // Debian's coturn has no TLS 1.3.
        if !testing_coturn() {
            expect(
                &server,
                Transport::Tls,
                &["-tls1_3"],
                &["Verify return code: 0 (ok)", "TLSv1.3"],
            );
        }
    }
}

#[test]
fn dtls_1_2_with_a_verified_chain() {
    need!(
        "dtls_1_2_with_a_verified_chain",
        skip::program("openssl", "openssl")
    );
    for server in [TurnServer::start(), TurnServer::start_rsa()] {
        expect(
            &server,
            Transport::Dtls,
            &["-dtls1_2"],
            &["Verify return code: 0 (ok)", "DTLSv1.2"],
        );
    }
}

/// RFC 7443: the label of TURN is `stun.turn`.
#[test]
fn rfc7443_alpn_stun_turn_is_negotiated_when_offered() {
    need!(
        "rfc7443_alpn_stun_turn_is_negotiated_when_offered",
        skip::program("openssl", "openssl")
    );
    let server = TurnServer::start();
    expect(
        &server,
        Transport::Tls,
        &["-alpn", "stun.turn"],
        &["ALPN protocol: stun.turn"],
    );
    expect(
        &server,
        Transport::Tls,
        &["-alpn", "h2,stun.turn"],
        &["ALPN protocol: stun.turn"],
    );
    expect(&server, Transport::Tls, &[], &["No ALPN negotiated"]);
}

#[test]
fn tls_before_1_2_is_refused() {
    need!(
        "tls_before_1_2_is_refused",
        skip::program("openssl", "openssl")
    );
    if testing_coturn() {
        return;
    }
    let server = TurnServer::start();
    let (success, output) = s_client(
        &server,
        Transport::Tls,
        &["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"],
    );
    assert!(!success, "TLS 1.1 was accepted\n{output}");
}
