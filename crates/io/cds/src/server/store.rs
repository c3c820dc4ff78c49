//! What there is to know, and who wants to hear of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::access::Scope;
use super::subscription::Subscriber;
use super::text::ConfigText;
use crate::id::ConfigId;

/// One step of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Put(ConfigId, ConfigText),
    Remove(ConfigId),
}

/// Numbers for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Census {
    pub configs: usize,
    pub subscribers: usize,
    /// Configurations pushed to subscribers, deletions among them.
    pub frames_sent: u64,
    /// Watches that found no place.
    pub subscribers_refused: u64,
    /// Subscribers that were cut off because they took nothing.
    pub subscribers_cut: u64,
}

/// All configurations and their subscribers. Clones share one store.
#[derive(Clone, Default)]
pub struct ConfigStore {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    frames_sent: AtomicU64,
    subscribers_refused: AtomicU64,
    subscribers_cut: AtomicU64,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) configs: BTreeMap<ConfigId, ConfigText>,
    pub(super) addresses_by_node: HashMap<String, String>,
    pub(super) subscribers_by_number: HashMap<u64, Subscriber>,
    /// Who hears of a change is looked up, not searched for.
    pub(super) numbers_by_scope: HashMap<Scope, HashSet<u64>>,
    pub(super) numbers_by_node: HashMap<String, HashSet<u64>>,
    pub(super) next_number: u64,
}

impl ConfigStore {
    pub fn new() -> ConfigStore {
        ConfigStore::default()
    }

    /// Puts a configuration in place of the one under that id, and tells whether they differ. If they do not, nobody
    /// hears of it.
    pub fn publish(&self, id: ConfigId, config: impl Into<ConfigText>) -> bool {
        self.state().put(id, config.into())
    }

    /// Removes a configuration, and tells whether there was one.
    pub fn remove(&self, id: &ConfigId) -> bool {
        self.state().remove(id)
    }

    /// Makes several changes, of which nobody sees only a part, and tells how many of them changed anything.
    pub fn update(&self, changes: impl IntoIterator<Item = Change>) -> usize {
        let mut state = self.state();
        changes
            .into_iter()
            .map(|change| match change {
                Change::Put(id, config) => state.put(id, config),
                Change::Remove(id) => state.remove(&id),
            })
            .filter(|changed| *changed)
            .count()
    }

    /// Says which address dataplanes on a node are reached at; `None` that the node is gone or has none.
    pub fn set_node_address(&self, node: &str, address: Option<&str>) {
        self.state().set_node_address(node, address);
    }

    /// The ids of all configurations, in order.
    pub fn ids(&self) -> Vec<ConfigId> {
        self.state().configs.keys().cloned().collect()
    }

    pub fn census(&self) -> Census {
        let (configs, subscribers) = {
            let state = self.state();
            (state.configs.len(), state.subscribers_by_number.len())
        };
        let shared = &self.shared;
        Census {
            configs,
            subscribers,
            frames_sent: shared.frames_sent.load(Ordering::Relaxed),
            subscribers_refused: shared.subscribers_refused.load(Ordering::Relaxed),
            subscribers_cut: shared.subscribers_cut.load(Ordering::Relaxed),
        }
    }

    /// One configuration, as a dataplane on that node is to have it.
    pub(super) fn config(&self, id: &ConfigId, node: Option<&str>) -> Option<ConfigText> {
        let (config, address) = {
            let state = self.state();
            (state.configs.get(id)?.clone(), state.address_of(node))
        };
        // Patching takes a while, and is done without keeping others from the store.
        Some(match node {
            Some(_) => config.on_node(address.as_deref()),
            None => config,
        })
    }

    /// The configurations of one namespace or of all, in the order of their ids.
    pub(super) fn configs(&self, namespace: Option<&str>) -> Vec<ConfigText> {
        let state = self.state();
        match namespace {
            Some(namespace) => state
                .ids_of(namespace)
                .map(|(_, text)| text.clone())
                .collect(),
            None => state.configs.values().cloned().collect(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count_frame(&self) {
        self.shared.frames_sent.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_refusal(&self) {
        let refused = &self.shared.subscribers_refused;
        refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_cut(&self) {
        self.shared.subscribers_cut.fetch_add(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for ConfigStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.census().fmt(f)
    }
}

impl State {
    fn put(&mut self, id: ConfigId, config: ConfigText) -> bool {
        if self.configs.get(&id) == Some(&config) {
            return false;
        }
        self.tell(&id);
        self.configs.insert(id, config);
        true
    }

    fn remove(&mut self, id: &ConfigId) -> bool {
        if self.configs.remove(id).is_none() {
            return false;
        }
        self.tell(id);
        true
    }

    fn set_node_address(&mut self, node: &str, address: Option<&str>) {
        if self.addresses_by_node.get(node).map(String::as_str) == address {
            return;
        }
        match address {
            Some(address) => self
                .addresses_by_node
                .insert(node.to_owned(), address.to_owned()),
            None => self.addresses_by_node.remove(node),
        };
        for number in self.numbers_by_node.get(node).into_iter().flatten() {
            if let Some(subscriber) = self.subscribers_by_number.get_mut(number)
                && let Scope::One(id) = &subscriber.scope
                && let Some(config) = self.configs.get(id)
                && config.depends_on_node
            {
                let id = id.clone();
                subscriber.tell(id);
            }
        }
    }

    /// Notes a change with everyone who wants to hear of it.
    fn tell(&mut self, id: &ConfigId) {
        let scopes = [
            Scope::One(id.clone()),
            Scope::Namespace(id.namespace.clone()),
            Scope::All,
        ];
        for scope in scopes {
            for number in self.numbers_by_scope.get(&scope).into_iter().flatten() {
                if let Some(subscriber) = self.subscribers_by_number.get_mut(number) {
                    subscriber.tell(id.clone());
                }
            }
        }
    }

    pub(super) fn address_of(&self, node: Option<&str>) -> Option<String> {
        self.addresses_by_node.get(node?).cloned()
    }

    pub(super) fn ids_of<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a ConfigId, &'a ConfigText)> {
        let first = ConfigId {
            namespace: namespace.to_owned(),
            name: String::new(),
        };
        self.configs
            .range(first..)
            .take_while(move |(id, _)| id.namespace == namespace)
    }
}
