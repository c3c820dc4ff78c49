//! Everything that translation asks for anywhere in its golden cases and recordings: the API server takes it, and
//! writing it again sends nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cluster_tests::kinds::{self, Kind};
use cluster_tests::{Cluster, GatewayApi, need};
use serde_json::{Value, json};
use stunner_api::NamespacedName;
use stunner_translate::{GatewayPlan, Plan, Settings, Workload, WorkloadKind, translate};

use crate::adoption::create;
use crate::manifests;
use crate::objects::workload;
use crate::world::World;

const CASES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/pure/translate/tests"
);

/// What the API server does not take, and rightly so: status tells the user.
const REFUSED: &[(&str, &str)] = &[
    // This API server does not allow privileged containers.
    ("090-dataplane-root", "disallowed by cluster policy"),
    // A Service has the name of its Gateway, and fewer letters for it.
    (
        "096-workload-long-name",
        "must be no more than 63 characters",
    ),
    // Leaving out a range would let in more than was asked for.
    ("185-service-bad-ranges", "must be a valid CIDR value"),
];

fn cases(folders: &[&str]) -> Vec<PathBuf> {
    let mut cases: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(Path::new(CASES).join(folder)).expect("cases"))
        .map(|entry| entry.expect("case").path().join("in.yaml"))
        .filter(|file| file.exists())
        .collect();
    cases.sort();
    cases
}

fn translated(case: &Path) -> Plan {
    let mut documents = manifests::documents(&manifests::read(case));
    // Golden cases may also hold settings.
    documents.retain(|document| document["metadata"].is_object());
    translate(&manifests::snapshot(&documents), &Settings::default())
}

/// The same object in the test's own namespace, and no node ports that other tests may have.
fn moved(workload_: &Workload, namespace: &str) -> Workload {
    let mut value = match workload_ {
        Workload::Service(object) => serde_json::to_value(object),
        Workload::ConfigMap(object) => serde_json::to_value(object),
        Workload::Deployment(object) => serde_json::to_value(object),
        Workload::DaemonSet(object) => serde_json::to_value(object),
    }
    .expect("JSON");
    value["metadata"]["namespace"] = json!(namespace);
    if let Some(Value::Array(ports)) = value.pointer_mut("/spec/ports") {
        for port in ports {
            if let Some(port) = port.as_object_mut() {
                port.shift_remove("nodePort");
            }
        }
    }
    workload(&value)
}

#[tokio::test]
async fn whatever_translation_asks_for_is_taken_and_sent_once() {
    let test = "whatever_translation_asks_for_is_taken_and_sent_once";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let namespace = "write-translated";
    let mut world = World::new(cluster, namespace).await;
    let mut seen: Vec<Vec<Workload>> = Vec::new();
    let mut problems = Vec::new();
    for case in cases(&["golden", "recordings"]) {
        let plan = translated(&case);
        for (gateway, plan) in &plan.gateways {
            let workloads: Vec<_> = plan.workloads.iter().map(|w| moved(w, namespace)).collect();
            // Most cases differ in other things than objects.
            if workloads.is_empty() || seen.contains(&workloads) {
                continue;
            }
            seen.push(workloads.clone());
            let plan = GatewayPlan {
                workloads,
                config: None,
                status: None,
                last_good: None,
                ..plan.clone()
            };
            let name = NamespacedName::new(namespace, gateway.name.clone());
            let expected = REFUSED
                .iter()
                .find(|(folder, _)| case.parent().is_some_and(|case| case.ends_with(folder)))
                .map(|(_, message)| *message);
            let found = check(&mut world, name, plan, expected).await;
            problems.extend(found.map(|what| format!("{}: {gateway}: {what}", case.display())));
        }
    }
    assert!(seen.len() > 40, "{}", seen.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

async fn check(
    world: &mut World,
    gateway: NamespacedName,
    plan: GatewayPlan,
    expected: Option<&str>,
) -> Option<String> {
    world.gateway = gateway;
    world.feedback();
    world.write_gateway(Some(plan.clone())).await;
    let refused: Vec<_> = world
        .feedback()
        .into_iter()
        .filter_map(|feedback| Some(feedback.failure?.message))
        .collect();
    world.restart().await;
    let writes = world
        .writes_during(async |world| world.write_gateway(Some(plan)).await)
        .await;
    world.write_gateway(None).await;
    let is_right = match expected {
        Some(message) => refused.iter().any(|refused| refused.contains(message)),
        None => refused.is_empty() && writes.is_empty(),
    };
    (!is_right).then(|| format!("refused {refused:?}, {writes:?}"))
}

/// Makes what the Go operator left behind, without what an API server chooses by itself.
async fn leave_behind(world: &World, file: &Path, kind: Kind) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if !file.exists() {
        return names;
    }
    for mut object in manifests::documents(&manifests::read(file)) {
        object["metadata"]["namespace"] = json!(world.gateway.namespace);
        let spec = object["spec"].as_object_mut().expect("spec");
        for field in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
            spec.shift_remove(field);
        }
        if let Some(Value::Array(ports)) = spec.get_mut("ports") {
            for port in ports {
                port.as_object_mut().expect("port").shift_remove("nodePort");
            }
        }
        let metadata = object["metadata"].as_object_mut().expect("metadata");
        metadata.shift_remove("uid");
        names.insert(metadata["name"].as_str().expect("name").to_owned());
        create(world, kind, &object).await;
    }
    names
}

/// From the Go operator to ours: no Service is made anew, no address and no node port is lost, nothing is scaled.
#[tokio::test]
async fn what_the_go_operator_left_behind_is_taken_over_as_it_is() {
    let test = "what_the_go_operator_left_behind_is_taken_over_as_it_is";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let namespace = "write-inherited";
    let mut world = World::new(cluster, namespace).await;
    let mut inherited = 0;
    for case in cases(&["recordings"]) {
        let folder = case.parent().expect("folder");
        let plan = translated(&case);
        let services = leave_behind(&world, &folder.join("service.yaml"), kinds::SERVICE).await;
        let file = folder.join("deployment.yaml");
        let deployments = leave_behind(&world, &file, kinds::DEPLOYMENT).await;
        for (gateway, plan) in &plan.gateways {
            let plan = GatewayPlan {
                workloads: plan.workloads.iter().map(|w| moved(w, namespace)).collect(),
                config: None,
                status: None,
                last_good: None,
                ..plan.clone()
            };
            world.gateway = NamespacedName::new(namespace, gateway.name.clone());
            let name = &gateway.name;
            let before = kept(&world, name).await;
            world.write_gateway(Some(plan.clone())).await;
            let refused: Vec<_> = world
                .feedback()
                .into_iter()
                .filter_map(|f| f.failure)
                .collect();
            assert_eq!(refused, [], "{}", case.display());
            let after = kept(&world, name).await;
            for (key, value) in before.as_object().expect("object") {
                // The recordings' certificates are dummies, so their listeners are left out.
                let is_left_out = key.starts_with("port ") && after.get(key).is_none();
                // The Go system makes no DaemonSets.
                let is_retired = matches!(key.as_str(), "deployment" | "replicas")
                    && plan.retired.contains(&WorkloadKind::Deployment);
                if is_left_out || is_retired {
                    continue;
                }
                assert_eq!(after[key], *value, "{}: {gateway}: {key}", case.display());
            }
            inherited +=
                usize::from(services.contains(name)) + usize::from(deployments.contains(name));
            world.restart().await;
            let writes = world
                .writes_during(async |world| world.write_gateway(Some(plan)).await)
                .await;
            assert_eq!(writes, [], "{}: {gateway}", case.display());
            world.write_gateway(None).await;
        }
        for name in services {
            world.objects.delete(kinds::SERVICE, namespace, &name).await;
        }
        for name in deployments {
            world
                .objects
                .delete(kinds::DEPLOYMENT, namespace, &name)
                .await;
        }
    }
    assert!(inherited > 40, "{inherited}");
}

/// What must not change, of the objects that there are.
async fn kept(world: &World, name: &str) -> Value {
    let namespace = &world.gateway.namespace;
    let mut kept = json!({});
    if let Some(service) = world.objects.find(kinds::SERVICE, namespace, name).await {
        kept["service"] = service["metadata"]["uid"].clone();
        kept["clusterIP"] = service["spec"]["clusterIP"].clone();
        for port in service["spec"]["ports"].as_array().into_iter().flatten() {
            let name = port["name"].as_str().unwrap_or_default();
            kept[format!("port {name}")] = port["nodePort"].clone();
        }
    }
    if let Some(deployment) = world.objects.find(kinds::DEPLOYMENT, namespace, name).await {
        kept["deployment"] = deployment["metadata"]["uid"].clone();
        kept["replicas"] = deployment["spec"]["replicas"].clone();
    }
    kept
}
