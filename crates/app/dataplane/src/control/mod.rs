//! The controller: applies configurations to running shards, all of one or nothing of it.
//!
//! A change is planned and everything that can fail is done first (certificates, sockets, HTTP
//! servers); dropping what was prepared undoes it. Only then are shards told, and what they are told
//! cannot fail.

mod dns;
mod identity;
mod names;
mod policy;
mod ports;
mod prepare;
mod servers;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stunner_config::diff::{Changes, diff};
use stunner_config::{Config, PortRange};
use stunner_net::host;
use stunner_telemetry::logging::LogHandle;
use stunner_telemetry::metrics::Stunnerd;
use stunner_turn::ListenerId;
use stunner_turn::server::{Credentials, Draining, Policy};
use tokio::sync::oneshot;

pub use self::dns::{Answers, Resolver};
pub use self::identity::judge;
pub use self::names::Names;
use self::policy::Surroundings;
use self::ports::PortTable;
use self::prepare::{Means, Prepared, prepare};
pub use self::prepare::{PrepareError, PrepareFault};
pub use self::servers::HttpServers;
use crate::clock::Clock;
use crate::embed::{Member, Neighbours};
use crate::http::EventKind;
use crate::ice_test::{Visitor, Visitors};
use crate::shard::{Command, OpenPort, PortId, SessionCounts, ShardHandle, Update};
use crate::shared::Shared;

/// How long shards may take to put an update in force.
const SHARD_PATIENCE: Duration = Duration::from_secs(10);

/// What the command line says that configurations do not.
#[derive(Debug, Clone)]
pub struct Settings {
    pub dry_run: bool,
    /// Where listeners are opened; none means everywhere.
    pub listen_addresses: Vec<IpAddr>,
    /// Overrules the config's range.
    pub relay_port_range: Option<PortRange>,
    pub allow_loopback_peers: bool,
    pub credential_grace: Duration,
    pub max_ephemeral_lifetime: Option<Duration>,
    pub alternate_server: Option<std::net::SocketAddr>,
    /// Overrules the config's log level.
    pub log: Option<String>,
}

/// Why a configuration was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    #[error(transparent)]
    Prepare(#[from] PrepareError),
}

/// A configuration that was put in force.
#[derive(Debug)]
pub struct Reconciled {
    pub changes: Changes,
    /// What it did to sessions.
    pub sessions: SessionCounts,
}

/// Owns the running configuration and what it made.
#[derive(Debug)]
pub struct Controller {
    settings: Settings,
    clock: Clock,
    shards: Vec<ShardHandle>,
    shared: Arc<Shared>,
    member: Member,
    /// What the policy in force knows of the other dataplanes.
    neighbours: Neighbours,
    names: Arc<Mutex<Names>>,
    metrics: Stunnerd,
    log: Option<LogHandle>,
    resolver: Resolver,
    servers: HttpServers,
    config: Arc<Config>,
    ports: PortTable,
    answers: Answers,
    visitors: Vec<Visitor>,
    previous: Option<(Arc<Credentials>, u64)>,
    draining: bool,
    generation: u64,
    cookie_key: [u8; 32],
}

/// The parts a controller is made of.
#[derive(Debug)]
pub struct Parts {
    pub settings: Settings,
    pub clock: Clock,
    pub shards: Vec<ShardHandle>,
    pub shared: Arc<Shared>,
    pub member: Member,
    pub names: Arc<Mutex<Names>>,
    pub metrics: Stunnerd,
    pub log: Option<LogHandle>,
    pub resolver: Resolver,
    pub servers: HttpServers,
    /// A config without listeners, in force from the start.
    pub config: Config,
}

impl Controller {
    pub fn new(parts: Parts) -> Self {
        Self {
            settings: parts.settings,
            clock: parts.clock,
            shards: parts.shards,
            shared: parts.shared,
            member: parts.member,
            neighbours: Neighbours::default(),
            names: parts.names,
            metrics: parts.metrics,
            log: parts.log,
            resolver: parts.resolver,
            servers: parts.servers,
            config: Arc::new(parts.config),
            ports: PortTable::default(),
            answers: Answers::default(),
            visitors: Vec::new(),
            previous: None,
            draining: false,
            generation: 0,
            cookie_key: rand::random(),
        }
    }

    pub fn metrics(&self) -> &Stunnerd {
        &self.metrics
    }

    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Puts a configuration in force as a whole, or leaves the running one exactly as it is.
    pub async fn reconcile(&mut self, new: Config) -> Result<Reconciled, ReconcileError> {
        let changes = diff(&self.config, &new);
        if changes.is_empty() {
            self.config = Arc::new(new);
            let sessions = SessionCounts {
                live: self.metrics.allocations_active(),
                ended: 0,
            };
            return Ok(Reconciled { changes, sessions });
        }
        let prepared = self.prepare(&new, &changes)?;
        let sessions = self.commit(new, &changes, prepared).await;
        self.metrics.config_applied.add(1);
        self.shared.journal.tell(EventKind::ConfigApplied {
            generation: self.generation,
            changes: changes.to_string(),
        });
        Ok(Reconciled { changes, sessions })
    }

    fn prepare(&self, new: &Config, changes: &Changes) -> Result<Prepared, PrepareError> {
        if self.settings.dry_run {
            return Ok(Prepared::default());
        }
        let means = Means {
            ports: &self.ports,
            servers: &self.servers,
            member: &self.member,
            shards: self.shards.len(),
            addresses: &self.settings.listen_addresses,
            cookie_key: self.cookie_key,
        };
        prepare(&self.config, new, changes, &means)
    }

    async fn commit(
        &mut self,
        new: Config,
        changes: &Changes,
        prepared: Prepared,
    ) -> SessionCounts {
        let now = self.clock.millis();
        if changes.auth {
            let old = policy::credentials(&self.config, self.max_ephemeral_lifetime());
            let until = now + self.settings.credential_grace.as_millis() as u64;
            self.previous = (until > now).then(|| (Arc::new(old), until));
        }
        let removed = self.removed_listeners(&new);
        let open = self.assign_ports(&new, prepared.ports);
        self.config = Arc::new(new);
        let config = Arc::clone(&self.config);
        self.shared.quota.set_limit(config.admin.user_quota);
        let range = self
            .settings
            .relay_port_range
            .or(config.admin.relay_port_range);
        self.shared.relay_ports.set_range(range);
        self.resolver.set_names(
            policy::names_to_resolve(&config)
                .map(str::to_owned)
                .collect::<BTreeSet<_>>(),
        );
        if let Some(log) = &self.log {
            log.set_spec(
                self.settings
                    .log
                    .as_deref()
                    .unwrap_or(&config.admin.loglevel),
            );
        }
        let addresses = config.listeners.iter().flat_map(|it| it.addresses.fixed());
        self.member.set_addresses(addresses.collect());
        let sessions = self.push(open, removed).await;
        self.servers.commit(prepared.servers).await;
        self.close_drained_ports().await;
        sessions
    }

    fn removed_listeners(&self, new: &Config) -> Vec<ListenerId> {
        let mut names = lock(&self.names);
        self.config
            .listeners
            .iter()
            .filter(|listener| new.listener(&listener.name).is_none())
            .map(|listener| names.listener(&listener.name))
            .collect()
    }

    /// Gives every port to the listener that now has it; what each shard is to open, by shard.
    fn assign_ports(
        &mut self,
        new: &Config,
        prepared: Vec<prepare::PreparedPort>,
    ) -> Vec<Vec<OpenPort>> {
        let mut open: Vec<Vec<OpenPort>> = self.shards.iter().map(|_| Vec::new()).collect();
        if self.settings.dry_run {
            return open;
        }
        let mut names = lock(&self.names);
        let mut owned: Vec<PortId> = Vec::new();
        for port in prepared {
            let Some(listener) = new.listeners.get(port.listener) else {
                continue;
            };
            let id = names.listener(&listener.name);
            if let Some(bound) = port.bound {
                for (shard, opened) in open.iter_mut().zip(self.ports.open(bound, id, port.mode)) {
                    owned.push(opened.id);
                    shard.push(opened);
                }
            } else if let Some(existing) = port.existing {
                let mode = port.mode;
                self.ports.assign(existing, Some((id, mode)));
                owned.push(existing);
            }
        }
        let orphans: Vec<PortId> = self
            .ports
            .iter()
            .map(|(id, _)| id)
            .filter(|id| !owned.contains(id))
            .collect();
        for id in orphans {
            self.ports.assign(id, None);
        }
        open
    }

    /// New answers of the resolver: admission follows, nothing else changes.
    pub async fn set_answers(&mut self, answers: Answers) {
        self.answers = answers;
        self.push(Vec::new(), Vec::new()).await;
    }

    /// Other visitors than before: TURN knows them as guests, nothing else changes.
    pub async fn set_visitors(&mut self, visitors: Visitors) {
        self.visitors = visitors.all;
        self.push(Vec::new(), Vec::new()).await;
        // Whoever asked may have gone.
        let _ = visitors.done.send(());
    }

    /// New allocations are refused from now on.
    pub async fn start_draining(&mut self) {
        self.draining = true;
        self.push(Vec::new(), Vec::new()).await;
    }

    /// New allocations are let in again.
    pub async fn stop_draining(&mut self) {
        self.draining = false;
        self.push(Vec::new(), Vec::new()).await;
    }

    /// The listening ports of other dataplanes of this process are not for our clients either.
    pub async fn follow_neighbours(&mut self) {
        if self.neighbours != self.member.neighbours() {
            self.push(Vec::new(), Vec::new()).await;
        }
    }

    pub fn member(&self) -> &Member {
        &self.member
    }

    /// Regular housekeeping: reserved ports and drained listening ports.
    pub async fn tick(&mut self) {
        self.shared.relay_ports.expire(self.clock.millis());
        self.close_drained_ports().await;
    }

    async fn close_drained_ports(&mut self) {
        let drained = self.ports.take_drained();
        if drained.is_empty() {
            return;
        }
        let close: Vec<PortId> = drained.iter().map(|(id, _)| *id).collect();
        self.tell_shards(|_| (Vec::new(), close.clone(), Vec::new()))
            .await;
    }

    async fn push(&mut self, mut open: Vec<Vec<OpenPort>>, end: Vec<ListenerId>) -> SessionCounts {
        self.tell_shards(|shard| {
            (
                open.get_mut(shard).map(std::mem::take).unwrap_or_default(),
                Vec::new(),
                end.clone(),
            )
        })
        .await
    }

    /// Builds the policy of this moment and sends it to every shard, with what else is to be done.
    async fn tell_shards(
        &mut self,
        mut work: impl FnMut(usize) -> (Vec<OpenPort>, Vec<PortId>, Vec<ListenerId>),
    ) -> SessionCounts {
        let policy = Arc::new(self.policy());
        self.shared.journal.set_policy(Arc::clone(&policy));
        let mut done = Vec::with_capacity(self.shards.len());
        for (index, shard) in self.shards.iter().enumerate() {
            let (open, close, end) = work(index);
            let update = Update {
                policy: Arc::clone(&policy),
                open,
                ports: self.ports.states(),
                close,
                end,
            };
            let (sender, receiver) = oneshot::channel();
            shard.send(Command::Update(Box::new(update), sender));
            done.push(receiver);
        }
        let mut sessions = SessionCounts::default();
        for (index, receiver) in done.into_iter().enumerate() {
            match tokio::time::timeout(SHARD_PATIENCE, receiver).await {
                Ok(counts) => sessions += counts.unwrap_or_default(),
                Err(_) => tracing::error!(
                    scope = "reconciler",
                    "shard {index} has not taken the change yet; it may be stuck"
                ),
            }
        }
        sessions
    }

    fn policy(&mut self) -> Policy {
        self.generation += 1;
        self.metrics.config_generation.set(self.generation);
        self.neighbours = self.member.neighbours();
        let mut local_addresses = host::local_addresses().unwrap_or_default();
        local_addresses.extend(&self.neighbours.addresses);
        let own_ports = self.ports.iter();
        let around = Surroundings {
            answers: &self.answers,
            visitors: &self.visitors,
            local_addresses,
            listening: own_ports
                .map(|(_, port)| (port.transport, port.number))
                .chain(self.neighbours.ports.iter().copied())
                .collect(),
            relay_ports: Arc::clone(self.shared.relay_ports.live().ports()),
            allow_loopback: self.settings.allow_loopback_peers,
            max_ephemeral_lifetime: self.max_ephemeral_lifetime(),
            previous: self.previous.clone(),
            draining: self.draining.then_some(Draining {
                alternate_server: self.settings.alternate_server,
            }),
            generation: self.generation,
        };
        policy::build(&self.config, &mut lock(&self.names), &around)
    }

    fn max_ephemeral_lifetime(&self) -> Option<u64> {
        self.settings
            .max_ephemeral_lifetime
            .map(|limit| limit.as_secs())
    }

    /// Stops the shards and the HTTP servers.
    pub async fn stop(&mut self) {
        self.stop_shards();
        self.servers.stop().await;
    }

    /// Tells the shards to stop; those that have stopped do not mind.
    pub fn stop_shards(&self) {
        for shard in &self.shards {
            shard.send(Command::Stop);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
