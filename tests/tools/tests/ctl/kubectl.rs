//! Templates are shown to the real kubectl, where there is one: what it prints, ours prints.

use std::path::PathBuf;
use std::process::Command;

use interop_tests::cache::cache_dir;
use interop_tests::ended::run_to_end;
use interop_tests::skip::{Missing, find_in_path, report};
use serde_json::Value;
use stunner_jsonpath::Template;

const TABLE: &str = include_str!("../../../../crates/pure/jsonpath/tests/cases.json");

/// One that the cluster tests have built, else the user's own.
fn kubectl() -> Option<PathBuf> {
    let built = cache_dir().read_dir().ok()?.flatten();
    let mut built: Vec<PathBuf> = built
        .map(|entry| entry.path().join("kubectl"))
        .filter(|path| path.is_file())
        .collect();
    built.sort();
    built.pop().or_else(|| find_in_path("kubectl"))
}

/// Kubectl takes anything with `items` for a list and goes through it, and wants a kind that it knows.
fn for_kubectl(text: &str) -> String {
    text.replace("items", "entries")
        .replace("\"kind\"", "\"sort\"")
        .replace(".kind", ".sort")
        .replace("['kind']", "['sort']")
}

#[test]
fn kubectl_prints_the_same() {
    let Some(kubectl) = kubectl() else {
        report(
            "kubectl_prints_the_same",
            &Missing::new("kubectl", "it is not installed"),
        );
        return;
    };
    let table: Value = serde_json::from_str(TABLE).expect("a table");
    let folder = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    for case in table["cases"].as_array().expect("cases") {
        // Where ours is meant to differ the table says so.
        if case["kubectl"].is_string() {
            continue;
        }
        let document = table["documents"][case["on"].as_str().expect("a document")].to_string();
        let mut document: Value = serde_json::from_str(&for_kubectl(&document)).expect("JSON");
        document["apiVersion"] = "v1".into();
        document["kind"] = "ConfigMap".into();
        let file = folder.path().join("document.json");
        std::fs::write(&file, document.to_string()).expect("a file");
        let template = for_kubectl(case["template"].as_str().expect("a template"));
        // It prints what it would write, without a cluster.
        let mut command = Command::new(&kubectl);
        command.args(["annotate", "--local", "-f"]).arg(&file);
        command
            .args(["none-", "-o"])
            .arg(format!("jsonpath={template}"));
        let theirs = run_to_end(&mut command, "");
        let ours = Template::parse(&template).map_err(|error| error.to_string());
        let ours = ours.and_then(|template| {
            template
                .render(&document)
                .map_err(|error| error.to_string())
        });
        match theirs.code {
            Some(0) => assert_eq!(ours.as_deref(), Ok(theirs.stdout.as_str()), "{template}"),
            _ => assert!(ours.is_err(), "{template}: {ours:?} {}", theirs.stderr),
        }
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}
