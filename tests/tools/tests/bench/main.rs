//! `stunner bench` against the real `stunnerd`.

mod endings;
mod problems;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use interop_tests::binary;
use interop_tests::config::{PASSWORD, Transport, USER};
use interop_tests::ended::{Ended, run_to_end};
use interop_tests::scene::Scene;
use serde_json::{Value, json};

/// A machine that is held up this often in a row has other problems.
const RUNS: usize = 5;

fn stunner() -> &'static Path {
    binary::find("STUNNER_BIN", "stunner-standalone", "stunner")
}

/// The command with arguments separated by spaces.
fn bench(arguments: &str) -> Command {
    let mut command = Command::new(stunner());
    command.arg("bench").args(arguments.split_whitespace());
    command
}

fn uri(scene: &Scene, transport: Transport) -> String {
    uri_at(scene.address(transport), transport, PASSWORD)
}

fn uri_at(server: SocketAddr, transport: Transport, password: &str) -> String {
    format!(
        "turn://{USER}:{password}@{server}?transport={}",
        transport.name()
    )
}

fn finished(arguments: &str) -> Ended {
    run_to_end(&mut bench(arguments), "")
}

#[track_caller]
fn measured(arguments: &str) -> Value {
    let done = finished(arguments);
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_str(&done.stdout).expect("one JSON object on standard output")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// What a measurement tells in which loopback loses nothing. Where this machine is held up, a packet may come after the
/// generator has stopped listening: the best of a few runs counts.
#[track_caller]
fn measured_whole(arguments: &str, flows: &[&str]) -> Value {
    let mut last = Value::Null;
    for _ in 0..RUNS {
        let result = measured(arguments);
        let is_whole = |flow: &Value| flow["sent"] == flow["received"];
        if flows.iter().all(|name| is_whole(&result["flows"][name])) {
            return result;
        }
        last = result;
    }
    panic!("loopback loses packets every time: {last}");
}

/// About `rate` packets per second were sent, in all flows together. Those that a held-up generator left out count, and it
/// may have been held up at its very end.
#[track_caller]
fn assert_rate(result: &Value, flows: &[&str], rate: f64) {
    let sent = flows.iter().map(|name| &result["flows"][name]["sent"]);
    let sent: u64 = sent.map(number).sum();
    assert!(sent > 0, "{result}");
    let due = (sent + number(&result["skipped"])) as f64;
    let seconds = result["seconds"].as_f64().expect("seconds");
    assert!(due <= 1.5 * rate * seconds, "{result}");
    assert!(due >= 0.25 * rate * seconds.min(1.0), "{result}");
}

#[test]
fn load_passes_both_ways_over_every_transport() {
    let scene = Scene::start();
    for transport in Transport::ALL {
        let uri = uri(&scene, transport);
        let flows = ["toPeer", "toClient"];
        let result = measured_whole(
            &format!(
                "{uri} --json --insecure --peer-address 127.0.0.1 -n 8 -r 50 -s 301 -t 1s --threads 2"
            ),
            &flows,
        );
        assert_eq!(result["transport"], transport.name());
        assert_eq!(result["sessions"]["ready"], 8, "{result}");
        assert_eq!(result["sessions"]["failed"], json!([]));
        // 8 clients with 50 packets in a second each way; gaps are random.
        assert_rate(&result, &flows, 800.0);
        assert!(
            result["latencyMs"]["p50"]
                .as_f64()
                .is_some_and(|ms| ms > 0.0),
            "{result}"
        );
        let packets: u64 = result["histogram"]
            .as_array()
            .expect("bars")
            .iter()
            .filter_map(|bar| bar["packets"].as_u64())
            .sum();
        let received = flows.map(|name| number(&result["flows"][name]["received"]));
        assert!(received.iter().all(|count| *count > 0), "{result}");
        assert_eq!(packets, received.iter().sum::<u64>());
    }
    assert_eq!(
        scene.server.allocation_count(),
        Some(0),
        "allocations are given back"
    );
}

#[test]
fn an_echo_gives_round_trips() {
    let scene = Scene::start();
    let (uri, echo) = (uri(&scene, Transport::Tcp), scene.peer.address());
    let arguments = format!("{uri} --json --echo {echo} -n 3 -r 100 -t 500ms");
    let result = measured_whole(&arguments, &["roundTrip"]);
    assert_rate(&result, &["roundTrip"], 300.0);
    assert_eq!(result["flows"]["toClient"], Value::Null);
}

#[test]
fn the_largest_rate_is_what_comes_back() {
    let scene = Scene::start();
    let result = measured(&format!(
        "{} --json --peer-address 127.0.0.1 -n 4 -r max -d to-peer -t 500ms",
        uri(&scene, Transport::Udp)
    ));
    // 4 clients with 8 packets under way each: they were replaced many times, and more often than at the usual rate.
    let received = number(&result["flows"]["toPeer"]["received"]);
    assert!(received > 5 * 32, "{result}");
    assert_eq!(result["rate"], Value::Null);
}

#[test]
fn sessions_start_over_the_ramp_and_are_counted_after_it() {
    let scene = Scene::start();
    let result = measured(&format!(
        "{} --json --peer-address 127.0.0.1 -n 20 -r 20 --ramp 2s -t 1s",
        uri(&scene, Transport::Udp)
    ));
    let intervals = result["intervals"].as_array().expect("intervals");
    let mut end = 0.0;
    for interval in intervals {
        end += interval["seconds"].as_f64().expect("a length");
        let at = interval["at"].as_f64().expect("its end");
        assert!(
            (at - end).abs() < 1e-6,
            "one begins where another ends: {interval}"
        );
    }
    let is_early = |interval: &&Value| interval["measured"] == false;
    let early: Vec<&Value> = intervals.iter().take_while(is_early).collect();
    assert!(!early.is_empty(), "{result}");
    for interval in &early {
        let at = interval["at"].as_f64().expect("seconds");
        let due = (20.0 * at / 2.0).ceil() as u64;
        assert!(number(&interval["sessions"]) <= due, "{interval}");
    }
    let is_busy = |interval: &&Value| interval["sentPerSecond"].as_f64() > Some(0.0);
    assert!(early.iter().any(is_busy), "packets flow before they count");
    assert_eq!(result["sessions"]["ready"], 20);
    // A second of 20 clients, not three, and without what was sent before.
    let seconds = result["seconds"].as_f64().expect("seconds");
    assert!((1.0..2.5).contains(&seconds), "{result}");
    assert_rate(&result, &["toPeer", "toClient"], 800.0);
}

#[test]
fn the_report_is_for_people() {
    let scene = Scene::start();
    let done = finished(&format!(
        "{} --peer-address 127.0.0.1 -n 2 -t 500ms",
        uri(&scene, Transport::Udp)
    ));
    assert_eq!(done.code, Some(0), "{done:?}");
    for part in [
        "2 sessions over UDP",
        "to peer",
        "to client",
        "p99",
        "up to",
    ] {
        assert!(
            done.stdout.contains(part),
            "no `{part}` in:\n{}",
            done.stdout
        );
    }
    assert!(
        !format!("{done:?}").contains(PASSWORD),
        "passwords stay unsaid"
    );
}
