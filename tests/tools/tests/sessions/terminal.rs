//! `top` on a pseudo terminal: it takes the screen, follows its size, and gives it back.

use std::path::Path;
use std::process::Command;

use interop_tests::binary::stunnerctl;
use serde_json::Value;

use crate::scenery::Scenery;

/// Runs `top` and leaves it by `end`.
fn run(scenery: &Scenery, end: &str, env: &[(&str, &str)]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/terminal.py");
    let mut command = Command::new("timeout");
    command.arg("90").arg("python3").arg(script).arg(end);
    command.arg(stunnerctl());
    command.args(["top", "--interval", "300ms", "--admin", scenery.admin()]);
    command.env_remove("NO_COLOR").env_remove("TERM");
    command.envs(env.iter().copied());
    let output = command.output().expect("run python3");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

fn assert_given_back(report: &Value, code: i64) {
    assert_eq!(report["code"], code, "{report:#}");
    for what in [
        "raw", "entered", "sorted", "resized", "left", "cursor", "restored",
    ] {
        assert_eq!(report[what], true, "{what}: {report:#}");
    }
}

#[test]
fn the_terminal_is_given_back_by_the_key_q() {
    let scenery = Scenery::start();
    let _session = scenery.session();
    assert_given_back(&run(&scenery, "key", &[]), 0);
}

#[test]
fn the_terminal_is_given_back_on_sigterm() {
    let scenery = Scenery::start();
    let report = run(&scenery, &libc::SIGTERM.to_string(), &[]);
    assert_given_back(&report, 0);
}

#[test]
fn no_color_means_no_colours() {
    let scenery = Scenery::start();
    let mut session = scenery.session();
    // A denial is what would be coloured.
    let refuse = |session: &mut interop_tests::client::TurnClient| {
        let _ = session.permit("192.0.2.9:5000".parse().expect("an address"));
    };
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                refuse(&mut session);
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        });
        let plain = run(&scenery, "key", &[("TEST_WAIT", "+"), ("NO_COLOR", "1")]);
        let coloured = run(&scenery, "key", &[("TEST_WAIT", "+")]);
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(plain["coloured"], false, "{plain:#}");
        assert_eq!(coloured["coloured"], true, "{coloured:#}");
    });
}
