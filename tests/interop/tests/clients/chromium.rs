//! Headless Chromium behind a veth pair: a relay-only peer connection with a data channel over TURN on UDP, TCP
//! and TLS. The selected candidate pair must be relayed on both ends, and every message must come back.

use interop_tests::browser::{self, Browser};
use interop_tests::config::Transport;
use interop_tests::need;
use interop_tests::netns::{Link, SERVER};
use interop_tests::server::TurnServer;
use serde_json::json;

fn relay(test: &str, transport: Transport) {
    need!(test, browser::programs());
    let link = need!(test, Link::create());
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
        link.on_client(|| {
            let browser = Browser::start(&server.ca_file());
            browser.run_async(
                include_str!("relay.js"),
                &[ice_server, json!(transport.name())],
            )
        })
    });
    let report = result.unwrap_or_else(|error| panic!("the page failed: {error}"));
    assert_eq!(report["echoed"], 30, "{report:#}");
    assert_eq!(
        (report["local"].as_str(), report["remote"].as_str()),
        (Some("relay"), Some("relay")),
        "{report:#}"
    );
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
