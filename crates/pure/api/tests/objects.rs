//! What an API server may have stored, or a user may have copied from somewhere, can be read.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stunner_api::gateway::{Gateway, GatewayClass, L4Route, ReferenceGrant};
use stunner_api::v1::{Dataplane, GatewayConfig, GatewayConfigSpec, StaticService, UdpRoute};
use stunner_api::v1alpha1;

#[test]
fn manifests_of_the_documentation_lose_nothing() {
    for object in objects(&manifest("of-the-documentation.yaml")) {
        let written = read(&object)
            .unwrap_or_else(|error| panic!("{error}: {object:#}"))
            .unwrap();
        let lost = missing("", &object, &written);
        assert_eq!(
            lost,
            accepted_losses(&object),
            "{object:#} became {written:#}"
        );
    }
}

/// What is read and not kept: spellings that have become others, and fields that are not used.
fn accepted_losses(object: &Value) -> Vec<String> {
    let losses: &[&str] = match (object["kind"].as_str(), object["metadata"]["name"].as_str()) {
        (Some("UDPRoute"), _) if object["apiVersion"] == "gateway.networking.k8s.io/v1alpha2" => {
            &["/spec/rules/0/backendRefs/0/weight"]
        }
        (Some("TCPRoute"), _) => &["/spec/rules/0/name"],
        _ => &[],
    };
    losses.iter().map(|&loss| loss.to_owned()).collect()
}

#[test]
fn odd_objects_are_readable_and_stay_what_they_are() {
    for object in objects(&manifest("odd-but-stored.yaml")) {
        let written = read(&object)
            .unwrap_or_else(|error| panic!("{error}: {object:#}"))
            .unwrap();
        assert_eq!(read(&written).unwrap().unwrap(), written, "{object:#}");
    }
}

#[test]
fn every_recorded_object_is_readable() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../translate/tests/recordings");
    let mut count = 0;
    for case in fs::read_dir(recordings).unwrap() {
        for file in ["in.yaml", "statuses.yaml"] {
            let Ok(text) = fs::read_to_string(case.as_ref().unwrap().path().join(file)) else {
                continue;
            };
            // Recordings have words in place of what differs from run to run.
            let text = text.replace("<time>", "2026-01-01T00:00:00Z");
            for object in objects(&text) {
                if read(&object)
                    .unwrap_or_else(|error| panic!("{error}: {object:#}"))
                    .is_some()
                {
                    count += 1;
                }
            }
        }
    }
    assert!(
        count > 250,
        "only {count} objects: the recordings have moved"
    );
}

#[test]
fn both_spellings_of_the_user_name_are_readable_also_together() {
    let both = json!({"userName": "one", "username": "two"});
    let spec: GatewayConfigSpec = serde_json::from_value(both.clone()).unwrap();
    assert_eq!(spec.user_name.as_deref(), Some("one"));
    assert_eq!(spec.username.as_deref(), Some("two"));
    assert_eq!(serde_json::to_value(&spec).unwrap(), both);
}

#[test]
fn secrets_are_not_shown() {
    let config: GatewayConfig = serde_json::from_value(json!({
        "metadata": {"name": "config", "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{\"password\":\"hush-3\"}",
        }},
        "spec": {"userName": "user-1", "password": "hush-1", "sharedSecret": "hush-2"},
    }))
    .unwrap();
    for shown in [
        format!("{config:?}"),
        format!("{config:#?}"),
        format!("{:?}", config.spec),
    ] {
        assert!(shown.contains("user-1"), "{shown}");
        assert!(!shown.contains("hush"), "{shown}");
    }
}

#[test]
fn features_are_read_in_both_forms() {
    let class = |features: Value| -> GatewayClass {
        serde_json::from_value(json!({"status": {"supportedFeatures": features}})).unwrap()
    };
    assert_eq!(
        class(json!(["Gateway"])),
        class(json!([{"name": "Gateway"}]))
    );
}

#[test]
fn a_route_found_at_run_time_has_the_address_of_its_version() {
    use kube::core::{ApiResource, GroupVersionKind, Resource};
    for version in stunner_api::names::ROUTE_VERSIONS {
        let kind = GroupVersionKind::gvk("gateway.networking.k8s.io", version, "UDPRoute");
        let resource = ApiResource::from_gvk_with_plural(&kind, "udproutes");
        assert_eq!(
            L4Route::url_path(&resource, Some("stunner")),
            format!("/apis/gateway.networking.k8s.io/{version}/namespaces/stunner/udproutes"),
        );
    }
}

/// Reads an object as its kind and gives what is written of it, or nothing for kinds that are not here.
fn read(object: &Value) -> Result<Option<Value>, serde_json::Error> {
    fn as_kind<T: DeserializeOwned + Serialize>(
        object: &Value,
    ) -> Result<Option<Value>, serde_json::Error> {
        // From text, as clients do: numbers and unknown fields then take the ways they take there.
        let read: T = serde_json::from_str(&object.to_string())?;
        serde_json::to_value(read).map(Some)
    }
    let (group, version) = object["apiVersion"]
        .as_str()
        .unwrap()
        .split_once('/')
        .unwrap_or_default();
    match (group, version, object["kind"].as_str().unwrap()) {
        ("stunner.l7mp.io", "v1", "GatewayConfig") => as_kind::<GatewayConfig>(object),
        ("stunner.l7mp.io", "v1", "StaticService") => as_kind::<StaticService>(object),
        ("stunner.l7mp.io", "v1", "Dataplane") => as_kind::<Dataplane>(object),
        ("stunner.l7mp.io", "v1", "UDPRoute") => as_kind::<UdpRoute>(object),
        ("stunner.l7mp.io", "v1alpha1", "GatewayConfig") => {
            as_kind::<v1alpha1::GatewayConfig>(object)
        }
        ("stunner.l7mp.io", "v1alpha1", "StaticService") => {
            as_kind::<v1alpha1::StaticService>(object)
        }
        ("stunner.l7mp.io", "v1alpha1", "Dataplane") => as_kind::<v1alpha1::Dataplane>(object),
        ("gateway.networking.k8s.io", "v1", "GatewayClass") => as_kind::<GatewayClass>(object),
        ("gateway.networking.k8s.io", "v1", "Gateway") => as_kind::<Gateway>(object),
        ("gateway.networking.k8s.io", _, "UDPRoute" | "TCPRoute") => as_kind::<L4Route>(object),
        ("gateway.networking.k8s.io", _, "ReferenceGrant") => as_kind::<ReferenceGrant>(object),
        _ => Ok(None),
    }
}

/// Paths of values that `written` does not have.
fn missing(path: &str, object: &Value, written: &Value) -> Vec<String> {
    match (object, written) {
        (Value::Object(fields), Value::Object(others)) => fields
            .iter()
            .flat_map(|(name, value)| {
                let path = format!("{path}/{name}");
                others
                    .get(name)
                    .map_or_else(|| vec![path.clone()], |other| missing(&path, value, other))
            })
            .collect(),
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => items
            .iter()
            .zip(others)
            .enumerate()
            .flat_map(|(index, (item, other))| missing(&format!("{path}/{index}"), item, other))
            .collect(),
        // A quantity is a number or a text.
        (Value::Number(number), Value::String(text)) if number.to_string() == *text => Vec::new(),
        _ if object == written => Vec::new(),
        _ => vec![path.to_owned()],
    }
}

fn manifest(name: &str) -> String {
    fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/manifests")
            .join(name),
    )
    .unwrap()
}

fn objects(text: &str) -> Vec<Value> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    objects
        .into_iter()
        .filter(|object| !object.is_null())
        .collect()
}
