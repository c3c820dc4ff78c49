//! Putting a dataplane together: the same parts for `stunnerd` and for dataplanes in another program.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use stunner_config::{Config, OffloadEngine};
use stunner_net::host;
use stunner_telemetry::metrics::Stunnerd;
use stunner_turn::server as turn;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Applied, Host, Options, PrepareError};
use crate::clock::Clock;
use crate::control::{
    Answers, Controller, HttpServers, Names, Parts, ReconcileError, Resolver, Settings,
};
use crate::http::{Dataplane, EventKind, Identity};
use crate::ice_test::Visitors;
use crate::journal::Journal;
use crate::runtime::VERSION;
use crate::shard;
use crate::shared::{RelayPortPool, Shared, SourceTable, UserQuota};
use crate::state::{Phase, ReadyRules, State};

/// Connection ids carry the shard in one byte.
const MAX_SHARDS: usize = 255;
/// How long shards may take to end.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// One dataplane: its shards, the controller that tells them what to do, and what is known about them. It does nothing
/// by itself: whoever has it passes the resolver's answers on and calls for housekeeping.
#[derive(Debug)]
pub(crate) struct Plane {
    pub controller: Controller,
    pub state: Arc<State>,
    pub answers: mpsc::Receiver<Answers>,
    /// Who comes for an ICE test; to be given to the controller.
    pub visitors: mpsc::UnboundedReceiver<Visitors>,
    threads: Vec<JoinHandle<()>>,
    /// It has a configuration to serve.
    is_configured: bool,
    /// What the event stream was told last of a drain.
    remaining: Option<u64>,
}

impl Plane {
    /// Starts the shards and everything around them, without any listener yet.
    pub fn start(options: Options) -> io::Result<Self> {
        let clock = Clock::start();
        let shard_count = shard_count(options.threads);
        let metrics = Stunnerd::new(shard_count, VERSION);
        let names = Arc::new(Mutex::new(Names::new(metrics.clone())));
        let shared = Arc::new(shared(&options, options.host.clone(), &names));
        let config = silent_config(&options.id);
        let (shards, threads) = if options.dry_run {
            (Vec::new(), Vec::new())
        } else {
            start_shards(shard_count, clock, &config, &shared, &metrics)?
        };
        let _ = shared.shards.set(shards.clone());
        let ready = ReadyRules {
            always: options.force_ready,
            while_draining: options.ready_while_draining,
        };
        let member = options.host.join(&options.id);
        let identity = Identity {
            name: options.id.clone(),
            number: member.number(),
        };
        let (state, visitors) = State::new(
            identity,
            clock,
            shards.clone(),
            Arc::clone(&shared),
            metrics.clone(),
            ready,
            Arc::new(config.clone()),
        );
        let state = Arc::new(state);
        let dataplane: Arc<OnceLock<Arc<dyn Dataplane>>> = Arc::default();
        let _ = dataplane.set(Arc::clone(&state) as Arc<dyn Dataplane>);
        let (resolver, answers) = Resolver::start();
        let controller = Controller::new(Parts {
            settings: settings(&options),
            clock,
            shards,
            shared,
            member,
            names,
            metrics,
            log: options.log,
            resolver,
            servers: HttpServers::new(dataplane),
            config,
        });
        Ok(Self {
            controller,
            state,
            answers,
            visitors,
            threads,
            is_configured: false,
            remaining: None,
        })
    }

    /// Puts a configuration in force as a whole, or leaves the running one exactly as it is.
    pub async fn apply(&mut self, config: Config) -> Result<Applied, PrepareError> {
        let reconciled = self.controller.reconcile(config).await;
        let reconciled = reconciled.map_err(|ReconcileError::Prepare(error)| error)?;
        self.state.set_config(Arc::clone(self.controller.config()));
        self.is_configured = true;
        if self.state.phase() == Phase::NotReady {
            self.state.set_phase(Phase::Ready);
        }
        Ok(Applied {
            changes: reconciled.changes,
            sessions: reconciled.sessions.live,
            ended: reconciled.sessions.ended,
        })
    }

    /// Puts a configuration in force that serves nobody yet: the dataplane stays not ready.
    pub async fn bootstrap(&mut self, config: Config) -> Result<(), PrepareError> {
        let reconciled = self.controller.reconcile(config).await;
        self.state.set_config(Arc::clone(self.controller.config()));
        reconciled
            .map(drop)
            .map_err(|ReconcileError::Prepare(error)| error)
    }

    pub fn warn_of_offload(&self) {
        let admin = &self.controller.config().admin;
        if admin.offload_engine != OffloadEngine::None {
            tracing::warn!(
                scope = "offload",
                "offload engine `{}` is asked for, but this build has none: packets go through the \
                 dataplane itself",
                admin.offload_engine.as_str()
            );
        }
    }

    /// Tells everybody that a configuration was not taken.
    pub fn rejected(&self, why: String) {
        self.controller.metrics().config_rejected.add(1);
        let event = EventKind::ConfigRejected { why };
        self.state.shared.journal.tell(event);
    }

    /// New allocations are refused from now on.
    pub async fn start_draining(&mut self) {
        self.state.set_phase(Phase::Terminating);
        self.controller.metrics().draining.set(1);
        self.controller.start_draining().await;
    }

    /// Serves as before the drain.
    pub async fn stop_draining(&mut self) {
        self.controller.stop_draining().await;
        self.remaining = None;
        let metrics = self.controller.metrics();
        metrics.drain_remaining_allocations.set(0);
        metrics.draining.set(0);
        self.state.set_phase(match self.is_configured {
            true => Phase::Ready,
            false => Phase::NotReady,
        });
    }

    /// Allocations that hold the drain, told to whoever listens when they are not as many as before; `None` when a
    /// shard does not answer.
    pub async fn remaining(&mut self) -> Option<u64> {
        let counted = self.state.active_allocations().await;
        if let Some(remaining) = counted
            && self.remaining != counted
        {
            self.remaining = counted;
            let gauge = &self.controller.metrics().drain_remaining_allocations;
            gauge.set(remaining);
            let event = EventKind::Draining { remaining };
            self.state.shared.journal.tell(event);
        }
        counted
    }

    /// Waits for the shards, which were told to stop, and gives back what the dataplane had of its host.
    pub async fn join(mut self) {
        let patience = Instant::now() + STOP_PATIENCE;
        for (index, thread) in std::mem::take(&mut self.threads).into_iter().enumerate() {
            while !thread.is_finished() && Instant::now() < patience {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            if !thread.is_finished() {
                tracing::error!(scope = "stunnerd", "shard {index} is stuck and left behind");
            } else if thread.join().is_err() {
                tracing::error!(scope = "stunnerd", "shard {index} had panicked");
            }
        }
        self.state.shared.relay_ports.shut();
        self.state.end_ice_tests();
    }
}

/// Threads do not end with what they belong to unless they are told.
impl Drop for Plane {
    fn drop(&mut self) {
        self.controller.stop_shards();
    }
}

fn shared(options: &Options, host: Host, names: &Arc<Mutex<Names>>) -> Shared {
    let unlimited = |limit: Option<u32>| limit.unwrap_or(0);
    Shared {
        turn: Arc::new(turn::Shared::new(
            rand::random(),
            options.unauth_rate_limit.unwrap_or(u32::MAX),
        )),
        quota: UserQuota::default(),
        relay_ports: RelayPortPool::new(host),
        connections: SourceTable::new(unlimited(options.max_connections_per_source)),
        handshakes: SourceTable::new(unlimited(options.max_handshakes)),
        journal: Journal::new(Arc::clone(names)),
        stale_after_millis: options.stale_allocation_timeout.as_millis() as u64,
        shards: OnceLock::new(),
    }
}

/// A config with nothing in it: the state before the first reconcile.
fn silent_config(id: &str) -> Config {
    let mut config = stunner_config::bootstrap(id);
    config.admin.healthcheck_endpoint = None;
    config.admin.metrics_endpoint = None;
    config
}

fn settings(options: &Options) -> Settings {
    Settings {
        dry_run: options.dry_run,
        listen_addresses: options.listen_addresses.clone(),
        relay_port_range: options.relay_port_range,
        allow_loopback_peers: options.allow_loopback_peers,
        credential_grace: options.credential_grace,
        max_ephemeral_lifetime: options.max_ephemeral_lifetime,
        alternate_server: options.alternate_server,
        log: options.log_spec.clone(),
    }
}

/// One shard per CPU that the cgroup grants, at most as many as asked for.
fn shard_count(wanted: u32) -> usize {
    let granted = host::cpus_granted();
    let wanted = if wanted == 0 {
        granted
    } else {
        wanted as usize
    };
    wanted.min(granted).clamp(1, MAX_SHARDS)
}

type Shards = (Vec<shard::ShardHandle>, Vec<JoinHandle<()>>);

fn start_shards(
    count: usize,
    clock: Clock,
    config: &Config,
    shared: &Arc<Shared>,
    metrics: &Stunnerd,
) -> io::Result<Shards> {
    let auth = turn::Credentials::new(config.auth.realm.as_str(), config.auth.method.clone(), None);
    let policy = Arc::new(turn::Policy {
        generation: 0,
        auth: turn::AuthPolicy::new(auth),
        listeners: Default::default(),
        guests: Vec::new(),
        draining: None,
    });
    let settings = turn::Settings {
        software: format!("stunnerd {VERSION}"),
        shards: count as u8,
        ..turn::Settings::default()
    };
    let mut handles = Vec::with_capacity(count);
    let mut threads = Vec::with_capacity(count);
    for index in 0..count {
        let started = shard::spawn(
            index as u8,
            clock,
            settings.clone(),
            Arc::clone(&policy),
            Arc::clone(shared),
            metrics.shard(index),
        );
        match started {
            Ok((handle, thread)) => {
                handles.push(handle);
                threads.push(thread);
            }
            Err(error) => {
                let stop = |handle: &shard::ShardHandle| handle.send(shard::Command::Stop);
                handles.iter().for_each(stop);
                return Err(error);
            }
        }
    }
    Ok((handles, threads))
}
