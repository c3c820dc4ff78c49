//! Tests that end before all calls are made: what was measured is told, and the rest named.

use std::process::Command;

use interop_tests::binary::stunnerctl;
use interop_tests::process::Process;
use serde_json::Value;

use crate::scenery::{Gateway, PATIENCE, icetest, runs};

#[test]
fn a_test_that_is_out_of_time_tells_what_it_has() {
    let gateway = Gateway::start();
    let servers = gateway.servers();
    let flags = ["--ice-servers", &servers, "udp", "-o", "json"];
    let times = ["--duration", "5s", "--timeout", "8s"];
    let told = icetest(&[&flags[..], &times].concat(), &[]);
    assert_eq!(told.code, Some(1), "{told:#?}");
    assert_eq!(
        runs(&told),
        ["asymmetric udp passed", "symmetric udp notRun"]
    );
    let json = told.json();
    assert_eq!(json["passed"], false);
    assert_eq!(json["error"], "the test is not done after 8 s");
    assert!(
        told.stderr.contains("hint: ") && !told.stderr.contains("removed"),
        "{told:#?}"
    );
}

#[test]
fn a_signal_does_not_take_away_what_was_measured() {
    let gateway = Gateway::start();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut command = Command::new(stunnerctl());
        command
            .args(["icetest", "--duration", "2s", "udp", "-o", "json"])
            .args(["--ice-servers", &gateway.servers()])
            .env_remove("KUBECONFIG");
        let mut process = Process::start("stunnerctl", command).expect("start stunnerctl");
        let second = "Running symmetric ICE test over UDP";
        assert!(process.wait_log(second, PATIENCE), "{:?}", process.log());
        process.signal(signal);
        let ended = process.wait_end(PATIENCE).expect("an end");
        assert_eq!(ended.code(), Some(1));
        assert!(process.wait_log("error: interrupted", PATIENCE));
        assert!(process.wait_log("\"passed\"", PATIENCE));
        let log = process.log();
        let json = log.iter().find(|line| line.starts_with('{'));
        let json: Value = serde_json::from_str(json.expect("a result")).expect("JSON");
        assert_eq!(json["runs"][0]["result"], "passed", "{json}");
        assert_eq!(json["runs"][1]["result"], "notRun", "{json}");
        assert!(!process.log_contains("removed"), "{log:?}");
    }
}

#[test]
fn a_test_that_cannot_begin_answers_in_json_too() {
    let flags = ["--admin", "127.0.0.1:1", "-o", "json"];
    let told = icetest(&flags, &[]);
    assert_eq!(told.code, Some(1), "{told:#?}");
    let json = told.json();
    assert_eq!(json["passed"], false);
    assert!(
        json["error"]
            .as_str()
            .is_some_and(|it| it.contains("127.0.0.1:1")),
        "{json}"
    );
    assert_eq!(json["runs"], serde_json::json!([]));
}

#[test]
fn no_time_is_no_duration() {
    for flag in ["--duration", "--timeout"] {
        let told = icetest(&["--admin", "127.0.0.1:1", flag, "0"], &[]);
        assert_eq!(told.code, Some(2), "{told:#?}");
    }
}
