//! What holds for all of them.

use std::collections::BTreeSet;

use interop_tests::ports::free_port;
use standalone_tests::binary::root;
use standalone_tests::command::run;
use standalone_tests::stunner::Stunner;

use crate::stage::{SOON, assert_closed, assert_good, folder, sockets};

/// The examples that this suite knows, and a port of each. A new one gets a file beside this one.
const EXAMPLES: [(&str, u16); 6] = [
    ("dual-stack", 3478),
    ("ephemeral-credentials", 3478),
    ("media-server", 3478),
    ("public-turn", 3478),
    ("quickstart", 3478),
    ("tls-443", 443),
];

#[test]
fn every_folder_has_a_test_a_guide_and_a_line_in_the_list() {
    let entries = std::fs::read_dir(root().join("examples")).expect("the examples");
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    let found: BTreeSet<String> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let known: BTreeSet<String> = EXAMPLES.map(|(name, _)| name.to_owned()).into();
    assert_eq!(found, known);
    let list = std::fs::read_to_string(root().join("examples/README.md")).expect("the list");
    for name in found {
        let guide = root().join("docs/guides").join(format!("{name}.md"));
        let guide = std::fs::read_to_string(guide).unwrap_or_default();
        assert!(guide.contains(&format!("examples/{name}")), "{name}");
        assert!(list.contains(&format!("({name}/)")), "{name}");
        let module = name.replace('-', "_");
        let own = format!("{}/tests/examples/{module}.rs", env!("CARGO_MANIFEST_DIR"));
        assert!(std::path::Path::new(&own).exists(), "no {own}");
    }
}

#[test]
fn every_example_passes_the_strict_check_and_translates() {
    for (name, _) in EXAMPLES {
        let path = format!("examples/{name}");
        let checked = run(&root(), ["check", "--strict", &path], "");
        let said = (
            checked.code,
            checked.stdout.as_str(),
            checked.stderr.as_str(),
        );
        assert_eq!(said, (Some(0), "", ""), "{name}");
        for form in ["yaml", "json", "table"] {
            let translated = run(&root(), ["translate", "-o", form, &path], "");
            let said = (translated.code, translated.stderr.as_str());
            assert_eq!(said, (Some(0), ""), "{name}");
            assert!(
                translated.stdout.len() > 200,
                "{name}: {}",
                translated.stdout
            );
        }
        let same = run(&root(), ["translate", "--diff", &path, &path], "");
        assert_eq!(same.code, Some(0), "{name}: {}", same.stdout);
    }
}

#[test]
fn every_example_runs_beside_others_and_stops_at_once_on_sigint() {
    for (name, port) in EXAMPLES {
        let moved = free_port();
        let offset = format!("--port-offset={}", i32::from(moved) - i32::from(port));
        let mut stunner = Stunner::run(&[&folder(name)], &[&offset, "--drain-timeout=60s"]);
        let ready = stunner.wait_event("ready");
        assert_good(&ready);
        let sockets = sockets(&ready);
        assert!(
            sockets.iter().all(|(_, port)| *port == moved),
            "{sockets:?}"
        );
        stunner.signal(libc::SIGINT);
        let status = stunner.wait_end(SOON).expect("the end");
        assert_eq!(status.code(), Some(0), "{name}");
        assert_eq!(stunner.wait_event("stopped")["signal"], "SIGINT", "{name}");
        assert_closed(&sockets);
    }
}
