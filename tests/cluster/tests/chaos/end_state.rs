//! All that the operator has made of a world, without what must differ from one run to the next.

use std::collections::{BTreeMap, BTreeSet};

use cluster_tests::kinds::{self, Kind};
use cluster_tests::{Objects, Operator};
use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;

use crate::world::NS;

pub type EndState = BTreeMap<String, Value>;

/// Objects with specs, annotations, labels and statuses, last good inputs, and the configs that dataplanes get.
pub async fn end_state(objects: &Objects, operator: &Operator) -> Result<EndState, String> {
    let mut found = Vec::new();
    for (kind, namespace) in [
        (kinds::GATEWAY_CLASS, ""),
        (kinds::GATEWAY, NS),
        (kinds::UDP_ROUTE, NS),
    ] {
        found.extend(listed(kind, objects.list(kind, namespace).await));
    }
    for kind in [kinds::SERVICE, kinds::DEPLOYMENT, kinds::CONFIG_MAP] {
        let mut list = objects.list(kind, NS).await;
        list.retain(|object| object["metadata"]["labels"]["stunner.l7mp.io/owned-by"] == "stunner");
        found.extend(listed(kind, list));
    }
    for secret in objects.list(kinds::SECRET, "stunner-system").await {
        if secret["metadata"]["labels"]["stunner.l7mp.io/last-good"] == "true" {
            found.push(last_good(secret));
        }
    }
    let (status, body) = operator
        .cds()
        .get("/api/v1/configs")
        .map_err(|error| error.to_string())?;
    let configs: Value =
        serde_json::from_str(&body).map_err(|error| format!("{status}: {error}"))?;
    for config in configs["items"].as_array().into_iter().flatten() {
        let name = config["admin"]["name"].as_str().unwrap_or_default();
        found.push((format!("config {name}"), config.clone()));
    }
    let mut names = names_of_what_the_api_server_picks(&found);
    for (port, name) in [
        (operator.cds_port(), "plain"),
        (operator.cds_tls_port(), "tls"),
    ] {
        names.push((format!(".svc:{port}"), format!(".svc:<{name} port>")));
    }
    Ok(found
        .into_iter()
        .map(|(name, value)| (name.clone(), normal(&name, value, &names)))
        .collect())
}

fn listed(kind: Kind, list: Vec<Value>) -> Vec<(String, Value)> {
    let named = |object: Value| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        (format!("{} {name}", kind.name), object)
    };
    list.into_iter().map(named).collect()
}

/// The content of a Secret with last good inputs, in the clear.
fn last_good(secret: Value) -> (String, Value) {
    let gateway = &secret["metadata"]["annotations"]["stunner.l7mp.io/last-good-gateway"];
    let name = format!("last good of {}", gateway.as_str().unwrap_or_default());
    let parsed = serde_json::from_value::<Secret>(secret).expect("a Secret");
    let content = parsed.data.unwrap_or_default();
    let content = content
        .get("last-good.json")
        .map(|bytes| bytes.0.as_slice());
    let content = serde_json::from_slice(content.unwrap_or_default());
    (name, content.unwrap_or(Value::Null))
}

/// Cluster IPs and UIDs, each with a name that is the same in every run. Longer ones first: one may begin another.
fn names_of_what_the_api_server_picks(found: &[(String, Value)]) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for (name, object) in found {
        for (pointer, what) in [("/metadata/uid", "uid"), ("/spec/clusterIP", "cluster-ip")] {
            if let Some(text) = object.pointer(pointer).and_then(Value::as_str) {
                names.push((text.to_owned(), format!("<{what} of {name}>")));
            }
        }
    }
    names.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    names
}

fn normal(name: &str, mut value: Value, names: &[(String, String)]) -> Value {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "managedFields",
        ] {
            metadata.remove(key);
        }
        if name.starts_with("Service ") || name.starts_with("Deployment ") {
            // How often ours were written is what the runs differ in.
            metadata.remove("generation");
        }
    }
    if name.starts_with("Deployment ") {
        // The Deployment controller's own.
        value["status"] = Value::Null;
        if let Some(annotations) = value["metadata"]["annotations"].as_object_mut() {
            annotations.remove("deployment.kubernetes.io/revision");
        }
    }
    scrub(&mut value, names);
    value
}

fn scrub(value: &mut Value, names: &[(String, String)]) {
    match value {
        Value::Object(map) => {
            map.remove("lastTransitionTime");
            for (key, value) in map {
                match key.as_str() {
                    "nodePort" | "healthCheckNodePort" | "ca.crt" if !value.is_null() => {
                        *value = format!("<{key}>").into();
                    }
                    // From the range of node ports.
                    "public_port" if value.as_u64().is_some_and(|port| port >= 30_000) => {
                        *value = "<nodePort>".into();
                    }
                    _ => scrub(value, names),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| scrub(value, names)),
        Value::String(text) => {
            for (picked, name) in names {
                if text.contains(picked) {
                    *text = text.replace(picked, name);
                }
            }
        }
        _ => {}
    }
}

/// What is not the same in both, to read.
pub fn differences(disturbed: &EndState, undisturbed: &EndState) -> String {
    let mut lines = Vec::new();
    let names = disturbed.keys().chain(undisturbed.keys());
    for name in names.collect::<BTreeSet<_>>() {
        compare(name, disturbed.get(name), undisturbed.get(name), &mut lines);
    }
    lines.join("\n")
}

fn compare(path: &str, one: Option<&Value>, two: Option<&Value>, lines: &mut Vec<String>) {
    match (one, two) {
        (Some(one), Some(two)) if one == two => {}
        (Some(Value::Object(one)), Some(Value::Object(two))) => {
            for key in one.keys().chain(two.keys()).collect::<BTreeSet<_>>() {
                compare(&format!("{path}/{key}"), one.get(key), two.get(key), lines);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(two))) if one.len() == two.len() => {
            for (place, (one, two)) in one.iter().zip(two).enumerate() {
                compare(&format!("{path}/{place}"), Some(one), Some(two), lines);
            }
        }
        (one, two) => {
            let show = |value: Option<&Value>| value.map_or("absent".to_owned(), Value::to_string);
            let (one, two) = (show(one), show(two));
            lines.push(format!(
                "{path}\n  disturbed:   {one}\n  undisturbed: {two}"
            ));
        }
    }
}
