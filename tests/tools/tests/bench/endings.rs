//! Measurements that end before their time.

use std::time::Duration;

use interop_tests::config::Transport;
use interop_tests::process::Process;
use interop_tests::scene::Scene;

use crate::{bench, uri};

const PATIENCE: Duration = Duration::from_secs(60);

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

#[test]
fn an_interrupt_before_all_sessions_are_there_is_a_problem() {
    let scene = Scene::start();
    let uri = uri(&scene, Transport::Udp);
    let arguments = "--peer-address 127.0.0.1 -n 10 --ramp 1h --max-loss 1";
    let command = bench(&format!("{uri} {arguments}"));
    let mut process = Process::start("stunner bench", command).expect("start");
    assert!(
        process.wait_log("connecting", PATIENCE),
        "{:?}",
        process.log()
    );
    process.signal(libc::SIGINT);
    let status = process.wait_end(PATIENCE).expect("it ends");
    assert_eq!(status.code(), Some(1), "{:?}", process.log());
    assert!(
        process.log_contains("error: nothing was measured"),
        "{:?}",
        process.log()
    );
    assert_eq!(
        scene.server.allocation_count(),
        Some(0),
        "allocations are given back"
    );
}

#[test]
fn a_server_that_stands_still_does_not_hold_up_the_result() {
    let scene = Scene::start();
    let uri = uri(&scene, Transport::Udp);
    let command = bench(&format!("{uri} --peer-address 127.0.0.1 -n 100 -t 1h"));
    let mut process = Process::start("stunner bench", command).expect("start");
    assert!(
        process.wait_log("measuring", PATIENCE),
        "{:?}",
        process.log()
    );
    scene.server.process().signal(libc::SIGSTOP);
    process.signal(libc::SIGINT);
    // A minute is what one session would wait for.
    let status = process.wait_end(PATIENCE / 2);
    scene.server.process().signal(libc::SIGCONT);
    let status = status.expect("it ends");
    assert_eq!(status.code(), Some(1), "{:?}", process.log());
    assert!(
        process.log_contains("100 sessions over UDP"),
        "{:?}",
        process.log()
    );
}

#[test]
fn a_server_that_dies_fails_its_sessions_over_every_transport() {
    for transport in Transport::ALL {
        let scene = Scene::start();
        let uri = uri(&scene, transport);
        let flags = "--insecure --peer-address 127.0.0.1 -n 5 -t 1h";
        let mut process =
            Process::start("stunner bench", bench(&format!("{uri} {flags}"))).expect("start");
        assert!(
            process.wait_log("measuring", PATIENCE),
            "{:?}",
            process.log()
        );
        scene.server.process().signal(libc::SIGKILL);
        process.signal(libc::SIGINT);
        let status = process.wait_end(PATIENCE).expect("it ends");
        assert_eq!(status.code(), Some(1), "{transport:?}: {:?}", process.log());
        // They may learn of it in different ways.
        let log = process.log();
        let failed = log.iter().filter_map(|line| {
            let (count, _) = line
                .strip_prefix("error: ")?
                .split_once(" of 5 sessions failed")?;
            count.parse::<u64>().ok()
        });
        assert_eq!(failed.sum::<u64>(), 5, "{transport:?}: {log:?}");
    }
}
