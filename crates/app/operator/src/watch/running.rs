//! Starting and ending watches.

use std::collections::BTreeMap;

use kube::Client;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::task::{Task, WatchEvent};
use super::wanted::{Wanted, WatchKey};

/// The watches at work. Dropping it ends them.
pub struct Watches {
    client: Client,
    events: mpsc::Sender<WatchEvent>,
    tasks: BTreeMap<WatchKey, Running>,
    started: u64,
}

struct Running {
    wanted: Wanted,
    number: u64,
    task: AbortHandle,
}

impl Watches {
    pub fn new(client: Client, events: mpsc::Sender<WatchEvent>) -> Self {
        Watches {
            client,
            events,
            tasks: BTreeMap::new(),
            started: 0,
        }
    }

    /// Starts a watch, or starts it anew if it is to be another. Gives its number if it was started.
    pub fn start(&mut self, key: WatchKey, wanted: Wanted) -> Option<u64> {
        if let Some(running) = self.tasks.get(&key) {
            if running.wanted == wanted {
                return None;
            }
            running.task.abort();
        }
        self.started += 1;
        let task = Task {
            client: self.client.clone(),
            key: key.clone(),
            number: self.started,
            wanted: wanted.clone(),
            events: self.events.clone(),
        };
        let running = Running {
            wanted,
            number: self.started,
            task: tokio::spawn(task.run()).abort_handle(),
        };
        self.tasks.insert(key, running);
        Some(self.started)
    }

    pub fn end(&mut self, key: &WatchKey) {
        if let Some(running) = self.tasks.remove(key) {
            running.task.abort();
        }
    }

    /// Whether a report is from a watch that still runs.
    pub fn is_current(&self, event: &WatchEvent) -> bool {
        let running = self.tasks.get(&event.watch);
        running.is_some_and(|running| running.number == event.number)
    }

    pub fn keys(&self) -> impl Iterator<Item = &WatchKey> {
        self.tasks.keys()
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        for running in self.tasks.values() {
            running.task.abort();
        }
    }
}

impl std::fmt::Debug for Watches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watches")
            .field("tasks", &self.tasks.len())
            .finish_non_exhaustive()
    }
}
