//! The example folders that we ship.

use std::fs;
use std::process::Command;

use standalone_tests::binary::root;
use standalone_tests::command::run;

fn examples() -> Vec<String> {
    let entries = fs::read_dir(root().join("examples")).expect("the folder of examples");
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders
        .map(|entry| format!("examples/{}", entry.file_name().to_string_lossy()))
        .collect();
    names.sort();
    names
}

#[test]
fn every_example_passes_the_strict_check_and_has_a_readme() {
    let examples = examples();
    assert_eq!(examples.len(), 6, "{examples:?}");
    for example in examples {
        let ended = run(&root(), ["check", "--strict", &example], "");
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(0), ""),
            "{example}"
        );
        let readme = fs::read_to_string(root().join(&example).join("README.md"));
        let readme = readme.unwrap_or_default();
        assert!(readme.contains("stunner run "), "{example}: {readme}");
    }
}

#[test]
fn every_example_gives_gateways_that_lack_nothing_but_an_address() {
    for example in examples() {
        let ended = run(&root(), ["translate", "-o", "json", &example], "");
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(0), ""),
            "{example}"
        );
        let result: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
        assert_eq!(
            result["configs"].as_array().map(Vec::len),
            Some(1),
            "{example}"
        );
        let statuses = result["statuses"].as_array().expect("statuses");
        assert!(statuses.len() >= 3, "{example}");
        for status in statuses {
            let mut conditions = Vec::new();
            collect(&status["status"], &mut conditions);
            for condition in conditions {
                let kind = condition["type"].as_str().unwrap_or_default();
                let wished = if kind == "Conflicted" {
                    "False"
                } else {
                    "True"
                };
                // Whether there is an address is for a cluster, or for `stunner run`, to say.
                assert!(
                    kind == "Programmed" || condition["status"] == wished,
                    "{example}: {condition}"
                );
            }
        }
    }
}

fn collect<'a>(value: &'a serde_json::Value, conditions: &mut Vec<&'a serde_json::Value>) {
    if let Some(found) = value["conditions"].as_array() {
        conditions.extend(found);
    }
    for list in ["listeners", "parents"] {
        for item in value[list].as_array().into_iter().flatten() {
            collect(item, conditions);
        }
    }
}

#[test]
fn the_certificate_of_the_tls_example_can_be_made_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = root().join("examples/tls-443");
    for entry in fs::read_dir(example).expect("the example").flatten() {
        fs::copy(entry.path(), folder.path().join(entry.file_name())).expect("a copy");
    }
    let certificate =
        || fs::read_to_string(folder.path().join("certificate.yaml")).expect("a text");
    let shipped = certificate();
    let made = Command::new(folder.path().join("make-certificate"))
        .args(["turn.example.com", "192.0.2.1", "2001:db8::1"])
        .output()
        .expect("run make-certificate");
    let said = String::from_utf8_lossy(&made.stdout).into_owned();
    assert!(
        made.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&made.stderr)
    );
    assert!(
        said.contains("DNS:turn.example.com,IP:192.0.2.1,IP:2001:db8::1"),
        "{said}"
    );
    assert_ne!(certificate(), shipped);
    let ended = run(folder.path(), ["check", "--strict", "."], "");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
}
