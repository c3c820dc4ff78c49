//! Sees which Services were made anew for a Gateway that lived, and which pods would restart.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cluster_tests::kinds;
use cluster_tests::{Objects, Write};
use futures_util::StreamExt as _;
use kube::api::{Api, DynamicObject, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::world::NS;

/// The Gateways that got more than one Service in one life, and how many Services were made in all.
///
/// One that is deleted may get another for a moment from an operator that does not know it yet; garbage collection
/// takes that away.
pub fn services_made_anew(writes: &[Write]) -> (Vec<String>, usize) {
    let mut lives = BTreeMap::<&str, Option<usize>>::new();
    let (mut problems, mut total) = (Vec::new(), 0);
    for write in writes.iter().filter(|write| write.namespace == NS) {
        let name = write.name.as_str();
        match (write.resource.as_str(), write.verb.as_str(), write.code) {
            ("gateways", "patch", 201) => {
                lives.insert(name, Some(0));
            }
            ("gateways", "delete", 200) => {
                lives.insert(name, None);
            }
            ("services", "patch", 201) if write.user == "operator" => {
                total += 1;
                if let Some(Some(made)) = lives.get_mut(name) {
                    *made += 1;
                    if *made > 1 {
                        problems.push(format!("Gateway {name} got {made} Services in one life"));
                    }
                }
            }
            _ => {}
        }
    }
    (problems, total)
}

/// Every version of the Deployments of ours: their pod templates by UID, with the name.
type Templates = BTreeMap<String, (String, Vec<Value>)>;

pub struct Witness {
    seen: Arc<Mutex<Templates>>,
    watch: JoinHandle<()>,
}

impl Witness {
    pub fn start(objects: &Objects) -> Self {
        let seen = Arc::new(Mutex::new(Templates::new()));
        let watch = tokio::spawn(watch(objects.clone(), seen.clone()));
        Self { seen, watch }
    }

    /// Which templates changed, and how many Deployments there were.
    pub fn finish(self) -> (Vec<String>, usize) {
        assert!(!self.watch.is_finished(), "the watch ended early");
        self.watch.abort();
        let seen = self.seen.lock().expect("lock");
        let mut problems = Vec::new();
        for (name, templates) in seen.values() {
            for pair in templates.windows(2) {
                problems.push(format!(
                    "the pod template of {name} changed\n from {}\n   to {}",
                    pair[0], pair[1]
                ));
            }
        }
        (problems, seen.len())
    }
}

async fn watch(objects: Objects, seen: Arc<Mutex<Templates>>) {
    let resource = kinds::DEPLOYMENT.resource();
    let api: Api<DynamicObject> = Api::namespaced_with(objects.client(), NS, &resource);
    let params = WatchParams::default().labels("stunner.l7mp.io/owned-by=stunner");
    let stream = api.watch(&params, "0").await.expect("watch");
    let mut stream = std::pin::pin!(stream);
    while let Some(event) = stream.next().await {
        let (WatchEvent::Added(object) | WatchEvent::Modified(object)) = event.expect("an event")
        else {
            continue;
        };
        let (uid, name) = (object.metadata.uid, object.metadata.name);
        let template = object.data["spec"]["template"].clone();
        let mut seen = seen.lock().expect("lock");
        let entry = seen.entry(uid.unwrap_or_default());
        let (_, templates) = entry.or_insert((name.unwrap_or_default(), Vec::new()));
        if templates.last() != Some(&template) {
            templates.push(template);
        }
    }
}
