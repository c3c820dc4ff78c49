//! One dataplane per Gateway.

mod bring;
mod leaving;
mod roster;
mod target;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use stunner_api::NamespacedName;
use stunner_config::Config;
use stunner_dataplane::embed::{Instance, Options};

use self::bring::bring;
use self::leaving::Leaving;
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

/// Live sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sessions {
    /// Of Gateways that there are.
    pub kept: u64,
    /// Of Gateways that are gone: they may go on until the time to drain is over.
    pub draining: u64,
}

/// What came of a change.
#[derive(Debug, Default)]
pub struct Round {
    /// Sessions that ended, because their listener is gone.
    pub ended: u64,
    /// Gateways whose listeners fare otherwise than before.
    pub troubled: BTreeSet<NamespacedName>,
    /// Gateways that were gone and whose drain is over, and how many sessions ended with it.
    pub closed: BTreeMap<NamespacedName, u64>,
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
    leaving: BTreeMap<NamespacedName, Leaving>,
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
            leaving: BTreeMap::new(),
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
        let mut gone = Vec::new();
        for (name, localised) in changed {
            match localised {
                Some(localised) => {
                    self.wanted.insert(name.clone(), localised);
                    self.take_back(&name);
                    names.insert(name);
                }
                None => {
                    self.wanted.remove(&name);
                    gone.push(name);
                }
            }
        }
        // First, so that others may have their ports.
        self.retire(gone).await;
        names.extend(self.waiting(|_| true));
        self.reconcile(names).await
    }

    /// Closes what has drained, and tries again what stood in the way of others.
    pub async fn retry(&mut self) -> Round {
        let closed = self.close_drained().await;
        let names = self.waiting(Trouble::may_pass).collect();
        let round = self.reconcile(names).await;
        Round { closed, ..round }
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
        let fared: BTreeMap<NamespacedName, BTreeMap<String, Trouble>> = names
            .iter()
            .map(|name| (name.clone(), self.troubles(name).cloned()))
            .map(|(name, troubles)| (name, troubles.unwrap_or_default()))
            .collect();
        let mut ended = self.put_in_force(&names).await;
        // What one of them has let go of another may have now.
        let freed = self.freed();
        if !freed.is_empty() {
            ended += self.put_in_force(&freed).await;
        }
        let fares_otherwise = |(name, fared): (NamespacedName, BTreeMap<String, Trouble>)| {
            let troubles = self.troubles(&name)?;
            (*troubles != fared).then_some(name)
        };
        Round {
            ended,
            troubled: fared.into_iter().filter_map(fares_otherwise).collect(),
            closed: BTreeMap::new(),
        }
    }

    /// Brings these Gateways to what they are to run; how many sessions that ended.
    async fn put_in_force(&mut self, names: &BTreeSet<NamespacedName>) -> u64 {
        let mut ended = 0;
        let targets = self.targets(names);
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
            let (is_draining, leaving) = (self.is_draining, &self.leaving);
            async move {
                if let (true, Ok(instance)) = (is_draining, &instance) {
                    // Before it has a listener, so that nobody slips in.
                    instance.start_draining().await;
                }
                let brought = bring(&name, instance, target, before, leaving).await;
                if let (false, Some(instance)) = (is_draining, &brought.instance) {
                    // It may have been gone. Now it has a configuration that newcomers may count on.
                    instance.stop_draining().await;
                }
                (name, brought)
            }
        });
        // All at once: what one waits for is not the other's business.
        let work: Vec<_> = work.collect();
        for (name, brought) in join_all(work).await {
            if let Some(instance) = &brought.instance {
                self.roster.enter(&name, instance.dataplane());
            }
            ended += brought.ended;
            let running = Running {
                instance: brought.instance,
                config: brought.config,
                troubles: brought.troubles,
            };
            self.running.insert(name, running);
        }
        ended
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

    /// Refuses new sessions from now on; configurations still apply.
    pub async fn start_draining(&mut self) {
        self.is_draining = true;
        join_all(self.instances().map(Instance::start_draining)).await;
    }

    /// Whether no session is left, also of Gateways that are gone.
    pub async fn is_drained(&self) -> bool {
        let counts = join_all(self.instances().map(Instance::active_allocations)).await;
        counts.iter().all(|count| *count == Some(0))
    }

    fn serving(&self) -> impl Iterator<Item = &Instance> {
        let running = self.running.values();
        running.filter_map(|one| one.instance.as_ref())
    }

    fn instances(&self) -> impl Iterator<Item = &Instance> {
        let leaving = self.leaving.values();
        self.serving().chain(leaving.map(Leaving::instance))
    }

    /// Live sessions of all Gateways.
    pub fn sessions(&self) -> Sessions {
        let leaving = self.leaving.values().map(Leaving::instance);
        Sessions {
            kept: self.serving().map(Instance::live_allocations).sum(),
            draining: leaving.map(Instance::live_allocations).sum(),
        }
    }

    /// Ends all sessions and closes all sockets.
    pub async fn stop(self) {
        let running = self.running.into_values().filter_map(|one| one.instance);
        let leaving = self.leaving.into_values().map(Leaving::into_instance);
        join_all(running.chain(leaving).map(Instance::stop)).await;
    }
}
