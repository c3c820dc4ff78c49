//! How two results differ, object by object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::hidden::Hidden;
use super::lines::unified;
use super::result::Translation;

/// The difference as text; empty when there is none. Values of credentials, certificates and keys are not shown: each
/// is a number, and another number is another value.
pub(super) fn diff(old: (&str, &Translation), new: (&str, &Translation)) -> String {
    let mut hidden = Hidden::default();
    let before = texts(old.1, &mut hidden);
    let after = texts(new.1, &mut hidden);
    let names: BTreeSet<&(String, String)> = before.keys().chain(after.keys()).collect();
    let mut text = String::new();
    for name in names {
        let (old_text, new_text) = (before.get(name), after.get(name));
        if old_text != new_text {
            let (namespaced, kind) = name;
            let of = |text: Option<&String>| if text.is_some() { "of" } else { "not in" };
            text.push_str(&format!(
                "--- {kind} {namespaced} {} {}\n",
                of(old_text),
                old.0
            ));
            text.push_str(&format!(
                "+++ {kind} {namespaced} {} {}\n",
                of(new_text),
                new.0
            ));
            let old_text = old_text.map_or("", String::as_str);
            let new_text = new_text.map_or("", String::as_str);
            text.push_str(&unified(old_text, new_text));
        }
    }
    text
}

/// The objects of a result by name and kind, as YAML.
fn texts(result: &Translation, hidden: &mut Hidden) -> BTreeMap<(String, String), String> {
    let mut texts = BTreeMap::new();
    let mut put = |name: String, kind: &str, value: &Value| {
        let text = serde_saphyr::to_string(value).unwrap_or_default();
        texts.insert((name, kind.to_owned()), text);
    };
    for config in &result.configs {
        let mut config = config.clone();
        hidden.hide(&mut config);
        let name = config.pointer("/admin/name").and_then(Value::as_str);
        put(name.unwrap_or_default().to_owned(), "config", &config);
    }
    for object in &result.workloads {
        put(name(object), &kind(object), object);
    }
    for object in &result.statuses {
        let kind = format!("status of {}", kind(object));
        put(name(object), &kind, &object["status"]);
    }
    texts
}

/// With the group of kinds that there are two of.
fn kind(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    let group = object["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'));
    match group {
        Some((group, _)) if kind == "UDPRoute" => format!("{kind}.{group}"),
        _ => kind.to_owned(),
    }
}

fn name(object: &Value) -> String {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    match metadata["namespace"].as_str() {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}
