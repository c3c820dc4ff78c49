//! One subscriber's view of the store.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use tokio::sync::Notify;

use super::access::Scope;
use super::store::ConfigStore;
use super::text::ConfigText;
use crate::id::ConfigId;

/// Ids that may wait for one subscriber. There are as many as configurations, and those of deleted ones: only a client
/// that takes nothing while a great many come and go gets here.
const MAX_WAITING: usize = 100_000;

/// What the store keeps of a subscriber: what it listens to, and what it has not been told yet.
pub(super) struct Subscriber {
    pub(super) scope: Scope,
    waiting: Waiting,
    wake: Arc<Notify>,
}

#[derive(Default)]
struct Waiting {
    order: VecDeque<ConfigId>,
    members: HashSet<ConfigId>,
    overrun: bool,
}

impl Subscriber {
    /// Notes that something changed under this id; that it changed before and was not told yet makes no difference.
    pub(super) fn tell(&mut self, id: ConfigId) {
        self.waiting.push(id);
        self.wake.notify_one();
    }
}

impl Waiting {
    fn push(&mut self, id: ConfigId) {
        if self.overrun || self.members.contains(&id) {
            return;
        }
        if self.order.len() >= MAX_WAITING {
            *self = Waiting {
                overrun: true,
                ..Waiting::default()
            };
            return;
        }
        self.members.insert(id.clone());
        self.order.push_back(id);
    }

    fn pop(&mut self) -> Option<ConfigId> {
        let id = self.order.pop_front()?;
        self.members.remove(&id);
        if self.order.is_empty() {
            // What a backlog took is given back.
            *self = Waiting::default();
        }
        Some(id)
    }
}

/// The subscriber missed too much to be told of everything.
#[derive(Debug)]
pub(super) struct Overrun;

/// A subscriber's end. Dropping it ends the subscription.
pub(super) struct Subscription {
    store: ConfigStore,
    number: u64,
    wake: Arc<Notify>,
    node: Option<String>,
    /// Where there is one configuration only: what was given out last.
    last: Option<ConfigText>,
    single: bool,
}

impl Subscription {
    /// Subscribes; what there is already counts as changed.
    pub(super) fn new(store: ConfigStore, scope: Scope, node: Option<String>) -> Subscription {
        let wake = Arc::new(Notify::new());
        let single = matches!(scope, Scope::One(_));
        let number = {
            let mut guard = store.state();
            let state = &mut *guard;
            let mut waiting = Waiting::default();
            match &scope {
                Scope::All => state.configs.keys().for_each(|id| waiting.push(id.clone())),
                Scope::Namespace(namespace) => state
                    .ids_of(namespace)
                    .for_each(|(id, _)| waiting.push(id.clone())),
                Scope::One(id) if state.configs.contains_key(id) => waiting.push(id.clone()),
                Scope::One(_) => {}
            }
            let number = state.next_number;
            state.next_number += 1;
            let numbers = state.numbers_by_scope.entry(scope.clone()).or_default();
            numbers.insert(number);
            if let Some(node) = &node {
                let numbers = state.numbers_by_node.entry(node.clone()).or_default();
                numbers.insert(number);
            }
            let subscriber = Subscriber {
                scope,
                waiting,
                wake: Arc::clone(&wake),
            };
            state.subscribers_by_number.insert(number, subscriber);
            number
        };
        Subscription {
            store,
            number,
            wake,
            node,
            last: None,
            single,
        }
    }

    /// The next configuration that the subscriber does not have. Nothing is lost when this is given up half-way.
    pub(super) async fn next(&mut self) -> Result<ConfigText, Overrun> {
        loop {
            while let Some(config) = self.take()? {
                if self.single {
                    // It may have changed and changed back.
                    if self.last.as_ref() == Some(&config) {
                        continue;
                    }
                    self.last = Some(config.clone());
                }
                return Ok(config);
            }
            self.wake.notified().await;
        }
    }

    fn take(&mut self) -> Result<Option<ConfigText>, Overrun> {
        let (id, config, address) = {
            let mut guard = self.store.state();
            let state = &mut *guard;
            let Some(subscriber) = state.subscribers_by_number.get_mut(&self.number) else {
                return Ok(None);
            };
            if subscriber.waiting.overrun {
                return Err(Overrun);
            }
            let Some(id) = subscriber.waiting.pop() else {
                return Ok(None);
            };
            let config = state.configs.get(&id).cloned();
            (id, config, state.address_of(self.node.as_deref()))
        };
        Ok(Some(match (config, &self.node) {
            (Some(config), Some(_)) => config.on_node(address.as_deref()),
            (Some(config), None) => config,
            (None, _) => ConfigText::deletion(&id),
        }))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut guard = self.store.state();
        let state = &mut *guard;
        let Some(subscriber) = state.subscribers_by_number.remove(&self.number) else {
            return;
        };
        forget(&mut state.numbers_by_scope, &subscriber.scope, self.number);
        if let Some(node) = &self.node {
            forget(&mut state.numbers_by_node, node, self.number);
        }
    }
}

/// Takes a number out of an index, and the entry with it when it was the last.
fn forget<K: std::hash::Hash + Eq>(
    index: &mut std::collections::HashMap<K, HashSet<u64>>,
    key: &K,
    number: u64,
) {
    if let Some(numbers) = index.get_mut(key) {
        numbers.remove(&number);
        if numbers.is_empty() {
            index.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;

    fn id(text: &str) -> ConfigId {
        ConfigId::parse(text).expect("an id")
    }

    fn config(number: usize) -> ConfigText {
        ConfigText::from(&json!({ "n": number }))
    }

    fn now(subscription: &mut Subscription) -> Option<String> {
        let next = subscription.next().now_or_never()?;
        Some(next.expect("no overrun").as_str().to_owned())
    }

    #[test]
    fn changes_that_were_not_taken_melt_into_the_newest() {
        let store = ConfigStore::new();
        let mut all = Subscription::new(store.clone(), Scope::All, None);
        for n in 0..10_000 {
            store.publish(id("a/x"), config(n));
            store.publish(id("a/y"), config(n));
        }
        assert_eq!(now(&mut all).as_deref(), Some(r#"{"n":9999}"#));
        assert_eq!(now(&mut all).as_deref(), Some(r#"{"n":9999}"#));
        assert_eq!(now(&mut all), None);
    }

    #[test]
    fn a_change_that_was_taken_back_is_not_told() {
        let store = ConfigStore::new();
        store.publish(id("a/x"), config(1));
        let mut one = Subscription::new(store.clone(), Scope::One(id("a/x")), None);
        assert_eq!(now(&mut one).as_deref(), Some(r#"{"n":1}"#));
        assert!(!store.publish(id("a/x"), config(1)));
        store.publish(id("a/x"), config(2));
        store.publish(id("a/x"), config(1));
        assert_eq!(now(&mut one), None);
    }

    #[test]
    fn everyone_hears_of_what_they_asked_for_only_and_leaves_nothing_behind() {
        let store = ConfigStore::new();
        let scopes = [
            Scope::All,
            Scope::Namespace("a".into()),
            Scope::One(id("a/x")),
        ];
        let subscribe =
            |scope: &Scope| Subscription::new(store.clone(), scope.clone(), Some("node".into()));
        let mut subscriptions: Vec<_> = scopes.iter().map(subscribe).collect();
        for (changed, told) in [
            ("a/x", [true, true, true]),
            ("a/y", [true, true, false]),
            ("ab/x", [true, false, false]),
        ] {
            store.publish(id(changed), config(1));
            let heard: Vec<_> = subscriptions
                .iter_mut()
                .map(|subscription| now(subscription).is_some())
                .collect();
            assert_eq!(heard, told, "{changed}");
        }
        assert_eq!(store.census().subscribers, 3);
        drop(subscriptions);
        let state = store.state();
        assert!(state.subscribers_by_number.is_empty());
        assert!(state.numbers_by_scope.is_empty() && state.numbers_by_node.is_empty());
    }

    #[test]
    fn a_subscriber_that_missed_too_much_is_told_so_and_costs_nothing_more() {
        let store = ConfigStore::new();
        let mut all = Subscription::new(store.clone(), Scope::All, None);
        for n in 0..=MAX_WAITING {
            store.publish(id(&format!("a/{n}")), config(n));
        }
        assert!(all.next().now_or_never().expect("at once").is_err());
        let state = store.state();
        let waiting = &state.subscribers_by_number[&0].waiting;
        assert_eq!((waiting.order.len(), waiting.members.len()), (0, 0));
    }
}
