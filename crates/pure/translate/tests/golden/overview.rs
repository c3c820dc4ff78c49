//! The overview of a world, where a case has an `overview.yaml` beside its plan.
//!
//! A new one begins as an empty file; `UPDATE=1` fills it.

use stunner_translate::overview::{Overview, overview};
use stunner_translate::translate;

use crate::support::read;
use crate::{CASES, Case};

/// Shorter ones, such as `user`, are ordinary words of messages too.
const TELLING: usize = 8;

fn seen(case: &Case, backwards: bool) -> Overview {
    let (snapshot, settings) = (case.snapshot(backwards), case.settings());
    overview(&snapshot, &translate(&snapshot, &settings), &settings)
}

#[test]
fn every_overview_is_as_it_says() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut different = Vec::new();
    for case in CASES.iter() {
        let path = case.folder.join("overview.yaml");
        if !path.exists() {
            continue;
        }
        let found = serde_saphyr::to_string(&seen(case, false)).expect("YAML");
        if update {
            std::fs::write(&path, found).expect("overview.yaml can be written");
        } else if read(&path) != found {
            different.push(format!("{}:\n{found}", case.name));
        }
    }
    assert!(
        different.is_empty(),
        "not as overview.yaml says (UPDATE=1 writes it anew):\n{}",
        different.join("\n")
    );
}

#[test]
fn an_overview_does_not_depend_on_the_order_of_learning() {
    for case in CASES.iter() {
        assert_eq!(seen(case, false), seen(case, true), "{}", case.name);
    }
}

#[test]
fn no_overview_has_a_credential_or_a_certificate() {
    for case in CASES.iter() {
        let text = serde_json::to_string(&seen(case, false)).expect("JSON");
        let plan = case.plan();
        for (_, config) in plan.configs() {
            let config = config.to_json();
            let credentials = config["auth"]["credentials"].as_object();
            let credentials = credentials.into_iter().flatten().map(|(_, value)| value);
            let listeners = config["listeners"].as_array().into_iter().flatten();
            let certificates = listeners.flat_map(|listener| [&listener["cert"], &listener["key"]]);
            for secret in credentials.chain(certificates) {
                let secret = secret.as_str().unwrap_or_default();
                let is_there = secret.len() >= TELLING && text.contains(secret);
                assert!(!is_there, "{}: {secret}", case.name);
            }
        }
        assert!(!text.contains("BEGIN "), "{}", case.name);
    }
}
