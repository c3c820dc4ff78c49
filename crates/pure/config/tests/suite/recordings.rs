//! Configs that the Go system served are read without errors.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stunner_config::{ParseOptions, Parsed, Problem, parse, parse_with};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// Every config in a recording: one document per line, a list body, or an array.
fn configs(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let documents: Vec<Value> = match serde_json::from_str(&text) {
        Ok(document) => vec![document],
        Err(_) => text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    };
    let items = documents.into_iter().flat_map(|document| match document {
        Value::Array(items) => items,
        Value::Object(ref map) => match map.get("items") {
            Some(Value::Array(items)) => items.clone(),
            _ => vec![document],
        },
        other => panic!("{other}"),
    });
    items.map(|item| item.to_string()).collect()
}

fn all_configs() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for name in ["operator", "cds", "tools"] {
        let mut paths: Vec<_> = fs::read_dir(folder(name))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        for path in paths {
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            all.extend(
                configs(&path)
                    .into_iter()
                    .map(|config| (file.clone(), config)),
            );
        }
    }
    assert!(all.len() > 60, "{}", all.len());
    all
}

fn pod_env(name: &str) -> Option<String> {
    (name == "STUNNER_ADDR").then(|| "10.244.0.9".to_owned())
}

fn read(text: &str) -> Result<Parsed, Vec<Problem>> {
    parse(text, &pod_env)
}

#[test]
fn every_recorded_config_is_read_by_programs_that_only_show_it() {
    let options = ParseOptions {
        judge_listeners: false,
        ..ParseOptions::default()
    };
    for (file, text) in all_configs() {
        if let Err(problems) = parse_with(&text, &pod_env, options) {
            panic!("{file}: {}", super::lines(&problems));
        }
    }
}

#[test]
fn the_dataplane_reads_every_recorded_config_that_it_could_serve() {
    for (file, text) in all_configs() {
        let Err(problems) = read(&text) else { continue };
        // The recordings have dummies for certificates and keys, one listener without any, and one address
        // that the discovery service replaces.
        for problem in problems.iter().filter(|problem| problem.is_error()) {
            let is_dummy = ["cert", "key"]
                .iter()
                .any(|key| problem.path.ends_with(&format!("].{key}")));
            let is_placeholder = problem.message.contains("`__node_address_placeholder`");
            assert!(is_dummy || is_placeholder, "{file}: {problem}");
        }
    }
}

#[test]
fn recorded_configs_survive_being_written_and_read_again() {
    let cached = ParseOptions {
        expand_env: false,
        ..ParseOptions::default()
    };
    let mut count = 0;
    for (file, text) in all_configs() {
        let Ok(first) = read(&text) else { continue };
        let again = parse_with(&first.config.to_json().to_string(), &super::no_env, cached);
        assert_eq!(
            again.map(|parsed| parsed.config).as_ref(),
            Ok(&first.config),
            "{file}"
        );
        count += 1;
    }
    assert!(count > 50, "{count}");
}

#[test]
fn what_is_written_is_what_the_go_system_writes() {
    let text = configs(&folder("operator/01-quickstart-static.json")).remove(0);
    let written = read(&text).unwrap().config.to_json().to_string();
    assert_eq!(written, text.replace("$STUNNER_ADDR", "10.244.0.9"));
    let text = configs(&folder("operator/21-dataplane-all-fields.json")).remove(0);
    let written = read(&text).unwrap().config.to_json().to_string();
    assert_eq!(written, text.replace("$STUNNER_ADDR", "10.244.0.9"));
}

#[test]
fn the_recorded_deletion_frame_is_a_deletion_of_its_id_only() {
    let frames = configs(&folder("cds/frames.jsonl"));
    let deletions: Vec<_> = frames
        .iter()
        .filter(|frame| frame.contains("dummy-username"))
        .collect();
    assert!(!deletions.is_empty());
    for frame in deletions {
        let config = read(frame).unwrap().config;
        assert!(config.is_deletion(&config.admin.name), "{frame}");
        assert!(!config.is_deletion("stunner/other"));
        assert_eq!(config, stunner_config::bootstrap(&config.admin.name));
    }
    for frame in frames
        .iter()
        .filter(|frame| !frame.contains("dummy-username"))
    {
        if let Ok(parsed) = read(frame) {
            assert!(!parsed.config.is_deletion(&parsed.config.admin.name));
        }
    }
}
