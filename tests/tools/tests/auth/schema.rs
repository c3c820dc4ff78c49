//! `schemathesis` makes requests from the OpenAPI document, right ones and wrong ones, and finds nothing to complain about.

use std::process::Command;
use std::time::Duration;

use interop_tests::need;
use interop_tests::process::run;
use interop_tests::python::interpreter_with;

use crate::process::{Authd, config};

/// So many requests for each path in each of its two ways to choose them, and always the same ones.
const EXAMPLES: &str = "100";
const SEED: &str = "1";

fn check(test: &str, arguments: &[&str], headers: &[&str]) {
    let python = need!(test, interpreter_with("schemathesis.txt"));
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("gateways.json");
    let gateways = config("ns/a", "192.0.2.1") + "\n" + &config("ns/b", "2001:db8::1");
    std::fs::write(&path, gateways).expect("write");
    let path = path.display().to_string();
    let arguments: Vec<&str> = ["--config", &path]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    let authd = Authd::start(&arguments);
    let mut command = Command::new(python);
    command
        .current_dir(dir.path())
        .args(["-m", "schemathesis.cli", "run"])
        .arg(format!("http://{}/openapi.json", authd.address()))
        .args([
            "--checks",
            "all",
            "--max-examples",
            EXAMPLES,
            "--seed",
            SEED,
        ])
        .args(headers.iter().flat_map(|header| ["--header", header]));
    let output = run("schemathesis", command, Duration::from_secs(240)).expect_success(test);
    assert!(output.contains("No issues found"), "{output}");
    assert!(authd.terminate().success());
}

#[test]
fn schemathesis_finds_nothing_in_an_open_service() {
    check("schemathesis_finds_nothing_in_an_open_service", &[], &[]);
}

#[test]
fn schemathesis_finds_nothing_in_a_guarded_service() {
    let test = "schemathesis_finds_nothing_in_a_guarded_service";
    let token = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(token.path(), "sesame\n").expect("write");
    let file = token.path().display().to_string();
    let guarded = [
        "--token-file",
        &file,
        "--rate-limit",
        "100000",
        "--cors-origin",
        "*",
    ];
    check(test, &guarded, &["Authorization: Bearer sesame"]);
}
