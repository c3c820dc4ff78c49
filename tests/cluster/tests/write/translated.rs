//! Everything that translation asks for anywhere in its golden cases and recordings: the API server takes it, and
//! writing it again sends nothing.

use std::path::{Path, PathBuf};

use cluster_tests::{Cluster, GatewayApi, need};
use serde_json::{Value, json};
use stunner_api::NamespacedName;
use stunner_translate::{GatewayPlan, Settings, Workload, translate};

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

fn cases() -> Vec<PathBuf> {
    let mut cases: Vec<PathBuf> = ["golden", "recordings"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(Path::new(CASES).join(folder)).expect("cases"))
        .map(|entry| entry.expect("case").path().join("in.yaml"))
        .filter(|file| file.exists())
        .collect();
    cases.sort();
    cases
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
    for case in cases() {
        let mut documents = manifests::documents(&manifests::read(&case));
        // Golden cases may also hold settings.
        documents.retain(|document| document["metadata"].is_object());
        let plan = translate(&manifests::snapshot(&documents), &Settings::default());
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
