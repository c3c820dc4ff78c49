//! `stunner bench` against the real `stunnerd`.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use interop_tests::binary;
use interop_tests::config::{PASSWORD, Transport, USER};
use interop_tests::ended::{Ended, run_to_end};
use interop_tests::process::Process;
use interop_tests::scene::Scene;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

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

#[track_caller]
fn assert_whole(flow: &Value, least: u64) {
    let (sent, received) = (flow["sent"].as_u64(), flow["received"].as_u64());
    assert_eq!(sent, received, "loopback loses nothing: {flow}");
    assert!(sent >= Some(least), "{flow}");
}

#[test]
fn load_passes_both_ways_over_every_transport() {
    let scene = Scene::start();
    for transport in Transport::ALL {
        let uri = uri(&scene, transport);
        let result = measured(&format!(
            "{uri} --json --insecure --peer-address 127.0.0.1 -n 8 -r 50 -s 301 -t 1s --threads 2"
        ));
        assert_eq!(result["transport"], transport.name());
        assert_eq!(result["sessions"]["ready"], 8, "{result}");
        assert_eq!(result["sessions"]["failed"], json!([]));
        // 8 clients with 50 packets in a second; gaps are random.
        assert_whole(&result["flows"]["toPeer"], 250);
        assert_whole(&result["flows"]["toClient"], 250);
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
        let flows = &result["flows"];
        let received = |flow: &Value| flow["received"].as_u64().unwrap_or(0);
        assert_eq!(
            packets,
            received(&flows["toPeer"]) + received(&flows["toClient"])
        );
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
    let result = measured(&format!(
        "{} --json --echo {} -n 3 -r 100 -t 500ms",
        uri(&scene, Transport::Tcp),
        scene.peer.address()
    ));
    assert_whole(&result["flows"]["roundTrip"], 90);
    assert_eq!(result["flows"]["toClient"], Value::Null);
}

#[test]
fn the_largest_rate_is_what_comes_back() {
    let scene = Scene::start();
    let result = measured(&format!(
        "{} --json --peer-address 127.0.0.1 -n 4 -r max -d to-peer -t 500ms",
        uri(&scene, Transport::Udp)
    ));
    assert!(
        result["flows"]["toPeer"]["packetsPerSecond"]
            .as_f64()
            .is_some_and(|rate| rate > 1000.0),
        "{result}"
    );
}

#[test]
fn sessions_start_over_the_ramp_and_are_counted_after_it() {
    let scene = Scene::start();
    let result = measured(&format!(
        "{} --json --peer-address 127.0.0.1 -n 20 -r 20 --ramp 2s -t 1s",
        uri(&scene, Transport::Udp)
    ));
    let intervals = result["intervals"].as_array().expect("intervals");
    let early = &intervals[0];
    assert_eq!(early["measured"], false, "{result}");
    assert!(
        early["sessions"].as_u64().is_some_and(|ready| ready < 15),
        "{early}"
    );
    assert_eq!(result["sessions"]["ready"], 20);
    let sent = result["flows"]["toPeer"]["sent"]
        .as_u64()
        .expect("a number");
    assert!(
        (250..=600).contains(&sent),
        "a second of 20 clients, not three: {sent}"
    );
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

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let scene = Scene::start();
    let udp = scene.address(Transport::Udp);
    let closed = SocketAddr::from(([127, 0, 0, 1], interop_tests::ports::free_port()));
    let good = uri(&scene, Transport::Udp);
    let cases = [
        (
            "wrong password",
            uri_at(udp, Transport::Udp, "wrong"),
            "password",
        ),
        (
            "nothing listens",
            uri_at(closed, Transport::Tcp, PASSWORD),
            "hint:",
        ),
        (
            "no credential",
            format!("turn:{udp}?transport=udp"),
            "--username",
        ),
        ("no URI", "nonsense".to_owned(), "turn://"),
        (
            "no route",
            format!("{good} --peer-address 127.0.0.9 -t 200ms"),
            "StaticService",
        ),
        ("unknown signer", uri(&scene, Transport::Tls), "certificate"),
        (
            "echo without port",
            format!("{good} --echo 127.0.0.1"),
            "--echo",
        ),
    ];
    for (what, arguments, hint) in cases {
        let done = finished(&arguments);
        assert_eq!(done.code, Some(1), "{what}: {done:?}");
        let (error, all) = (&done.stderr, format!("{done:?}"));
        assert!(
            error.contains("error: ") && error.contains(hint),
            "{what}: {error}"
        );
        assert!(!all.contains(PASSWORD), "{what}: passwords stay unsaid");
    }
}

#[test]
fn wrong_usage_exits_with_two() {
    for arguments in [
        "",
        "turn:127.0.0.1 extra",
        "turn:127.0.0.1 -n 0",
        "turn:127.0.0.1 -r fast",
        "turn:127.0.0.1 -s 10",
        "turn:127.0.0.1 -t 1ms",
        "turn:127.0.0.1 --echo 127.0.0.1:7 -d both",
    ] {
        let done = finished(arguments);
        assert_eq!(done.code, Some(2), "{arguments}: {done:?}");
        assert!(done.stderr.contains("hint: "), "{arguments}: {done:?}");
    }
}

#[test]
fn too_much_loss_is_a_problem_where_a_bound_is_given() {
    let scene = Scene::start();
    let (uri, echo) = (uri(&scene, Transport::Udp), every_second_packet());
    let load = format!("{uri} --echo {echo} -n 1 -r 200 -t 500ms");
    let lossy = finished(&format!("{load} --max-loss 10"));
    assert_eq!(lossy.code, Some(1), "{lossy:?}");
    assert!(lossy.stderr.contains("--max-loss"), "{lossy:?}");
    for bound in ["--max-loss 90%", ""] {
        let fine = finished(&format!("{load} {bound}"));
        assert_eq!(fine.code, Some(0), "{fine:?}");
    }
}

#[test]
fn a_peer_that_nothing_comes_back_from_fails_its_sessions() {
    let scene = Scene::start();
    let uri = uri(&scene, Transport::Udp);
    // The discard port of an address that is admitted.
    let done = finished(&format!("{uri} --echo 127.0.0.2:9 -n 1 -t 200ms"));
    assert_eq!(done.code, Some(1), "{done:?}");
    let says = "no packet reaches the peer";
    assert!(done.stderr.contains(says), "{done:?}");
}

/// A peer that sends back only half of what it gets.
fn every_second_packet() -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("its address").to_string();
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        let mut is_kept = true;
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            is_kept = !is_kept;
            if is_kept {
                let _ = socket.send_to(&buffer[..length], from);
            }
        }
    });
    address
}

#[test]
fn an_interrupt_ends_the_measurement_with_what_there_is() {
    let scene = Scene::start();
    let uri = uri(&scene, Transport::Udp);
    let command = bench(&format!("{uri} --peer-address 127.0.0.1 -n 2 -t 60s"));
    let mut process = Process::start("stunner bench", command).expect("start");
    assert!(
        process.wait_log("measuring", PATIENCE),
        "{:?}",
        process.log()
    );
    process.signal(libc::SIGINT);
    let status = process.wait_end(PATIENCE).expect("it ends");
    assert_eq!(status.code(), Some(0), "{:?}", process.log());
    assert!(
        process.log_contains("2 sessions over UDP"),
        "{:?}",
        process.log()
    );
    assert_eq!(
        scene.server.allocation_count(),
        Some(0),
        "allocations are given back"
    );
}
