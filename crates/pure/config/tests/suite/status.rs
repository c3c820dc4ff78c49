//! The status document has the shape of the Go dataplane's, without its secrets.

use serde_json::Value;
use stunner_config::status::{Runtime, Traffic, TrafficStats};

use super::config;

const RECORDED: &str = include_str!("../fixtures/stunnerd/status.json");

const TEXT: &str = "version: v1
admin: {name: stunner/fixture, metrics_endpoint: 'http://127.0.0.1:8080/metrics', healthcheck_endpoint: 'http://127.0.0.1:8086'}
auth: {type: static, credentials: {username: fixture-user, password: fixture-pass}}
listeners:
- &udp {name: stunner/fixture/udp, public_address: 198.51.100.10, public_port: 3478, address: 127.0.0.1, routes: [stunner/media]}
- {<<: *udp, name: stunner/fixture/tcp, protocol: TURN-TCP, port: 3479}
- &tls
  <<: *udp
  name: stunner/fixture/tls
  protocol: TURN-TLS
  port: 5349
  cert: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==
  key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==
- {<<: *tls, name: stunner/fixture/dtls, protocol: TURN-DTLS, port: 5350}
clusters:
- {name: stunner/media, endpoints: [127.0.0.1]}
";

#[test]
fn it_equals_the_recording_but_for_secrets() {
    let masked = RECORDED
        .replace("fixture-pass", "<SECRET>")
        .replace("fixture-user", "<SECRET>")
        .replace("<certificate PEM>", "<SECRET>")
        .replace("<private key PEM>", "<SECRET>");
    // Compared as text: the order of fields counts too.
    assert_eq!(config(TEXT).status_document().to_string(), masked.trim());
}

#[test]
fn the_process_adds_counters_and_notes() {
    let traffic = |packets| Traffic {
        packets,
        bytes: 100 * packets,
        timestamp: 7,
    };
    let stats = |name: &str| TrafficStats {
        rx: traffic(name.len() as u64),
        tx: traffic(1),
    };
    let runtime = Runtime {
        allocation_count: 4,
        status: "READY",
        offload_note: Some("not available"),
        listener_stats: &stats,
        cluster_stats: &stats,
    };
    let document = config(TEXT).status_document_with(&runtime);
    assert_eq!(document["allocationCount"], 4);
    assert_eq!(document["status"], "READY");
    assert_eq!(document["admin"]["offload"], "None[all] (not available)");
    assert_eq!(document["listeners"][0]["stats"]["rx"]["pkts"], 20);
    assert_eq!(document["clusters"][0]["stats"]["tx"]["bytes"], 100);
}

#[test]
fn ephemeral_and_absent_credentials_are_masked_too() {
    let ephemeral = config("version: v1\nauth: {type: ephemeral, credentials: {secret: hush}}")
        .status_document();
    assert_eq!(
        ephemeral["auth"]["credentials"],
        serde_json::json!({ "secret": "<SECRET>" })
    );
    let none = config("version: v1\nauth: {type: none}").status_document();
    assert_eq!(
        none["auth"]["credentials"],
        Value::Object(Default::default())
    );
}
