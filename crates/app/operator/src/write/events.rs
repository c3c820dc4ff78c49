//! Kubernetes Events, for what users should hear of.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, PostParams};
use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, GatewayClass};
use stunner_api::names::EVENT_REPORTER;
use tokio::time::{Duration, Instant};

use super::error::bounded;

/// The same thing about the same object is said again after this time; Events live for an hour.
const AGAIN: Duration = Duration::from_secs(15 * 60);
/// So many Events may come at once, and as many in each [`REFILL`], so that a broken cluster is not flooded.
const BURST: u32 = 50;
const REFILL: Duration = Duration::from_secs(60);
/// `note` has at most 1 KiB.
const LONGEST_NOTE: usize = 1024;

#[derive(Clone)]
pub(super) struct Events {
    client: Client,
    instance: String,
    said: std::sync::Arc<Mutex<Said>>,
}

impl Events {
    pub(super) fn new(client: Client, instance: String) -> Self {
        Events {
            client,
            instance,
            said: std::sync::Arc::new(Mutex::new(Said::new(Instant::now()))),
        }
    }

    pub(super) async fn warning(&self, regarding: &ObjectReference, reason: &str, note: &str) {
        self.publish(regarding, "Warning", reason, note).await;
    }

    pub(super) async fn normal(&self, regarding: &ObjectReference, reason: &str, note: &str) {
        self.publish(regarding, "Normal", reason, note).await;
    }

    /// An Event that cannot be written is not missed: status says the same.
    async fn publish(&self, regarding: &ObjectReference, type_: &str, reason: &str, note: &str) {
        let is_new = {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            let topic = (regarding.uid.clone().unwrap_or_default(), reason.to_owned());
            said.is_new(topic, note, Instant::now())
        };
        if !is_new {
            return;
        }
        let event = self.event(regarding, type_, reason, note);
        let namespace = regarding.namespace.as_deref().unwrap_or("default");
        let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        if let Err(error) = bounded(events.create(&PostParams::default(), &event)).await {
            tracing::debug!(scope = "writer", %error, reason, "an Event could not be written");
        }
    }

    fn event(&self, regarding: &ObjectReference, type_: &str, reason: &str, note: &str) -> Event {
        let now = Timestamp::now();
        let name = regarding.name.as_deref().unwrap_or_default();
        Event {
            action: Some(
                if type_ == "Warning" {
                    "Write"
                } else {
                    "Program"
                }
                .to_owned(),
            ),
            event_time: Some(MicroTime(now)),
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", now.as_nanosecond())),
                namespace: regarding.namespace.clone(),
                ..ObjectMeta::default()
            },
            note: Some(truncated(note).to_owned()),
            reason: Some(reason.to_owned()),
            regarding: Some(regarding.clone()),
            reporting_controller: Some(EVENT_REPORTER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(type_.to_owned()),
            ..Event::default()
        }
    }
}

pub(super) fn gateway(name: &NamespacedName, uid: &str) -> ObjectReference {
    ObjectReference {
        namespace: Some(name.namespace.clone()),
        ..reference::<Gateway>(&name.name, uid)
    }
}

pub(super) fn class(name: &str, uid: &str) -> ObjectReference {
    reference::<GatewayClass>(name, uid)
}

fn reference<K: k8s_openapi::Resource>(name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(K::API_VERSION.to_owned()),
        kind: Some(K::KIND.to_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

fn truncated(note: &str) -> &str {
    let mut end = note.len().min(LONGEST_NOTE);
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    &note[..end]
}

/// What was said lately.
struct Said {
    /// By object and reason.
    notes: HashMap<(String, String), (String, Instant)>,
    budget: u32,
    refilled: Instant,
}

impl Said {
    fn new(now: Instant) -> Self {
        Said {
            notes: HashMap::new(),
            budget: BURST,
            refilled: now,
        }
    }

    fn is_new(&mut self, topic: (String, String), note: &str, now: Instant) -> bool {
        if now.duration_since(self.refilled) >= REFILL {
            self.budget = BURST;
            self.refilled = now;
            self.notes
                .retain(|_, (_, at)| now.duration_since(*at) < AGAIN);
        }
        let is_repeated = self
            .notes
            .get(&topic)
            .is_some_and(|(said, at)| said == note && now.duration_since(*at) < AGAIN);
        if is_repeated || self.budget == 0 {
            return false;
        }
        self.budget -= 1;
        self.notes.insert(topic, (note.to_owned(), now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(uid: &str) -> (String, String) {
        (uid.to_owned(), "ServiceRefused".to_owned())
    }

    #[test]
    fn the_same_news_is_told_once_in_a_while() {
        let now = Instant::now();
        let mut said = Said::new(now);
        assert!(said.is_new(topic("1"), "port taken", now));
        assert!(!said.is_new(topic("1"), "port taken", now));
        assert!(said.is_new(topic("1"), "another port taken", now));
        assert!(said.is_new(topic("2"), "port taken", now));
        assert!(said.is_new(topic("2"), "port taken", now + AGAIN));
    }

    #[test]
    fn many_news_at_once_are_cut_short() {
        let now = Instant::now();
        let mut said = Said::new(now);
        let told = (0..500).filter(|n| said.is_new(topic(&n.to_string()), "x", now));
        assert_eq!(told.count(), 50);
        assert!(said.is_new(topic("a"), "x", now + REFILL));
    }

    #[test]
    fn long_notes_are_cut_between_characters() {
        let note = "ü".repeat(600);
        assert_eq!(truncated(&note).len(), 1024);
        assert_eq!(truncated("x"), "x");
        let odd = format!("x{note}");
        assert_eq!(truncated(&odd).len(), 1023);
    }
}
