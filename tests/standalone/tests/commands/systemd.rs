//! The systemd unit that we ship.

use std::fs;
use std::process::Command;

use interop_tests::skip;
use standalone_tests::binary::{root, stunner};
use standalone_tests::command::run;

fn unit() -> String {
    let path = root().join("deploy/systemd/stunner.service");
    fs::read_to_string(path).expect("the unit")
}

fn value(unit: &str, name: &str) -> String {
    let lines = unit.lines().filter_map(|line| line.split_once('='));
    let mut found = lines.filter(|(key, _)| *key == name);
    found.next().map(|(_, value)| value.to_owned()).expect(name)
}

#[test]
fn the_unit_starts_a_command_that_exists_and_outwaits_its_drain() {
    let unit = unit();
    let start = value(&unit, "ExecStart");
    let words: Vec<&str> = start.split_whitespace().collect();
    assert_eq!(words[..2], ["/usr/bin/stunner", "run"]);
    // With `--help` at the end, every flag before it is read, and none is wrong.
    let ended = run(&root(), words[1..].iter().chain(&["--help"]), "");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let drain = value(&unit, "Environment");
    let drain = drain
        .strip_prefix("STUNNER_DRAIN_TIMEOUT=")
        .expect("the time to drain");
    let seconds = |text: &str| text.trim_end_matches('s').parse::<u32>().expect("seconds");
    assert!(seconds(&value(&unit, "TimeoutStopSec")) > seconds(drain));
    assert_eq!(value(&unit, "KillSignal"), "SIGTERM");
    assert_eq!(value(&unit, "AmbientCapabilities"), "CAP_NET_BIND_SERVICE");
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let analyze = interop_tests::need!(
        "systemd_finds_nothing_wrong_with_the_unit",
        skip::program("systemd-analyze", "systemd")
    );
    // The program is where a package would put it only once it is installed.
    let binary = fs::canonicalize(stunner()).expect("the binary");
    let unit = unit().replace("/usr/bin/stunner", &binary.display().to_string());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("stunner.service");
    fs::write(&path, unit).expect("a copy of the unit");
    let output = Command::new(analyze)
        .arg("verify")
        .arg(&path)
        .output()
        .expect("its verdict");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}");
}
