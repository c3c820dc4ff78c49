//! What `top` prints where there is no terminal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use interop_tests::process::wait_until;
use interop_tests::scene::Scene;
use serde_json::Value;

use crate::scenery::{CHANNEL, Scenery, ctl};

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `body` while a session echoes a packet every ten milliseconds.
fn with_traffic<T>(scenery: &Scenery, body: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut session = scenery.session();
        let busy = &done;
        scope.spawn(move || {
            while !busy.load(Ordering::Relaxed) {
                session.echoes(CHANNEL, &[7; 200]);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let result = body();
        done.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn one_table_is_printed_after_two_looks() {
    let scenery = Scenery::start();
    let ran = with_traffic(&scenery, || {
        scenery.ctl(&["top", "--interval", "500ms"]).with_code(0)
    });
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("NAME"), "{}", ran.stdout);
    let names: Vec<&str> = lines[1..]
        .iter()
        .filter_map(|line| line.split("  ").find(|part| !part.is_empty()))
        .map(str::trim)
        .collect();
    let pod = format!("pod {}", scenery.admin());
    assert_eq!(
        names,
        [
            "default/one",
            "tcp TURN-TCP",
            "udp TURN-UDP",
            pod.as_str(),
            "default/two",
            "udp TURN-UDP",
            pod.as_str()
        ]
    );
    let cells: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(cells[1], "1", "allocations: {}", lines[1]);
    let rate: f64 = cells[2].trim_end_matches('k').parse().expect("a rate");
    assert!(rate > 0.0, "packets per second: {}", lines[1]);
    assert_eq!(cells.last(), Some(&"ready"));
    assert!(
        !ran.stdout.contains('\u{1b}'),
        "no colours without a terminal"
    );
}

#[test]
fn programs_get_an_object_per_interval() {
    let scenery = Scenery::start();
    let ran = with_traffic(&scenery, || {
        let arguments = ["top", "one", "--interval", "400ms", "--once", "-o", "json"];
        scenery.ctl(&arguments).with_code(0)
    });
    let values = ran.values();
    assert_eq!(values.len(), 1);
    let value = &values[0];
    assert_eq!(value["gateways"].as_array().map(Vec::len), Some(1));
    let gateway = &value["gateways"][0];
    assert_eq!(gateway["gateway"], "default/one");
    assert_eq!(gateway["allocations"], 1);
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    assert!(
        number(&gateway["packetsPerSecond"]["in"]) > 1.0,
        "{gateway}"
    );
    assert!(
        number(&gateway["bitsPerSecond"]["out"]) > 1000.0,
        "{gateway}"
    );
    assert!(number(&value["intervalSeconds"]) >= 0.4);
    assert_eq!(gateway["listeners"][1]["name"], "default/one/udp");
    assert_eq!(gateway["listeners"][1]["allocations"], 1);
}

#[test]
fn denials_are_counted_per_gateway_and_listener() {
    let scenery = Scenery::start();
    let mut session = scenery.session();
    for _ in 0..3 {
        let refused = session.permit("192.0.2.9:5000".parse().expect("an address"));
        assert_eq!(refused.err().and_then(|refusal| refusal.code()), Some(403));
    }
    let arguments = ["top", "--interval", "1s", "--once", "-o", "json"];
    let value = scenery.ctl(&arguments).with_code(0).values().remove(0);
    assert_eq!(value["gateways"][0]["denials"]["total"], 3, "{value}");
    assert_eq!(value["gateways"][0]["listeners"][1]["denials"]["total"], 3);
    assert_eq!(value["gateways"][1]["denials"]["total"], 0);
    // What is part of every exchange is no error.
    assert_eq!(value["gateways"][0]["errors"]["total"], 0, "{value}");
}

#[test]
fn a_stunnerd_that_drains_says_for_how_many_it_waits() {
    let scene = Scene::start_with(&["--drain-timeout", "60s"], |_| {});
    let _sessions = scene.sessions();
    scene.server.terminate();
    // Whoever asks before the signal has arrived sees a gateway that does not drain yet.
    let is_draining = || scene.server.ready_status() == Some(503);
    assert!(wait_until(PATIENCE, is_draining));
    let admin = scene.server.admin_address();
    let arguments = [
        "top",
        "--once",
        "--interval",
        "1s",
        "-o",
        "json",
        "--admin",
        admin,
    ];
    let value = ctl(&arguments).with_code(0).values().remove(0);
    let pod = &value["gateways"][0]["pods"][0];
    assert_eq!(
        (&pod["state"], &pod["drainRemaining"]),
        (&"draining".into(), &4.into()),
        "{value}"
    );
    let table = ctl(&["top", "--once", "--interval", "200ms", "--admin", admin]).with_code(0);
    assert!(table.stdout.contains("draining 4"), "{}", table.stdout);
}
