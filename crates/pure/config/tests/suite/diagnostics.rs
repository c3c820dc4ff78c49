//! Bad configs and everything said about them, in `tests/fixtures/diagnostics.txt`.
//!
//! A case is `=== title`, the config, `>>>`, and the full diagnostics. After a change on purpose, run the test with
//! `UPDATE=1` to write the file anew, and read the difference.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use stunner_config::parse;

/// The environment of all cases.
fn env(name: &str) -> Option<String> {
    let value = match name {
        "STUNNER_ADDR" => "10.0.0.1",
        "STUNNER_ADDRS" => "10.0.0.1,nonsense",
        "WORD" => "hush-env",
        _ => return None,
    };
    Some(value.to_owned())
}

fn diagnose(text: &str) -> String {
    match parse(text, &env) {
        Ok(parsed) if parsed.warnings.is_empty() => "fine".to_owned(),
        Ok(parsed) => super::lines(&parsed.warnings),
        Err(problems) => super::lines(&problems),
    }
}

#[test]
fn every_bad_config_gets_its_diagnostics() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/diagnostics.txt");
    let recorded = fs::read_to_string(&path).unwrap();
    let mut actual = String::new();
    for case in recorded.split("=== ").skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let (config, _) = rest.split_once("\n>>>\n").unwrap();
        let diagnostics = diagnose(config);
        assert!(
            !diagnostics.contains("hush"),
            "{title} shows a secret: {diagnostics}"
        );
        write!(actual, "=== {title}\n{config}\n>>>\n{diagnostics}\n\n").unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &actual).unwrap();
    }
    assert_eq!(
        actual.trim_end(),
        recorded.trim_end(),
        "run with UPDATE=1 if this is meant"
    );
}
