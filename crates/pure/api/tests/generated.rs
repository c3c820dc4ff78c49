//! Generated files are those that the code generates. `UPDATE=1 cargo test -p stunner-api` writes them.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

const NOTICE: &str =
    "# Generated from crates/pure/api; UPDATE=1 cargo test -p stunner-api writes it anew.\n";

#[test]
fn definitions_of_our_kinds_are_up_to_date() {
    for definition in stunner_api::crd::definitions() {
        let name = definition.metadata.name.clone().unwrap();
        let text = format!("{NOTICE}{}", yaml(&definition));
        check(&format!("deploy/crds/{name}.yaml"), &text);
    }
}

#[test]
fn reference_of_our_kinds_is_up_to_date() {
    check("docs/reference/api.md", &stunner_api::crd::reference());
}

#[test]
fn install_manifests_are_up_to_date() {
    for manifest in stunner_api::install::manifests() {
        let mut text = NOTICE.to_owned();
        for line in manifest.comment.lines() {
            text.push_str(&format!("# {line}\n"));
        }
        for document in &manifest.documents {
            text.push_str("---\n");
            text.push_str(&with_reasons(&yaml(&document.object), &document.rules));
        }
        check(&format!("deploy/manifests/{}", manifest.path), &text);
    }
}

/// Puts above each rule of a role why it is there.
fn with_reasons(role: &str, reasons: &[&str]) -> String {
    let mut reasons = reasons.iter();
    let mut text = String::new();
    for line in role.lines() {
        if line == "- apiGroups:" {
            text.push_str(&format!("# {}\n", reasons.next().unwrap()));
        }
        text.push_str(line);
        text.push('\n');
    }
    assert_eq!(reasons.next(), None, "a reason without its rule");
    text
}

fn yaml(object: &impl Serialize) -> String {
    let mut value = serde_json::to_value(object).unwrap();
    whole_numbers(&mut value);
    serde_saphyr::to_string(&value).unwrap()
}

/// Limits are floating-point numbers to JSON schema; `65535.0` is an odd port to read.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = number.as_f64().filter(|float| float.fract() == 0.0) {
                *value = Value::from(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

fn check(path: &str, wanted: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, wanted).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == wanted,
        "{path} is out of date: run UPDATE=1 cargo test -p stunner-api"
    );
}
