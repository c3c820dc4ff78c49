//! All transports, one end and both ends behind the gateway.

use interop_tests::config::Transport;
use serde_json::Value;

use crate::scenery::{Gateway, Icetester, TOKEN, icetest, runs};

fn all_passed() -> Vec<String> {
    let both = |transport: Transport| {
        ["asymmetric", "symmetric"].map(|test| format!("{test} {} passed", transport.name()))
    };
    Transport::ALL.into_iter().flat_map(both).collect()
}

/// The kinds of the candidates that data takes, here and there.
fn selected(run: &Value) -> [String; 2] {
    ["local", "remote"].map(|side| {
        let all = run["candidates"][side].as_array().expect("candidates");
        let chosen = all.iter().find(|candidate| candidate["selected"] == true);
        let chosen = chosen.unwrap_or_else(|| panic!("none selected: {run:#}"));
        chosen["type"].as_str().unwrap_or_default().to_owned()
    })
}

#[test]
fn an_icetester_is_called_over_every_transport_from_one_end_and_from_both() {
    let gateway = Gateway::start();
    let root = gateway.root();
    let trust = [("SSL_CERT_FILE", root.to_str().expect("a path"))];
    let tester = Icetester::start(&trust);
    let told = icetest(
        &[
            "--ice-servers",
            &gateway.servers(),
            "--whip",
            &tester.url(),
            "--whip-token",
            TOKEN,
            "-o",
            "json",
        ],
        &trust,
    );
    assert_eq!(told.code, Some(0), "{told:#?}\n{:?}", tester.process.log());
    assert_eq!(runs(&told), all_passed());
    let json = told.json();
    assert_eq!(json["passed"], true);
    for run in json["runs"].as_array().expect("runs") {
        let expected = match run["test"].as_str() {
            Some("symmetric") => ["relay", "relay"],
            _ => ["relay", "host"],
        };
        assert_eq!(selected(run), expected, "{run:#}");
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        assert!((45.0..=52.0).contains(&number(&run["sent"])), "{run:#}");
        let times = &run["roundTripMs"];
        assert!(number(&times["median"]) > 0.0, "{run:#}");
        assert!(number(&times["p99"]) >= number(&times["p95"]), "{run:#}");
    }
    // Nothing is left on the gateway, and no secret in the log of the far end.
    let is_empty = interop_tests::process::wait_until(crate::scenery::PATIENCE, || {
        gateway.server.allocation_count() == Some(0)
    });
    assert!(
        is_empty,
        "{:?} allocations are left",
        gateway.server.allocation_count()
    );
    let log = tester.process.log().join("\n");
    for secret in [TOKEN, interop_tests::config::PASSWORD] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn without_an_icetester_the_far_end_is_in_the_same_process() {
    let gateway = Gateway::start();
    let told = icetest(
        &[
            "--ice-servers",
            &gateway.servers(),
            "--insecure",
            "-o",
            "json",
        ],
        &[],
    );
    assert_eq!(told.code, Some(0), "{told:#?}");
    assert_eq!(runs(&told), all_passed());
}

#[test]
fn a_flood_sends_as_much_as_goes() {
    let gateway = Gateway::start();
    let told = icetest(
        &[
            "--ice-servers",
            &gateway.servers(),
            "--packet-rate",
            "0",
            "-o",
            "json",
            "udp",
        ],
        &[],
    );
    assert_eq!(told.code, Some(0), "{told:#?}");
    for run in told.json()["runs"].as_array().expect("runs") {
        assert!(run["received"].as_u64() > Some(500), "{run:#}");
    }
}

#[test]
fn people_see_progress_on_one_stream_and_the_result_on_the_other() {
    let gateway = Gateway::start();
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), gateway.servers()).expect("written");
    let servers = format!("@{}", file.path().display());
    let told = icetest(&["--ice-servers", &servers, "tcp"], &[]);
    assert_eq!(told.code, Some(0), "{told:#?}");
    assert!(
        told.stderr.contains("Running asymmetric ICE test over TCP"),
        "{told:#?}"
    );
    assert!(told.stderr.contains("completed"), "{told:#?}");
    assert!(told.stdout.contains("asymmetric over TCP"), "{told:#?}");
    assert!(told.stdout.contains("* here relay 127.0.0.1:"), "{told:#?}");
    assert!(told.stdout.ends_with("2 passed, 0 failed\n"), "{told:#?}");
}
