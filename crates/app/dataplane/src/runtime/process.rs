//! The running process: follows the configuration, drains, stops.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use stunner_cds::{Connection, Provenance, Update};
use stunner_config::Config;
use stunner_net::host;
use stunner_telemetry::logging::LogHandle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::start::{assemble, first_config};
use super::{RunError, VERSION};
use crate::cli::Options;
use crate::control::{Answers, Controller, ReconcileError};
use crate::http::{BindAddress, Dataplane, EventKind, HttpServer, Running, admin_router};
use crate::state::{Phase, State};

/// How often housekeeping is done, and a drain looked at.
const TICK: Duration = Duration::from_millis(250);

/// Where configurations come from after the first.
#[derive(Debug)]
pub(super) enum Source {
    /// There are no more.
    Once,
    Watch {
        updates: mpsc::Receiver<Update>,
        connection: mpsc::UnboundedReceiver<Connection>,
    },
}

/// What a watched origin has to say.
#[derive(Debug)]
enum Heard {
    Config(Box<Update>),
    Connection(Connection),
}

impl Source {
    async fn next(&mut self) -> Option<Heard> {
        match self {
            Self::Once => std::future::pending().await,
            Self::Watch {
                updates,
                connection,
            } => tokio::select! {
                update = updates.recv() => update.map(|update| Heard::Config(Box::new(update))),
                Some(connection) = connection.recv() => Some(Heard::Connection(connection)),
            },
        }
    }
}

#[derive(Debug)]
pub(super) struct Process {
    pub(super) options: Options,
    pub(super) controller: Controller,
    pub(super) state: Arc<State>,
    pub(super) threads: Vec<JoinHandle<()>>,
    pub(super) answers: mpsc::Receiver<Answers>,
    pub(super) source: Source,
    pub(super) admin: Option<Running>,
    pub(super) term: Signal,
    pub(super) interrupt: Signal,
}

impl Process {
    pub(super) async fn start(options: Options, log: Option<LogHandle>) -> Result<Self, RunError> {
        let term = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        tracing::info!(
            scope = "stunnerd",
            "starting stunnerd {VERSION}, id `{}`",
            options.id
        );
        for warning in &options.warnings {
            tracing::warn!(scope = "stunnerd", "{warning}");
        }
        if let Err(error) = host::raise_open_files() {
            tracing::warn!(
                scope = "stunnerd",
                "cannot raise the limit of open files: {error}"
            );
        }
        let (first, source) = first_config(&options).await?;
        let mut process = assemble(options, log, (term, interrupt), source)?;
        process.open_admin();
        match first {
            Some(config) => process.apply_first(config).await?,
            None => process.bootstrap().await,
        }
        Ok(process)
    }

    /// The admin API is a convenience: where its port is taken, the gateway goes on without it.
    fn open_admin(&mut self) {
        let Some(address) = self.options.admin_address.filter(|_| !self.options.dry_run) else {
            return;
        };
        let dataplane = Arc::clone(&self.state) as Arc<dyn Dataplane>;
        let served = HttpServer::bind(&BindAddress::from(address))
            .and_then(|bound| bound.serve(admin_router(dataplane)));
        match served {
            Ok(running) => self.admin = Some(running),
            Err(error) => tracing::warn!(
                scope = "stunnerd",
                "no admin API: cannot listen on {address}: {error}; choose another address with \
                 --admin-address, or `off`"
            ),
        }
    }

    async fn apply_first(&mut self, config: Config) -> Result<(), RunError> {
        let changes = self.controller.reconcile(config).await?;
        self.applied(&changes.to_string());
        Ok(())
    }

    /// Waiting for the first configuration: health is served, and says not ready.
    async fn bootstrap(&mut self) {
        let config = stunner_config::bootstrap(&self.options.id);
        if let Err(error) = self.controller.reconcile(config).await {
            tracing::error!(
                scope = "stunnerd",
                "cannot serve health checks yet: {error}"
            );
        }
        self.state.set_config(Arc::clone(self.controller.config()));
        tracing::info!(scope = "stunnerd", "waiting for the first configuration");
    }

    fn applied(&self, changes: &str) {
        self.state.set_config(Arc::clone(self.controller.config()));
        if self.state.phase() == Phase::NotReady {
            self.state.set_phase(Phase::Ready);
        }
        tracing::info!(scope = "reconciler", "configuration applied: {changes}");
        let admin = &self.controller.config().admin;
        if admin.offload_engine != stunner_config::OffloadEngine::None {
            tracing::warn!(
                scope = "offload",
                "offload engine `{}` is asked for, but this build has none: packets go through the \
                 dataplane itself",
                admin.offload_engine.as_str()
            );
        }
    }

    pub(super) async fn serve(mut self) -> Result<(), RunError> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut drain: Option<Instant> = None;
        loop {
            tokio::select! {
                Some(heard) = self.source.next() => match heard {
                    Heard::Config(update) => self.update(*update).await,
                    Heard::Connection(connection) => self.connection_changed(connection),
                },
                Some(answers) = self.answers.recv() => self.controller.set_answers(answers).await,
                _ = ticks.tick() => {
                    self.controller.tick().await;
                    if let Some(deadline) = drain
                        && self.is_drained(deadline).await
                    {
                        break;
                    }
                }
                _ = self.term.recv() => if self.signalled(&mut drain).await { break },
                _ = self.interrupt.recv() => if self.signalled(&mut drain).await { break },
            }
        }
        self.stop().await;
        Ok(())
    }

    async fn update(&mut self, update: Update) {
        if update.provenance == Provenance::Cached {
            tracing::warn!(
                scope = "stunnerd",
                "using the cached configuration: it may be out of date"
            );
        }
        match self.controller.reconcile(update.config).await {
            Ok(changes) => self.applied(&changes.to_string()),
            Err(error) => {
                let ReconcileError::Prepare(prepare) = &error;
                tracing::error!(
                    scope = "reconciler",
                    "the new configuration is refused, the running one stays as it is: {error}; hint: {}",
                    prepare.hint()
                );
            }
        }
    }

    fn connection_changed(&self, connection: Connection) {
        let gauge = &self.controller.metrics().cds_connected;
        gauge.set(u64::from(matches!(connection, Connection::Up { .. })));
        self.state.shared.journal.tell(match connection {
            Connection::Up { origin } => EventKind::CdsConnected { origin },
            Connection::Down { origin, why } => EventKind::CdsLost { origin, why },
        });
    }

    /// The first signal drains, the second stops. Whether to stop now.
    async fn signalled(&mut self, drain: &mut Option<Instant>) -> bool {
        if drain.is_some() {
            tracing::info!(scope = "stunnerd", "second signal: stopping at once");
            return true;
        }
        self.state.set_phase(Phase::Terminating);
        self.controller.metrics().draining.set(1);
        self.controller.start_draining().await;
        let remaining = self.state.active_allocations().await;
        tracing::info!(
            scope = "stunnerd",
            "draining: {remaining} live allocation(s), at most {} s; a second signal stops at once",
            self.options.drain_timeout.as_secs()
        );
        *drain = Some(Instant::now() + self.options.drain_timeout);
        false
    }

    async fn is_drained(&self, deadline: Instant) -> bool {
        let remaining = self.state.active_allocations().await;
        self.controller
            .metrics()
            .drain_remaining_allocations
            .set(remaining);
        self.state
            .shared
            .journal
            .tell(EventKind::Draining { remaining });
        if remaining == 0 {
            tracing::info!(scope = "stunnerd", "drained");
            return true;
        }
        let late = Instant::now() >= deadline;
        if late {
            tracing::warn!(
                scope = "stunnerd",
                "--drain-timeout is over, ending {remaining} allocation(s)"
            );
        }
        late
    }

    async fn stop(mut self) {
        self.controller.stop().await;
        if let Some(admin) = self.admin.take() {
            admin.stop().await;
        }
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!(scope = "stunnerd", "a shard had panicked");
            }
        }
        tracing::info!(scope = "stunnerd", "stopped");
    }
}
