//! Calls that do not come about: which hop, what to do, and an exit code of 1.

use interop_tests::config::{PASSWORD, Transport, USER};
use interop_tests::ended::Ended;
use interop_tests::ports::free_port;
use serde_json::{Value, json};

use crate::scenery::{Gateway, Icetester, TOKEN, icetest, runs};

#[track_caller]
fn failure(told: &Ended, place: usize) -> (String, String, String) {
    assert_eq!(told.code, Some(1), "{told:#?}");
    let run = &told.json()["runs"][place];
    assert_eq!(run["result"], "failed", "{told:#?}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&run["hop"]), text(&run["error"]), text(&run["hint"]))
}

#[test]
fn a_wrong_password_is_the_gateways_word() {
    let gateway = Gateway::start();
    let servers = gateway.ice_servers("wrong");
    let told = icetest(&["--ice-servers", &servers, "-o", "json", "udp"], &[]);
    let (hop, error, hint) = failure(&told, 0);
    assert_eq!(hop, "gateway");
    assert!(error.contains(USER), "{error}");
    assert!(hint.contains("password"), "{hint}");
}

#[test]
fn a_closed_port_is_the_way_to_the_gateway() {
    let url = format!("turn:127.0.0.1:{}?transport=tcp", free_port());
    let servers = json!([{ "urls": url, "username": USER, "credential": PASSWORD }]).to_string();
    let told = icetest(&["--ice-servers", &servers, "-o", "json"], &[]);
    let (hop, error, _) = failure(&told, 0);
    assert_eq!(hop, "gateway");
    assert!(error.contains("nothing listens"), "{error}");
}

#[test]
fn a_peer_that_no_route_admits_is_named() {
    let gateway = Gateway::start_with(|config| {
        config.cluster("udp")["endpoints"] = json!(["192.0.2.1"]);
    });
    let told = icetest(
        &["--ice-servers", &gateway.servers(), "-o", "json", "udp"],
        &[],
    );
    let (hop, error, hint) = failure(&told, 0);
    assert_eq!(hop, "peer", "{error}");
    assert!(
        hint.contains("route") && hint.contains("127.0.0.1:"),
        "{hint}"
    );
}

#[test]
fn an_icetester_with_another_token_is_the_signalling() {
    let gateway = Gateway::start();
    let tester = Icetester::start(&[]);
    let url = tester.url();
    let told = icetest(
        &[
            "--ice-servers",
            &gateway.servers(),
            "--whip",
            &url,
            "--whip-token",
            "wrong",
            "-o",
            "json",
            "udp",
        ],
        &[],
    );
    let (hop, error, hint) = failure(&told, 0);
    assert_eq!(hop, "signalling", "{error}");
    assert!(
        error.ends_with("answered 401: the request does not show the token"),
        "{error}"
    );
    assert!(hint.contains("--whip-token"), "{hint}");
}

#[test]
fn an_icetester_that_gets_no_relay_points_to_the_gateway() {
    let gateway = Gateway::start();
    let tester = Icetester::start(&[]);
    let url = tester.url();
    // Its certificates are trusted here and not there.
    let told = icetest(
        &[
            "--ice-servers",
            &gateway.servers(),
            "--whip",
            &url,
            "--whip-token",
            TOKEN,
            "--insecure",
            "-o",
            "json",
            "tls",
        ],
        &[],
    );
    let (hop, error, hint) = failure(&told, 1);
    assert_eq!(hop, "gateway", "{error}");
    assert!(
        error.contains("answered 502: ") && !error.contains("hint:"),
        "{error}"
    );
    assert!(!hint.is_empty() && !hint.contains("error:"), "{hint}");
}

#[test]
fn one_failed_call_of_several_fails_the_whole_and_the_others_are_made() {
    let gateway = Gateway::start();
    let closed = format!("turn:127.0.0.1:{}?transport=tcp", free_port());
    let servers = json!([{ "urls": [gateway.url(Transport::Udp), closed], "username": USER, "credential": PASSWORD }]);
    let told = icetest(&["--ice-servers", &servers.to_string(), "-o", "json"], &[]);
    assert_eq!(told.code, Some(1), "{told:#?}");
    assert_eq!(
        runs(&told),
        [
            "asymmetric udp passed",
            "symmetric udp passed",
            "asymmetric tcp failed",
            "symmetric tcp failed"
        ]
    );
}

#[test]
fn a_wrong_command_line_is_usage() {
    for (arguments, says) in [
        (vec!["quic"], "`quic`"),
        (vec!["--whip", "http://127.0.0.1:1/whip"], "--ice-servers"),
        (vec!["--ice-servers", "secret nonsense"], "--ice-servers"),
        (vec!["--offload-mode", "magic"], "XDP"),
        (vec!["--max-loss", "200"], "--max-loss"),
    ] {
        let told = icetest(&arguments, &[]);
        assert_eq!(told.code, Some(2), "{told:#?}");
        assert!(told.stderr.contains(says), "{told:#?}");
        assert!(told.stderr.contains("hint: "), "{told:#?}");
        assert!(!told.stderr.contains("secret nonsense"), "{told:#?}");
    }
}

#[test]
fn without_a_cluster_it_says_which_other_ways_there_are() {
    let home = tempfile::tempdir().expect("a folder");
    let told = icetest(&[], &[("HOME", home.path().to_str().expect("a path"))]);
    assert_eq!(told.code, Some(1), "{told:#?}");
    assert!(told.stderr.contains("error: "), "{told:#?}");
    assert!(
        told.stderr.contains("--kubeconfig") || told.stderr.contains("kubeconfig"),
        "{told:#?}"
    );
}

#[test]
fn a_test_that_takes_too_long_ends() {
    let gateway = Gateway::start();
    let told = icetest(
        &[
            "--ice-servers",
            &gateway.servers(),
            "--timeout",
            "300ms",
            "udp",
        ],
        &[],
    );
    assert_eq!(told.code, Some(1), "{told:#?}");
    assert!(told.stderr.contains("--timeout"), "{told:#?}");
}
