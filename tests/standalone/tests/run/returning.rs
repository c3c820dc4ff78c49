//! Gateways that go: what becomes of their calls and their ports, and what when they are back before the calls are over.

use std::time::Duration;

use interop_tests::client::TurnClient;
use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use serde_json::{Value, json};
use standalone_tests::manifests::{Folder, gateway, route, static_service};
use standalone_tests::stunner::{PATIENCE, Stunner, client};

/// Longer than any test.
const LONG: [&str; 2] = ["--drain-timeout", "100s"];

fn udp_gateway(name: &str, port: u16) -> String {
    gateway(name, &[("udp", "TURN-UDP", port)])
}

/// Waits until it is told that a Gateway was added, changed or removed, beyond the first so many events.
#[track_caller]
fn wait_told(stunner: &Stunner, seen: usize, change: &str, gateway: &str) -> Value {
    let object = json!({
        "change": change, "kind": "Gateway", "namespace": "default", "name": gateway,
    });
    stunner.wait_after(seen, &format!("{gateway} {change}"), |event| {
        let objects = event["objects"].as_array();
        objects.is_some_and(|objects| objects.contains(&object))
    })
}

/// Waits until it is told that the drain of a Gateway is over.
#[track_caller]
fn wait_closed(stunner: &Stunner, gateway: &str) -> Value {
    stunner.wait_for(&format!("end of {gateway}"), |event| {
        let mut closed = event["closed"].as_array().into_iter().flatten();
        closed.any(|closed| closed["name"] == gateway)
    })
}

/// A condition of the first listener of a Gateway.
fn said<'a>(event: &'a Value, gateway: &str, kind: &str) -> &'a Value {
    let gateways = event["gateways"].as_array().into_iter().flatten();
    let mut listeners = gateways
        .filter(|one| one["name"] == gateway)
        .map(|one| &one["listeners"][0]);
    let conditions = listeners.next().expect("the Gateway")["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions
        .find(|one| one["type"] == kind)
        .expect("the condition")
}

fn sessions(kept: u64, draining: u64, ended: u64) -> Value {
    json!({ "kept": kept, "draining": draining, "ended": ended })
}

/// The code that a newcomer is refused with.
fn refusal(port: u16) -> Option<u16> {
    let allocated = client(port).allocate();
    allocated.err().and_then(|refusal| refusal.code())
}

fn call(port: u16, echo: &UdpEcho) -> TurnClient {
    let mut client = client(port);
    client.join(0x4000, echo.address());
    client
}

fn phase(stunner: &Stunner) -> Value {
    stunner.state()["live"]["gateways"][0]["phase"].clone()
}

/// As `git checkout` of another branch and back does it, or an editor that writes in two parts.
#[test]
fn a_gateway_that_was_missing_for_a_moment_has_its_calls_and_takes_new_ones() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &LONG);
    let mut old = call(port, &echo);
    let before = phase(&stunner);
    for _ in 0..2 {
        let seen = stunner.events().len();
        folder.remove("gateway.yaml");
        let gone = wait_told(&stunner, seen, "removed", "gw");
        assert_eq!(gone["sessions"], sessions(0, 1, 0), "{gone:#}");
        assert_eq!(refusal(port), Some(508));
        assert_ne!(phase(&stunner), before);
        folder.write("gateway.yaml", &udp_gateway("gw", port));
        let back = wait_told(&stunner, seen, "added", "gw");
        assert_eq!(back["sessions"], sessions(1, 0, 0), "{back:#}");
        assert_eq!(said(&back, "gw", "Programmed")["status"], "True");
        let mut new = call(port, &echo);
        new.refresh(0).expect("the end of the session");
        assert!(old.echoes(0x4000, b"still here"));
        assert_eq!(phase(&stunner), before);
        assert_eq!(stunner.health("/ready").expect("an answer").status, 200);
        let status = stunner.health("/status").expect("a status").json();
        assert_eq!(status[0]["status"], "READY", "{status:#}");
        assert_eq!(status.as_array().map(Vec::len), Some(1), "{status:#}");
        let metrics = stunner.metrics();
        let mut gauges = metrics
            .lines()
            .filter(|line| line.starts_with("stunner_draining{"));
        assert!(gauges.all(|gauge| gauge.ends_with(" 0")), "{metrics}");
    }
}

/// Nothing is said on it, and so it would not keep the process from ending.
#[test]
fn a_call_on_hold_waits_for_its_gateway_too() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let flags = [&LONG[..], &["--stale-allocation-timeout", "0s"]].concat();
    let stunner = Stunner::run(&[folder.path()], &flags);
    let mut old = call(port, &echo);
    folder.remove("gateway.yaml");
    let gone = wait_told(&stunner, 0, "removed", "gw");
    assert_eq!(gone["sessions"], sessions(0, 1, 0), "{gone:#}");
    folder.write("gateway.yaml", &udp_gateway("gw", port));
    let back = wait_told(&stunner, 0, "added", "gw");
    assert_eq!(back["sessions"], sessions(1, 0, 0), "{back:#}");
    assert!(old.echoes(0x4000, b"still here"));
}

#[test]
fn only_a_gateway_that_stays_away_is_closed_when_the_time_to_drain_is_over() {
    let (port, other, echo) = (free_port(), free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    folder.write("other.yaml", &udp_gateway("other", other));
    folder.write(
        "other-route.yaml",
        &route("other", "other", &["127.0.0.0/24"]),
    );
    let stunner = Stunner::run(&[folder.path()], &["--drain-timeout", "10s"]);
    let (mut stays, mut goes) = (call(port, &echo), call(other, &echo));
    // The one that is back would have been closed first.
    folder.remove("gateway.yaml");
    wait_told(&stunner, 0, "removed", "gw");
    folder.remove("other.yaml");
    let gone = wait_told(&stunner, 0, "removed", "other");
    assert_eq!(gone["sessions"], sessions(0, 2, 0), "{gone:#}");
    folder.write("gateway.yaml", &udp_gateway("gw", port));
    let back = wait_told(&stunner, 0, "added", "gw");
    assert_eq!(back["sessions"], sessions(1, 1, 0), "{back:#}");
    assert!(goes.echoes(0x4000, b"still here"));
    let closed = wait_closed(&stunner, "other");
    assert_eq!(closed["sessions"], sessions(1, 0, 1), "{closed:#}");
    assert_eq!(
        closed["closed"],
        json!([{ "namespace": "default", "name": "other", "ended": 1 }])
    );
    assert!(!goes.echoes(0x4000, b"nobody is here"));
    assert!(stays.echoes(0x4000, b"still here"));
    call(port, &echo);
}

#[test]
fn a_gateway_that_is_renamed_and_renamed_back_has_not_been_away() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &LONG);
    let mut old = call(port, &echo);
    folder.write("gateway.yaml", &udp_gateway("aa", port));
    let renamed = wait_told(&stunner, 0, "added", "aa");
    let message = said(&renamed, "aa", "Accepted")["message"].to_string();
    assert!(
        message.contains("sessions of Gateway default/gw"),
        "{message}"
    );
    folder.write("gateway.yaml", &udp_gateway("gw", port));
    let back = wait_told(&stunner, 0, "added", "gw");
    assert_eq!(back["sessions"], sessions(1, 0, 0), "{back:#}");
    assert!(old.echoes(0x4000, b"still here"));
    call(port, &echo);
    let status = stunner.health("/status").expect("a status").json();
    assert_eq!(status.as_array().map(Vec::len), Some(1), "{status:#}");
}

#[test]
fn what_has_changed_in_a_gateway_that_is_back_counts_as_after_any_edit() {
    let (port, other, echo) = (free_port(), free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &LONG);
    let mut old = call(port, &echo);
    folder.remove("gateway.yaml");
    wait_told(&stunner, 0, "removed", "gw");
    folder.write("gateway.yaml", &udp_gateway("gw", other));
    let back = wait_told(&stunner, 0, "added", "gw");
    assert_eq!(back["sessions"], sessions(1, 0, 0), "{back:#}");
    call(other, &echo);
    assert!(old.echoes(0x4000, b"still here"));
    // What has gone with a listener has gone.
    let tcp = gateway("gw", &[("tcp", "TURN-TCP", other)]);
    folder.write("gateway.yaml", &tcp);
    let changed = wait_told(&stunner, 0, "changed", "gw");
    assert_eq!(changed["sessions"], sessions(0, 0, 2), "{changed:#}");
}

#[test]
fn a_gateway_that_goes_and_is_back_while_all_drains_lets_nobody_in() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let mut stunner = Stunner::run(&[folder.path()], &LONG);
    let mut old = call(port, &echo);
    stunner.signal(libc::SIGTERM);
    let drains = || stunner.health("/ready").is_ok_and(|it| it.status == 503);
    assert!(wait_until(PATIENCE, drains));
    folder.remove("gateway.yaml");
    wait_told(&stunner, 0, "removed", "gw");
    assert!(old.echoes(0x4000, b"still here"));
    let ended = stunner.wait_end(Duration::from_millis(300));
    assert_eq!(ended, None, "a session is left");
    folder.write("gateway.yaml", &udp_gateway("gw", port));
    wait_told(&stunner, 0, "added", "gw");
    assert_eq!(refusal(port), Some(508));
    assert!(old.echoes(0x4000, b"still here"));
    let seen = stunner.events().len();
    folder.remove("gateway.yaml");
    wait_told(&stunner, seen, "removed", "gw");
    old.refresh(0).expect("the end of the session");
    let status = stunner.wait_end(PATIENCE).expect("the end");
    assert_eq!(status.code(), Some(0));
    assert_eq!(stunner.wait_event("stopped")["drained"], true);
}

/// `gw` and the Gateway `aa`, which has the port.
fn two_on_one_port(port: u16) -> Folder {
    let folder = Folder::quickstart(port);
    folder.write("aa.yaml", &udp_gateway("aa", port));
    folder.write("aa-route.yaml", &route("aa", "aa", &["127.0.0.0/24"]));
    folder
}

#[test]
fn the_port_of_a_gateway_without_calls_is_free_at_once_for_the_next() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = two_on_one_port(port);
    let stunner = Stunner::run(&[folder.path()], &LONG);
    folder.remove("aa.yaml");
    let gone = wait_told(&stunner, 0, "removed", "aa");
    assert_eq!(said(&gone, "gw", "Programmed")["status"], "True");
    assert_eq!(gone["closed"], json!([]), "it had no call to wait for");
    call(port, &echo);
}

#[test]
fn the_port_that_a_gateway_without_calls_moves_away_from_is_free_at_once_for_the_next() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = two_on_one_port(port);
    let stunner = Stunner::run(&[folder.path()], &LONG);
    folder.write("aa.yaml", &udp_gateway("aa", free_port()));
    let moved = wait_told(&stunner, 0, "changed", "aa");
    assert_eq!(said(&moved, "gw", "Programmed")["status"], "True");
    call(port, &echo);
}

#[test]
fn the_port_of_a_gateway_that_is_gone_is_free_with_the_end_of_its_last_call() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = two_on_one_port(port);
    let stunner = Stunner::run(&[folder.path()], &LONG);
    let mut old = call(port, &echo);
    folder.remove("aa.yaml");
    let gone = wait_told(&stunner, 0, "removed", "aa");
    let accepted = said(&gone, "gw", "Accepted");
    assert_eq!(accepted["reason"], "PortUnavailable");
    let message = accepted["message"].to_string();
    assert!(
        message.contains("sessions of Gateway default/aa"),
        "{message}"
    );
    assert!(old.echoes(0x4000, b"still here"));
    old.refresh(0).expect("the end of the session");
    let closed = wait_closed(&stunner, "aa");
    assert_eq!(closed["closed"][0]["ended"], 0, "{closed:#}");
    assert_eq!(said(&closed, "gw", "Programmed")["status"], "True");
    call(port, &echo);
}

#[test]
fn the_port_that_a_gateway_moves_away_from_is_free_with_the_end_of_the_last_call_there() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = two_on_one_port(port);
    let stunner = Stunner::run(&[folder.path()], &LONG);
    let mut old = call(port, &echo);
    folder.write("aa.yaml", &udp_gateway("aa", free_port()));
    let moved = wait_told(&stunner, 0, "changed", "aa");
    let message = said(&moved, "gw", "Accepted")["message"].to_string();
    assert!(
        message.contains("Gateway default/aa still uses it"),
        "{message}"
    );
    assert!(old.echoes(0x4000, b"still here"));
    old.refresh(0).expect("the end of the session");
    stunner.wait_for("the port", |event| {
        event["event"] == "changed" && said(event, "gw", "Programmed")["status"] == "True"
    });
    call(port, &echo);
}

#[test]
fn an_edit_that_concerns_no_gateway_does_not_hide_the_calls() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let _call = call(port, &echo);
    folder.write("spare.yaml", &static_service("spare", &["127.0.9.0/24"]));
    let changed = stunner.wait_event("changed");
    assert_eq!(changed["objects"][0]["name"], "spare", "{changed:#}");
    assert_eq!(changed["sessions"], sessions(1, 0, 0), "{changed:#}");
}

#[test]
fn people_are_told_of_calls_that_drain_and_of_calls_that_are_cut() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let text = [("--address", "127.0.0.1"), ("--output", "text")];
    let flags = ["--drain-timeout", "1s"];
    let stunner = Stunner::start_with(&[folder.path()], &flags, &text);
    let told = |line: &str| wait_until(PATIENCE, || stunner.lines().iter().any(|it| it == line));
    assert!(wait_until(PATIENCE, || {
        let lines = stunner.lines();
        lines.iter().any(|line| line.starts_with("Serving."))
    }));
    let mut old = call(port, &echo);
    folder.remove("gateway.yaml");
    for line in [
        "- Gateway default/gw removed",
        "1 session of removed Gateways drains, for --drain-timeout at most",
        "Gateway default/gw is closed; 1 session ended after --drain-timeout",
    ] {
        assert!(told(line), "{line}: {:#?}", stunner.lines());
    }
    assert!(!old.echoes(0x4000, b"nobody is here"));
}
