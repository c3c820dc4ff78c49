//! One dataplane per Gateway.

mod bring;
mod roster;
mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use stunner_api::NamespacedName;
use stunner_config::Config;
use stunner_dataplane::embed::{Instance, Options};
use tokio::time::Instant;

use self::bring::{Brought, bring};
pub use self::roster::{Member, Roster};
use self::target::{Target, target};
use super::localise::Localised;
use super::ports::{Socket, Trouble, Want, decide, socket};

/// How often a drain is looked at.
pub const DRAIN_TICK: Duration = Duration::from_millis(50);

/// What all dataplanes have in common.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// Without the name.
    pub dataplane: Options,
    /// Shards of each dataplane; `None` shares the CPUs between the Gateways.
    pub threads: Option<u32>,
    pub cpus: usize,
    /// How long the sessions of a Gateway that is gone may go on.
    pub drain_timeout: Duration,
}

/// What a change did to a Gateway's dataplane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Served {
    /// Sessions that went on.
    pub sessions: u64,
    /// Sessions that ended, because their listener is gone.
    pub ended: u64,
    /// What changed in its configuration, in one line; empty when nothing did.
    pub changes: String,
}

/// What came of a change, by Gateway. A Gateway that is gone has its sessions end within the time to drain.
#[derive(Debug, Default)]
pub struct Round {
    pub served: BTreeMap<NamespacedName, Served>,
    /// Gateways whose listeners fare otherwise than before.
    pub troubled: BTreeSet<NamespacedName>,
}

#[derive(Debug)]
struct Running {
    instance: Option<Instance>,
    /// What is in force.
    config: Option<Config>,
    troubles: BTreeMap<String, Trouble>,
}

#[derive(Debug)]
pub struct Fleet {
    options: FleetOptions,
    wanted: BTreeMap<NamespacedName, Localised>,
    running: BTreeMap<NamespacedName, Running>,
    roster: Roster,
    leaving: Vec<tokio::task::JoinHandle<()>>,
    /// The process is ending: nobody new is let in anywhere.
    is_draining: bool,
}

impl Fleet {
    pub fn new(options: FleetOptions) -> Self {
        Fleet {
            options,
            wanted: BTreeMap::new(),
            running: BTreeMap::new(),
            roster: Roster::default(),
            leaving: Vec::new(),
            is_draining: false,
        }
    }

    /// The dataplanes, for whoever asks them.
    pub fn roster(&self) -> Roster {
        self.roster.clone()
    }

    /// Puts changed configurations in force; `None` for a Gateway that is gone.
    pub async fn set(&mut self, changed: BTreeMap<NamespacedName, Option<Localised>>) -> Round {
        let mut names: BTreeSet<NamespacedName> = BTreeSet::new();
        for (name, localised) in changed {
            match localised {
                Some(localised) => {
                    self.wanted.insert(name.clone(), localised);
                    names.insert(name);
                }
                None => {
                    self.wanted.remove(&name);
                    self.retire(&name);
                }
            }
        }
        names.extend(self.waiting(|_| true));
        self.reconcile(names).await
    }

    /// Tries again what another process stood in the way of.
    pub async fn retry(&mut self) -> Round {
        self.leaving.retain(|leaving| !leaving.is_finished());
        let names = self.waiting(Trouble::may_pass).collect();
        self.reconcile(names).await
    }

    /// Whether there is something to try again.
    pub fn wants_retry(&self) -> bool {
        self.waiting(Trouble::may_pass).next().is_some()
    }

    fn waiting(&self, which: impl Fn(&Trouble) -> bool) -> impl Iterator<Item = NamespacedName> {
        let troubled = self
            .running
            .iter()
            .filter(move |(_, running)| running.troubles.values().any(&which));
        let names: Vec<NamespacedName> = troubled.map(|(name, _)| name.clone()).collect();
        names.into_iter()
    }

    /// Why listeners of a Gateway do not run as specified, by name.
    pub fn troubles(&self, gateway: &NamespacedName) -> Option<&BTreeMap<String, Trouble>> {
        self.running.get(gateway).map(|running| &running.troubles)
    }

    /// What is in force, by Gateway.
    pub fn configs(&self) -> impl Iterator<Item = (&NamespacedName, &Config)> {
        let running = self.running.iter();
        running.filter_map(|(name, running)| Some((name, running.config.as_ref()?)))
    }

    pub fn config(&self, gateway: &NamespacedName) -> Option<&Config> {
        self.running.get(gateway)?.config.as_ref()
    }

    /// Listeners that are open.
    pub fn open_listeners(&self) -> usize {
        let configs = self.configs();
        configs.map(|(_, config)| config.listeners.len()).sum()
    }

    async fn reconcile(&mut self, names: BTreeSet<NamespacedName>) -> Round {
        let mut round = Round::default();
        let targets = self.targets(&names);
        let threads = self.threads();
        let work = targets.into_iter().map(|(name, target)| {
            let running = self.running.get(&name);
            let before = running.and_then(|running| running.config.clone());
            let instance = match running.and_then(|running| running.instance.clone()) {
                Some(instance) => Ok(instance),
                None => Instance::start(Options {
                    id: name.to_string(),
                    threads,
                    ..self.options.dataplane.clone()
                }),
            };
            let is_draining = self.is_draining;
            async move {
                if let (true, Ok(instance)) = (is_draining, &instance) {
                    // Before it has a listener, so that nobody slips in.
                    instance.start_draining().await;
                }
                let brought = bring(&name, instance, target, before).await;
                (name, brought)
            }
        });
        // All at once: what one waits for is not the other's business.
        let work: Vec<_> = work.collect();
        for (name, brought) in join_all(work).await {
            let Brought {
                instance,
                config,
                troubles,
                served,
            } = brought;
            if let Some(instance) = &instance {
                self.roster.enter(&name, instance.dataplane());
            }
            let running = Running {
                instance,
                config,
                troubles,
            };
            let before = self.running.insert(name.clone(), running);
            let fared = before.map(|before| before.troubles).unwrap_or_default();
            if self
                .running
                .get(&name)
                .is_some_and(|now| now.troubles != fared)
            {
                round.troubled.insert(name.clone());
            }
            round.served.insert(name, served);
        }
        round
    }

    /// What each of these Gateways is to run, given what the others want and have.
    fn targets(&self, names: &BTreeSet<NamespacedName>) -> Vec<(NamespacedName, Target)> {
        let wants: BTreeMap<&NamespacedName, Vec<Want>> = self
            .wanted
            .iter()
            .map(|(name, localised)| {
                let listeners = localised.config.listeners.iter();
                let wants = listeners.map(|listener| Want {
                    listener: listener.name.clone(),
                    socket: socket(listener),
                });
                (name, wants.collect())
            })
            .collect();
        let holders: BTreeMap<Socket, NamespacedName> = self
            .configs()
            .flat_map(|(name, config)| {
                let listeners = config.listeners.iter();
                listeners.map(move |listener| (socket(listener), name.clone()))
            })
            .collect();
        let given = decide(&wants, &holders);
        names
            .iter()
            .filter_map(|name| {
                let localised = self.wanted.get(name)?;
                let target = target(name, localised, &given, &holders, self.config(name));
                Some((name.clone(), target))
            })
            .collect()
    }

    /// The CPUs are shared: more threads than CPUs take turns and gain nothing.
    fn threads(&self) -> u32 {
        let share = self.options.cpus / self.wanted.len().max(1);
        let share = u32::try_from(share.max(1)).unwrap_or(u32::MAX);
        self.options.threads.unwrap_or(share)
    }

    /// A Gateway that is gone: as a pod that is terminated, its dataplane lets its sessions end in their own time.
    fn retire(&mut self, name: &NamespacedName) {
        let Some(Running { instance, .. }) = self.running.remove(name) else {
            return;
        };
        let Some(instance) = instance else {
            self.roster.leave(name);
            return;
        };
        self.roster.retire(name);
        let (roster, name) = (self.roster.clone(), name.clone());
        let timeout = self.options.drain_timeout;
        self.leaving.push(tokio::spawn(async move {
            drain(&instance, timeout).await;
            instance.stop().await;
            roster.leave(&name);
        }));
    }

    /// Refuses new sessions from now on; configurations still apply.
    pub async fn start_draining(&mut self) {
        self.is_draining = true;
        join_all(self.instances().map(Instance::start_draining)).await;
    }

    /// Whether no session is left, also of Gateways that are gone.
    pub async fn is_drained(&self) -> bool {
        let counts = join_all(self.instances().map(Instance::active_allocations)).await;
        let has_left = |leaving: &tokio::task::JoinHandle<()>| leaving.is_finished();
        counts.iter().all(|count| *count == Some(0)) && self.leaving.iter().all(has_left)
    }

    fn instances(&self) -> impl Iterator<Item = &Instance> {
        let running = self.running.values();
        running.filter_map(|one| one.instance.as_ref())
    }

    /// Live sessions of all Gateways.
    pub async fn sessions(&self) -> u64 {
        let counts = join_all(self.instances().map(Instance::active_allocations)).await;
        counts.into_iter().flatten().sum()
    }

    /// Ends all sessions and closes all sockets.
    pub async fn stop(self) {
        let instances = self.running.into_values().filter_map(|one| one.instance);
        join_all(instances.map(Instance::stop)).await;
        for leaving in self.leaving {
            leaving.abort();
        }
    }
}

/// Waits for the sessions of a dataplane to end, but not for ever.
async fn drain(instance: &Instance, timeout: Duration) {
    let deadline = Instant::now() + timeout;
    instance.start_draining().await;
    while instance.active_allocations().await != Some(0) && Instant::now() < deadline {
        tokio::time::sleep(DRAIN_TICK).await;
    }
}
