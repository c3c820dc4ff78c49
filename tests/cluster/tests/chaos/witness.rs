//! Sees every version of the Services and Deployments of ours: which were made anew, and which pods would restart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use cluster_tests::Objects;
use cluster_tests::kinds::{self, Kind};
use futures_util::StreamExt as _;
use kube::api::{Api, DynamicObject, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::world::NS;

#[derive(Debug, Default)]
struct Seen {
    /// Services by the UID of the Gateway that owns them.
    services: BTreeMap<String, BTreeSet<String>>,
    /// Pod templates by the UID of the Deployment, with its name.
    templates: BTreeMap<String, (String, Vec<Value>)>,
}

pub struct Witness {
    seen: Arc<Mutex<Seen>>,
    watches: Vec<JoinHandle<()>>,
}

impl Witness {
    pub fn start(objects: &Objects) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let watches = [kinds::SERVICE, kinds::DEPLOYMENT]
            .map(|kind| tokio::spawn(watch(objects.clone(), kind, seen.clone())));
        Self {
            seen,
            watches: watches.into(),
        }
    }

    /// What happened that should not have; how many Services and Deployments there were.
    pub fn finish(self) -> (Vec<String>, usize, usize) {
        assert!(
            self.watches.iter().all(|watch| !watch.is_finished()),
            "a watch ended early"
        );
        for watch in &self.watches {
            watch.abort();
        }
        let seen = self.seen.lock().expect("lock");
        let mut problems = Vec::new();
        for (gateway, services) in &seen.services {
            if services.len() > 1 {
                let count = services.len();
                problems.push(format!("Gateway {gateway} had {count} Services"));
            }
        }
        for (name, templates) in seen.templates.values() {
            for pair in templates.windows(2) {
                problems.push(format!(
                    "the pod template of {name} changed\n from {}\n   to {}",
                    pair[0], pair[1]
                ));
            }
        }
        let services = seen.services.values().flatten().collect::<BTreeSet<_>>();
        (problems, services.len(), seen.templates.len())
    }
}

async fn watch(objects: Objects, kind: Kind, seen: Arc<Mutex<Seen>>) {
    let api: Api<DynamicObject> = Api::namespaced_with(objects.client(), NS, &kind.resource());
    let params = WatchParams::default().labels("stunner.l7mp.io/owned-by=stunner");
    let stream = api.watch(&params, "0").await.expect("watch");
    let mut stream = std::pin::pin!(stream);
    while let Some(event) = stream.next().await {
        let (WatchEvent::Added(object) | WatchEvent::Modified(object)) = event.expect("an event")
        else {
            continue;
        };
        let object = serde_json::to_value(object).expect("JSON");
        note(&mut seen.lock().expect("lock"), kind, &object);
    }
}

fn note(seen: &mut Seen, kind: Kind, object: &Value) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let uid = text("/metadata/uid").unwrap_or_default().to_owned();
    if kind == kinds::DEPLOYMENT {
        let name = text("/metadata/name").unwrap_or_default().to_owned();
        let (_, templates) = seen.templates.entry(uid).or_insert((name, Vec::new()));
        let template = &object["spec"]["template"];
        if templates.last() != Some(template) {
            templates.push(template.clone());
        }
        return;
    }
    let owners = object["metadata"]["ownerReferences"].as_array();
    for owner in owners.into_iter().flatten() {
        let owner = owner["uid"].as_str().unwrap_or_default().to_owned();
        seen.services.entry(owner).or_default().insert(uid.clone());
    }
}
