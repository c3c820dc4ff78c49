//! Gateways that are gone, and whose sessions may end in their own time as those of a pod that is terminated. One that
//! is back meanwhile has not been away, as far as its sessions are concerned.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use stunner_api::NamespacedName;
use stunner_config::Config;
use stunner_dataplane::embed::Instance;
use tokio::time::Instant;

use super::{Fleet, Running};

/// The dataplane of a Gateway that is gone: it drains, and nobody stops it but the fleet.
#[derive(Debug)]
pub(super) struct Leaving {
    instance: Instance,
    /// What is in force.
    config: Option<Config>,
    /// When its sessions must end.
    deadline: Instant,
}

impl Leaving {
    pub(super) fn instance(&self) -> &Instance {
        &self.instance
    }

    pub(super) fn into_instance(self) -> Instance {
        self.instance
    }
}

impl Fleet {
    /// Lets dataplanes drain whose Gateways are gone. Where there is no session, there is nothing to wait for.
    pub(super) async fn retire(&mut self, gone: Vec<NamespacedName>) {
        let deadline = Instant::now() + self.options.drain_timeout;
        let mut drains = Vec::new();
        for name in gone {
            let Some(Running {
                instance: Some(instance),
                config,
                ..
            }) = self.running.remove(&name)
            else {
                continue;
            };
            self.roster.retire(&name);
            drains.push(async move {
                instance.start_draining().await;
                if instance.live_allocations() == 0 {
                    instance.stop().await;
                    return (name, None);
                }
                let leaving = Leaving {
                    instance,
                    config,
                    deadline,
                };
                (name, Some(leaving))
            });
        }
        for (name, leaving) in join_all(drains).await {
            match leaving {
                Some(leaving) => drop(self.leaving.insert(name, leaving)),
                None => self.roster.leave(&name),
            }
        }
    }

    /// A Gateway that is back runs what it ran, until it is told what has changed.
    pub(super) fn take_back(&mut self, name: &NamespacedName) {
        if let Some(leaving) = self.leaving.remove(name) {
            let running = Running {
                instance: Some(leaving.instance),
                config: leaving.config,
                troubles: BTreeMap::new(),
            };
            self.running.insert(name.clone(), running);
        }
    }

    /// Gateways whose drain is over, and how many sessions are left of each. Unlike the drain of the whole process, that
    /// of one Gateway waits also for sessions without traffic: the next edit may bring it back.
    pub(super) fn drained(&self) -> BTreeMap<NamespacedName, u64> {
        let now = Instant::now();
        let counts = self.leaving.iter().map(|(name, leaving)| {
            let is_late = now >= leaving.deadline;
            (name.clone(), leaving.instance.live_allocations(), is_late)
        });
        let drained = counts.filter(|(_, sessions, is_late)| *sessions == 0 || *is_late);
        drained
            .map(|(name, sessions, _)| (name, sessions))
            .collect()
    }

    /// Closes the Gateways whose drain is over; how many sessions ended with each.
    pub(super) async fn close_drained(&mut self) -> BTreeMap<NamespacedName, u64> {
        let drained = self.drained();
        let leaving = drained.keys().filter_map(|name| self.leaving.remove(name));
        let leaving: Vec<Leaving> = leaving.collect();
        join_all(leaving.into_iter().map(|one| one.instance.stop())).await;
        for name in drained.keys() {
            self.roster.leave(name);
        }
        drained
    }
}
