//! The corpus of broken manifests (`crates/pure/manifest/tests/broken`) against the real program: `stunner check` says
//! what is wrong and where, and a gateway that serves loses nothing by any of it.

#[path = "../../../../crates/pure/manifest/tests/broken_corpus/mod.rs"]
mod corpus;

mod check;
mod gateway;
mod hostile;
mod serving;

use std::path::PathBuf;

use serde_json::Value;
use standalone_tests::binary::root;

use corpus::Finding;

fn corpus_root() -> PathBuf {
    root().join("crates/pure/manifest/tests/broken")
}

/// The folder in order that every case is laid beside.
fn good() -> String {
    std::fs::read_to_string(corpus_root().join("good.yaml")).expect("good.yaml")
}

/// A problem as JSON has it, everywhere.
fn finding(problem: &Value) -> Finding {
    let number = |value: &Value| value.as_u64().and_then(|one| u32::try_from(one).ok());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Finding {
        line: number(&problem["line"]).unwrap_or(0),
        column: number(&problem["column"]),
        severity: text(&problem["severity"]),
        message: match text(&problem["field"]).as_str() {
            "" => text(&problem["message"]),
            field => format!("{field}: {}", text(&problem["message"])),
        },
        hint: text(&problem["hint"]),
    }
}
