//! What the Go operator rendered from 31 sets of manifests, against what we render.
//!
//! `recordings/NN-*/` holds the manifests and what a real API server held afterwards. Every difference must be listed
//! in `recordings/differences.rs` with the row of `docs/compatibility.md` that explains it; a listed difference that is gone fails too.

#[path = "recordings/differences.rs"]
mod differences;
#[path = "recordings/normal.rs"]
mod normal;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use differences::DIFFERENCES;
use normal::{normal, normal_config, normal_status};
use serde_json::{Map, Value, json};
use stunner_translate::{Mode, Plan, Settings, Workload, translate};
use support::{documents, object, read, stored};

/// Scenarios in which nobody assigns load balancer addresses.
const NO_LOAD_BALANCER: &[&str] = &["02", "19", "20"];

#[test]
fn every_recording_is_rendered_alike_or_the_difference_is_named() {
    let compatibility = read(&repository().join("docs/compatibility.md"));
    let mut used = BTreeSet::new();
    let mut unnamed = Vec::new();
    for folder in folders() {
        let scenario = folder.file_name().unwrap().to_string_lossy().into_owned();
        for difference in differences(&folder, &scenario) {
            let path = difference.split(' ').next().unwrap_or_default();
            let named = DIFFERENCES.iter().position(|(prefix, pattern, _)| {
                scenario.starts_with(prefix) && matches(pattern, path)
            });
            match named {
                Some(index) => {
                    used.insert(index);
                }
                None => unnamed.push(format!("{scenario}: {difference}")),
            }
        }
    }
    assert!(
        unnamed.is_empty(),
        "unnamed differences:\n{}",
        unnamed.join("\n")
    );
    for (index, (prefix, pattern, row)) in DIFFERENCES.iter().enumerate() {
        assert!(
            used.contains(&index),
            "no longer a difference: {prefix} {pattern}"
        );
        assert!(
            compatibility.contains(row),
            "docs/compatibility.md has no row `{row}`"
        );
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut folders: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    assert_eq!(folders.len(), 31);
    folders
}

/// Whether `path` is at or below `pattern`.
fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    pattern.split('/').all(|wanted| {
        parts
            .next()
            .is_some_and(|part| wanted == "*" || wanted == part)
    })
}

fn settings(scenario: &str) -> Settings {
    let mut settings = Settings::default();
    settings.cds.plain_origin = "http://10.244.0.5:13478".to_owned();
    match &scenario[..2] {
        "29" => settings.endpoint_discovery = false,
        "30" => settings.mode = Mode::Legacy,
        _ => {}
    }
    settings
}

fn differences(folder: &Path, scenario: &str) -> Vec<String> {
    let settings = settings(scenario);
    let mut world = documents(&read(&folder.join("in.yaml")));
    for (name, labels) in [
        ("stunner-system", json!({})),
        ("stunner", json!({})),
        ("media", json!({})),
        ("other", json!({"tier": "media"})),
    ] {
        world.push(json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": labels}}));
    }
    for document in &mut world {
        if document["kind"] == "Node" {
            document["status"] = json!({"addresses": [
                {"type": "InternalIP", "address": "192.0.2.50"},
                {"type": "ExternalIP", "address": "203.0.113.50"},
            ]});
        }
    }
    // The first pass makes the Services; the API server and a load balancer fill them in for the second.
    let mut snapshot = support::snapshot(&world);
    let first = translate(&snapshot, &settings);
    let recorded_services = by_name(&documents(&read(&folder.join("service.yaml"))));
    for service in live_services(&first, scenario, &recorded_services) {
        snapshot.apply(object(&stored(service)).unwrap());
    }
    let plan = translate(&snapshot, &settings);

    let mut found = Vec::new();
    compare_configs(folder, &plan, &mut found);
    let ours = workloads(&plan);
    for (kind, file) in [
        ("Service", "service.yaml"),
        ("Deployment", "deployment.yaml"),
        ("ConfigMap", "configmap.yaml"),
    ] {
        let path = folder.join(file);
        let recorded = if path.exists() {
            by_name(&documents(&read(&path)))
        } else {
            BTreeMap::new()
        };
        let ours: BTreeMap<_, _> = ours
            .iter()
            .filter(|object| object["kind"] == kind)
            .map(|object| (name_of(object), normal(object.clone())))
            .collect();
        let recorded: BTreeMap<_, _> = recorded
            .into_iter()
            .map(|(name, object)| (name, normal(object)))
            .collect();
        compare(&json!(recorded), &json!(ours), kind, &mut found);
    }
    let statuses = documents(&read(&folder.join("statuses.yaml")));
    compare_statuses(&statuses, &plan, &mut found);
    found
}

fn name_of(object: &Value) -> String {
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    // `/` separates the parts of a path.
    format!(
        "{namespace}.{}",
        metadata["name"].as_str().unwrap_or_default()
    )
}

fn by_name(objects: &[Value]) -> BTreeMap<String, Value> {
    objects
        .iter()
        .map(|object| (name_of(object), object.clone()))
        .collect()
}

fn workloads(plan: &Plan) -> Vec<Value> {
    let gateways = plan
        .gateways
        .values()
        .flat_map(|gateway| &gateway.workloads);
    let classes = plan.classes.values().flat_map(|class| &class.workloads);
    gateways
        .chain(classes)
        .map(|workload| match workload {
            Workload::Service(object) => serde_json::to_value(object),
            Workload::ConfigMap(object) => serde_json::to_value(object),
            Workload::Deployment(object) => serde_json::to_value(object),
            Workload::DaemonSet(object) => serde_json::to_value(object),
        })
        .map(|object| object.expect("objects serialise"))
        .collect()
}

/// Our Services as the recording's API server and load balancer left theirs.
fn live_services(plan: &Plan, scenario: &str, recorded: &BTreeMap<String, Value>) -> Vec<Value> {
    let mut services: Vec<_> = workloads(plan)
        .into_iter()
        .filter(|object| object["kind"] == "Service")
        .collect();
    services.sort_by_key(name_of);
    let mut next_address = 10;
    for service in &mut services {
        service["spec"]["clusterIP"] = json!("10.96.0.1");
        let type_ = service["spec"]["type"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let ports = service["spec"]["ports"].as_array_mut().expect("ports");
        for (index, port) in ports.iter_mut().enumerate() {
            if type_ != "ClusterIP" && port.get("nodePort").is_none() {
                port["nodePort"] = json!(30000 + index);
            }
        }
        if type_ == "LoadBalancer" && !NO_LOAD_BALANCER.contains(&&scenario[..2]) {
            service["status"] = recorded
                .get(&name_of(service))
                .map(|service| service["status"].clone())
                .filter(|status| !status["loadBalancer"]["ingress"].is_null())
                .unwrap_or_else(|| json!({"loadBalancer": {"ingress": [{"ip": format!("198.51.100.{next_address}")}]}}));
            next_address += 1;
        }
    }
    services
}

fn compare_configs(folder: &Path, plan: &Plan, found: &mut Vec<String>) {
    let recorded: Value = serde_json::from_str(&read(&folder.join("config.json"))).unwrap();
    let key = |config: &Value| {
        config["admin"]["name"]
            .as_str()
            .unwrap_or_default()
            .replace('/', ".")
    };
    let recorded: Map<String, Value> = recorded["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|config| (key(config), normal_config(config.clone())))
        .collect();
    let ours: Map<String, Value> = plan
        .configs()
        .map(|(_, config)| config.to_json())
        .map(|config| (key(&config), normal_config(config)))
        .collect();
    compare(
        &Value::Object(recorded),
        &Value::Object(ours),
        "config",
        found,
    );
}

/// Conditions by type with status and reason; the words are our own.
fn compare_statuses(recorded: &[Value], plan: &Plan, found: &mut Vec<String>) {
    let mut theirs = Map::new();
    for object in recorded {
        let group = object["apiVersion"]
            .as_str()
            .unwrap_or_default()
            .split('/')
            .next()
            .unwrap_or_default();
        let key = format!(
            "{group}.{}.{}",
            object["kind"].as_str().unwrap_or_default(),
            name_of(object)
        );
        theirs.insert(key, normal_status(object["status"].clone()));
    }
    let mut ours = Map::new();
    for (name, class) in &plan.classes {
        let key = format!("gateway.networking.k8s.io.GatewayClass..{name}");
        ours.insert(
            key,
            normal_status(serde_json::to_value(&class.status).unwrap()),
        );
    }
    for (name, gateway) in &plan.gateways {
        let key = format!(
            "gateway.networking.k8s.io.Gateway.{}.{}",
            name.namespace, name.name
        );
        ours.insert(
            key,
            normal_status(serde_json::to_value(&gateway.status).unwrap()),
        );
    }
    for ((kind, name), route) in &plan.routes {
        let group = match kind {
            stunner_translate::RouteKind::Udp => "stunner.l7mp.io",
            _ => "gateway.networking.k8s.io",
        };
        let key = format!("{group}.UDPRoute.{}.{}", name.namespace, name.name);
        ours.insert(
            key,
            normal_status(serde_json::to_value(&route.status).unwrap()),
        );
    }
    compare(
        &Value::Object(theirs),
        &Value::Object(ours),
        "status",
        found,
    );
}

fn compare(recorded: &Value, ours: &Value, path: &str, found: &mut Vec<String>) {
    match (recorded, ours) {
        (Value::Object(recorded), Value::Object(ours)) => {
            let keys: BTreeSet<_> = recorded.keys().chain(ours.keys()).collect();
            for key in keys {
                let part = key.replace('/', "~");
                let below = format!("{path}/{part}");
                compare(
                    recorded.get(key).unwrap_or(&Value::Null),
                    ours.get(key).unwrap_or(&Value::Null),
                    &below,
                    found,
                );
            }
        }
        (Value::Array(recorded), Value::Array(ours)) if recorded.len() == ours.len() => {
            for (index, (recorded, ours)) in recorded.iter().zip(ours).enumerate() {
                compare(recorded, ours, &format!("{path}/{index}"), found);
            }
        }
        _ if recorded == ours => {}
        _ => found.push(format!("{path} recorded {recorded} ours {ours}")),
    }
}
