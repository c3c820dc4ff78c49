//! Headless Chromium behind a veth pair: a relay-only peer connection with a data channel over TURN on UDP, TCP
//! and TLS. The selected candidate pair must be relayed on both ends, and every message must come back.

use interop_tests::browser::{self, Browser};
use interop_tests::config::Transport;
use interop_tests::netns::{Link, SERVER};
use interop_tests::pki::TestCa;
use interop_tests::server::TurnServer;
use interop_tests::skip;
use serde_json::{Value, json};

/// Runs the page against the listener of `transport`, in a browser that trusts `ca` or else the server's own CA.
/// `None` when the test had to be skipped.
fn run_page(
    test: &str,
    transport: Transport,
    ca: Option<&TestCa>,
) -> Option<Result<Value, String>> {
    let found = browser::programs().and_then(|()| Link::create());
    let link = match found {
        Ok(link) => link,
        Err(missing) => {
            skip::report(test, &missing);
            return None;
        }
    };
    // The server's thread stays while the browser's works: processes end with the thread that started them.
    let result = link.on_server(|| {
        let server = TurnServer::start_at(SERVER);
        let scheme = if transport.is_secure() {
            "turns"
        } else {
            "turn"
        };
        let word = if transport.is_stream() { "tcp" } else { "udp" };
        let ice_server = json!({
            "urls": format!("{scheme}:{SERVER}:{}?transport={word}", server.port(transport)),
            "username": server.user(),
            "credential": server.password(),
        });
        let dir = tempfile::tempdir().expect("temporary folder");
        let trusted = ca.unwrap_or(&server.ca).write_root(dir.path());
        link.on_client(|| {
            Browser::start(&trusted).run_async(include_str!("relay.js"), &[ice_server])
        })
    });
    Some(result)
}

fn relay(test: &str, transport: Transport) {
    let Some(result) = run_page(test, transport, None) else {
        return;
    };
    let report = result.unwrap_or_else(|error| panic!("the page failed: {error}"));
    assert_eq!(report["echoed"], 30, "{report:#}");
    let pair = (report["local"].as_str(), report["remote"].as_str());
    assert_eq!(pair, (Some("relay"), Some("relay")), "{report:#}");
    assert_eq!(report["relayProtocol"], transport.name(), "{report:#}");
}

#[test]
fn chromium_relays_over_udp() {
    relay("chromium_relays_over_udp", Transport::Udp);
}

#[test]
fn chromium_relays_over_tcp() {
    relay("chromium_relays_over_tcp", Transport::Tcp);
}

#[test]
fn chromium_relays_over_tls_with_a_verified_certificate() {
    relay(
        "chromium_relays_over_tls_with_a_verified_certificate",
        Transport::Tls,
    );
}

/// What makes the test above mean something: the browser does look at the certificate.
#[test]
fn chromium_refuses_a_certificate_of_an_unknown_authority() {
    let stranger = TestCa::new();
    let test = "chromium_refuses_a_certificate_of_an_unknown_authority";
    let Some(result) = run_page(test, Transport::Tls, Some(&stranger)) else {
        return;
    };
    let error = result.expect_err("relayed through a server whose certificate nobody vouches for");
    assert!(error.contains("no relayed candidate"), "{error}");
}
