//! Web pages of others, and visitors of an ICE test who want more than the test.

use std::net::SocketAddr;
use std::time::Duration;

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::http::{self, Answer};
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use serde_json::{Value, json};
use standalone_tests::manifests::{Folder, gateway, route};
use standalone_tests::stunner::{Stunner, client};

const SOON: Duration = Duration::from_secs(20);

fn send(stunner: &Stunner, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let address = stunner.console_address();
    let body = r#"{"gateway": "default/gw", "listener": "none"}"#;
    let answer = http::send(method, address, path, headers, Some(body), SOON);
    answer.expect("an answer")
}

fn act(stunner: &Stunner, method: &str, path: &str, body: &Value) -> Answer {
    let (address, body) = (stunner.console_address(), body.to_string());
    http::request(method, address, path, Some(&body), SOON).expect("an answer")
}

#[test]
fn a_rebound_name_sees_nothing_and_another_site_changes_nothing() {
    let folder = Folder::quickstart(free_port());
    let stunner = Stunner::run(&[folder.path()], &[]);
    let own = stunner.console_address();
    for headers in [
        &[("Host", "evil.example")][..],
        &[("Host", own), ("Host", "evil.example")],
        &[("Host", "localhost:1@evil.example")],
        &[
            ("Host", "evil.example"),
            ("X-Forwarded-Host", "localhost"),
            ("Forwarded", "host=localhost"),
        ],
        &[],
    ] {
        for path in ["/", "/api/v1/state", "/api/v1/events"] {
            let answer = send(&stunner, "GET", path, headers);
            let is_refused = matches!(answer.status, 400 | 403 | 421);
            assert!(is_refused, "{headers:?} {path}");
            assert!(!answer.body.contains("default/gw"), "{}", answer.body);
        }
    }
    let json = ("Content-Type", "application/json");
    for header in [
        ("Origin", "null"),
        ("Origin", "http://evil.example"),
        ("Origin", "http://127.0.0.1"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ] {
        for method in ["POST", "OPTIONS"] {
            let headers = [("Host", own), json, header];
            let answer = send(&stunner, method, "/api/v1/ice-tests", &headers);
            assert_eq!(answer.status, 403, "{method} {header:?}");
            let head = answer.head.to_ascii_lowercase();
            assert!(!head.contains("access-control"), "{head}");
        }
    }
    // What a form of another site can send without being asked first.
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let headers = [("Host", own), ("Content-Type", kind)];
        let answer = send(&stunner, "POST", "/api/v1/ice-tests", &headers);
        assert_eq!(answer.status, 415, "{kind}");
    }
    // The listener does not exist; the request itself is as it should be.
    let origin = format!("http://{own}");
    let headers = [("Host", own), json, ("Origin", origin.as_str())];
    let answer = send(&stunner, "POST", "/api/v1/ice-tests", &headers);
    assert_eq!(answer.status, 404, "{}", answer.body);
}

/// A test that was started: its id, the credential and the echo peer.
fn start_test(stunner: &Stunner) -> (String, Credentials, SocketAddr) {
    let body = json!({ "gateway": "default/gw", "listener": "udp" });
    let answer = act(stunner, "POST", "/api/v1/ice-tests", &body);
    assert_eq!(answer.status, 201, "{}", answer.body);
    let test = answer.json();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let server = &test["iceServers"][0];
    (
        text(&test["id"]),
        Credentials::new(&text(&server["username"]), &text(&server["credential"])),
        text(&test["peer"]).parse().expect("an address"),
    )
}

fn guest(port: u16, credentials: &Credentials) -> TurnClient {
    let server = SocketAddr::from(([127, 0, 0, 1], port));
    TurnClient::connect(Transport::Udp, server, "").with_credentials(credentials.clone())
}

#[test]
fn the_credential_of_an_ice_test_reaches_its_echo_and_nothing_else() {
    let (port, other_port) = (free_port(), free_port());
    let peer = UdpEcho::start("127.0.0.1:0");
    let routed = peer.address();
    let folder = Folder::quickstart(port);
    let other = [
        gateway("other", &[("udp", "TURN-UDP", other_port)]),
        route("others", "other", &["127.0.0.0/24"]),
    ];
    folder.write("other.yaml", &other.join("\n---\n"));
    let stunner = Stunner::run(&[folder.path()], &[]);
    client(port).join(0x4000, routed);

    let (id, credentials, echo) = start_test(&stunner);
    let (_, _, echo_of_another) = start_test(&stunner);
    let mut visitor = guest(port, &credentials);
    visitor.allocate().expect("an allocation");
    visitor.permit(echo).expect("the echo peer");
    visitor.bind(0x4000, echo).expect("the echo peer");
    for peer in [routed, echo_of_another] {
        let refused = visitor.permit(peer).expect_err("refused");
        assert_eq!(refused.code(), Some(403), "{peer}");
        let refused = visitor.bind(0x4001, peer).expect_err("refused");
        assert_eq!(refused.code(), Some(403), "{peer}");
    }
    let elsewhere = guest(other_port, &credentials).allocate();
    assert_eq!(elsewhere.map_err(|refusal| refusal.code()), Err(Some(401)));

    let ended = act(
        &stunner,
        "DELETE",
        &format!("/api/v1/ice-tests/{id}"),
        &json!(null),
    );
    assert_eq!(ended.status, 200, "{}", ended.body);
    let late = guest(port, &credentials).allocate();
    assert_eq!(late.map_err(|refusal| refusal.code()), Err(Some(401)));
    let refused = visitor.permit(echo).expect_err("refused");
    assert_eq!(refused.code(), Some(403));
}

#[test]
fn the_console_shows_a_drain() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &["--drain-timeout", "60s"]);
    client(port).join(0x4000, echo.address());
    let phase = || stunner.state()["live"]["gateways"][0]["phase"].clone();
    assert_eq!(phase(), "running");
    stunner.signal(libc::SIGTERM);
    assert!(wait_until(SOON, || phase() == "draining"), "{}", phase());
    let body = json!({ "gateway": "default/gw", "listener": "udp" });
    let refused = act(&stunner, "POST", "/api/v1/ice-tests", &body);
    assert_eq!(refused.status, 409, "{}", refused.body);
    stunner.signal(libc::SIGTERM);
}
