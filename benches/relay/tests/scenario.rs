//! A quick run of the whole program: it proves that the benchmark measures, not what.

use std::path::Path;
use std::process::Command;

/// Runs `relay-bench compare` briefly and returns its JSON and its table.
fn compare(servers: &str, more: &[&str]) -> (serde_json::Value, String) {
    let name = format!("relay-bench-test-{}-{servers}.json", std::process::id());
    let json = std::env::temp_dir().join(name);
    let output = Command::new(env!("CARGO_BIN_EXE_relay-bench"))
        .args([
            "compare",
            "--servers",
            servers,
            "--rounds",
            "1",
            "--seconds",
            "0.3",
            "--no-pin",
        ])
        .args([
            "--sessions",
            "5",
            "--rates",
            "2000",
            "--bursts",
            "1,4",
            "--allocations",
            "20",
        ])
        .args(more)
        .arg("--json")
        .arg(&json)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = std::fs::read_to_string(&json).unwrap();
    let _ = std::fs::remove_file(&json);
    let table = String::from_utf8(output.stdout).unwrap();
    (serde_json::from_str(&text).unwrap(), table)
}

/// A busy machine makes the generator late, but packets pass and cost something.
fn assert_relays(server: &serde_json::Value) {
    for relay in server["relay"].as_array().unwrap() {
        let rated = &relay["rated"][0];
        assert!(
            rated["cpu_us_per_packet"]["median"].as_f64().unwrap() > 0.1,
            "{relay}"
        );
        assert!(
            rated["latency_p50_us"]["median"].as_f64().unwrap() > 1.0,
            "{relay}"
        );
        assert!(rated["loss"]["median"].as_f64().unwrap() < 0.5, "{relay}");
        let packets = relay["saturated"]["packets_per_second"]["median"]
            .as_f64()
            .unwrap();
        assert!(packets > 500.0, "{relay}");
    }
}

#[test]
fn the_forwarders_relay_in_every_mode() {
    let servers = "forwarder-single,forwarder-mmsg,forwarder-gso";
    let (json, table) = compare(servers, &["--burst-mode", "gso,mmsg"]);
    for server in json["servers"].as_array().unwrap() {
        // Single packets, then bursts of 4 in two modes.
        assert_eq!(server["relay"].as_array().unwrap().len(), 3);
        assert!(server["allocations"].is_null());
        assert_relays(server);
    }
    assert!(table.contains("forwarder-gso"), "{table}");
}

#[test]
fn receivers_that_take_groups_count_every_packet() {
    let (json, _) = compare(
        "forwarder-gso",
        &["--receive", "gro", "--direction", "to-client"],
    );
    assert_relays(&json["servers"][0]);
}

#[test]
fn coturn_relays_and_allocates_if_it_is_installed() {
    if !Path::new("/usr/bin/turnserver").exists() {
        eprintln!("skipped: coturn is not installed");
        return;
    }
    let (json, _) = compare("coturn", &["--payload", "200,1200"]);
    let server = &json["servers"][0];
    assert_eq!(server["relay"].as_array().unwrap().len(), 4);
    assert_relays(server);
    let allocations = &server["allocations"];
    assert_eq!(allocations["count"], 20);
    assert!(allocations["per_second"]["median"].as_f64().unwrap() > 10.0);
}

#[test]
fn a_server_that_does_not_start_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_relay-bench"))
        .args([
            "compare",
            "--servers",
            "forwarder-gso",
            "--rounds",
            "1",
            "--no-pin",
        ])
        .args(["--external", "nobody=/nonexistent/server --port {port}"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("error: `nobody` cannot be started"),
        "{errors}"
    );
}
