//! What a test leaves behind on an icetester that was there before it: nothing.

use std::process::Command;
use std::time::Instant;

use interop_tests::binary::stunnerctl;
use interop_tests::config::USER;
use interop_tests::process::Process;
use serde_json::{Value, json};

use crate::scenery::{Gateway, Icetester, PATIENCE, TOKEN, icetest, runs};

/// An icetester with settings of its own, which no call of a test leaves as they are.
fn settled() -> Icetester {
    let servers =
        json!([{ "urls": ["turn:192.0.2.1:3478"], "username": "own", "credential": "own" }]);
    Icetester::start(&[
        ("ICE_SERVERS", servers.to_string().as_str()),
        ("ICE_TRANSPORT_POLICY", "relay"),
    ])
}

fn config(tester: &Icetester) -> Value {
    tester.ask("GET", "/config", "", "").json()
}

#[test]
fn an_icetester_has_its_own_settings_again_after_a_test() {
    let gateway = Gateway::start();
    for tester in [settled(), Icetester::start(&[])] {
        let before = config(&tester);
        for (servers, result) in [
            (gateway.servers(), "passed"),
            (gateway.ice_servers("wrong"), "failed"),
        ] {
            let told = icetest(
                &[
                    "--ice-servers",
                    &servers,
                    "--whip",
                    &tester.url(),
                    "--whip-token",
                    TOKEN,
                    "-o",
                    "json",
                    "udp",
                ],
                &[],
            );
            let expected = ["asymmetric", "symmetric"].map(|kind| format!("{kind} udp {result}"));
            assert_eq!(runs(&told), expected, "{told:#?}");
            assert_eq!(config(&tester), before);
        }
        assert!(!before.to_string().contains(USER));
    }
}

/// A test in the middle of its first call.
fn under_way(gateway: &Gateway, tester: &Icetester) -> Process {
    let before = config(tester);
    let mut command = Command::new(stunnerctl());
    command
        .args(["icetest", "--duration", "1h", "--timeout", "2h", "udp"])
        .args(["--ice-servers", &gateway.servers(), "--whip", &tester.url()])
        .args(["--whip-token", TOKEN])
        .env_remove("KUBECONFIG");
    let process = Process::start("stunnerctl", command).expect("start stunnerctl");
    let until = Instant::now() + PATIENCE;
    while config(tester) == before {
        assert!(Instant::now() < until, "{:?}", process.log());
        std::thread::sleep(PATIENCE / 400);
    }
    process
}

#[test]
fn an_icetester_has_its_own_settings_again_after_a_test_that_was_interrupted() {
    let gateway = Gateway::start();
    let tester = settled();
    let before = config(&tester);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut process = under_way(&gateway, &tester);
        process.signal(signal);
        let ended = process.wait_end(PATIENCE).expect("an end");
        assert_eq!(ended.code(), Some(1), "{:?}", process.log());
        assert_eq!(config(&tester), before, "{:?}", process.log());
    }
}

#[test]
fn settings_that_cannot_be_given_back_are_told() {
    let gateway = Gateway::start();
    let tester = settled();
    let mut process = under_way(&gateway, &tester);
    drop(tester);
    process.signal(libc::SIGINT);
    let ended = process.wait_end(PATIENCE).expect("an end");
    assert_eq!(ended.code(), Some(1), "{:?}", process.log());
    let says = "the icetester keeps the TURN servers of this test";
    assert!(process.log_contains(says), "{:?}", process.log());
}
