//! The running process: follows the configuration, drains, stops.

use std::sync::Arc;
use std::time::Duration;

use stunner_cds::{Notice, Provenance, Update};
use stunner_config::Config;
use stunner_process::Signals;
use stunner_telemetry::logging::LogHandle;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::start::{first_config, plane_options};
use super::{RunError, VERSION};
use crate::cli::Options;
use crate::control::ReconcileError;
use crate::embed::{Applied, Plane};
use crate::http::{BindAddress, Dataplane, EventKind, HttpServer, Running, admin_router};
use crate::state::Phase;

/// A configuration that comes this soon after the start was at hand.
const AT_HAND: Duration = Duration::from_millis(500);
/// How often housekeeping is done, and a drain looked at.
const TICK: Duration = Duration::from_millis(250);
/// How soon a configuration that could not be applied is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Where configurations come from after the first.
#[derive(Debug)]
pub(super) enum Source {
    /// There are no more.
    Once,
    Watch {
        updates: mpsc::Receiver<Update>,
        notices: mpsc::UnboundedReceiver<Notice>,
    },
}

/// What a watched origin has to say.
#[derive(Debug)]
enum Heard {
    Config(Box<Update>),
    Notice(Notice),
}

impl Source {
    async fn next(&mut self) -> Option<Heard> {
        match self {
            Self::Once => std::future::pending().await,
            Self::Watch { updates, notices } => tokio::select! {
                update = updates.recv() => update.map(|update| Heard::Config(Box::new(update))),
                Some(notice) = notices.recv() => Some(Heard::Notice(notice)),
            },
        }
    }
}

#[derive(Debug)]
pub(super) struct Process {
    options: Options,
    plane: Plane,
    source: Source,
    admin: Option<Running>,
    signals: Signals,
    /// A configuration that another process stands in the way of, and when to try it again.
    refused: Option<(Config, Instant)>,
}

impl Process {
    /// `None` when told to stop before there was anything to serve.
    pub(super) async fn start(
        options: Options,
        log: Option<LogHandle>,
    ) -> Result<Option<Self>, RunError> {
        let signals = Signals::listen()?;
        tracing::info!(
            scope = "stunnerd",
            "starting stunnerd {VERSION}, id `{}`",
            options.id
        );
        for warning in &options.warnings {
            tracing::warn!(scope = "stunnerd", "{warning}");
        }
        let plane_options = plane_options(&options, log);
        let (first, source) = tokio::select! {
            loaded = first_config(&options) => loaded?,
            () = signals.at_least(1) => {
                tracing::info!(scope = "stunnerd", "stopped while loading the configuration");
                return Ok(None);
            }
        };
        let mut process = Process {
            options,
            plane: Plane::start(plane_options)?,
            source,
            admin: None,
            signals,
            refused: None,
        };
        process.open_admin();
        match first {
            Some(config) => process.apply_first(config).await?,
            None => process.bootstrap().await,
        }
        Ok(Some(process))
    }

    /// The admin API is a convenience: where its port is taken, the gateway goes on without it.
    fn open_admin(&mut self) {
        let Some(address) = self.options.admin_address.filter(|_| !self.options.dry_run) else {
            return;
        };
        let dataplane = Arc::clone(&self.plane.state) as Arc<dyn Dataplane>;
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
        let applied = self.plane.apply(config).await;
        self.applied(&applied.map_err(ReconcileError::Prepare)?);
        Ok(())
    }

    /// Waits for the first configuration of a watched origin. One that is at hand comes before
    /// anything else, so that no default endpoint is opened in vain; otherwise health is served
    /// meanwhile, and says not ready.
    async fn bootstrap(&mut self) {
        let deadline = Instant::now() + AT_HAND;
        while let Ok(Some(heard)) = tokio::time::timeout_at(deadline, self.source.next()).await {
            self.heard(heard).await;
            if self.plane.state.phase() == Phase::Ready {
                return;
            }
        }
        let config = stunner_config::bootstrap(&self.options.id);
        if let Err(error) = self.plane.bootstrap(config).await {
            tracing::error!(
                scope = "stunnerd",
                "cannot serve health checks yet: {error}"
            );
        }
        tracing::info!(scope = "stunnerd", "waiting for the first configuration");
    }

    fn applied(&self, applied: &Applied) {
        tracing::info!(
            scope = "reconciler",
            "configuration applied: {}",
            applied.changes
        );
        self.plane.warn_of_offload();
    }

    /// Runs until drained, or until a second signal.
    pub(super) async fn serve(mut self) {
        let signals = self.signals.clone();
        tokio::select! {
            // Whatever the loop is waiting for, such as a shard that is stuck.
            () = signals.at_least(2) => {
                tracing::info!(scope = "stunnerd", "second signal: stopping at once");
            }
            () = self.follow(&signals) => {}
        }
        self.stop().await;
    }

    async fn follow(&mut self, signals: &Signals) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut drain_deadline: Option<Instant> = None;
        loop {
            tokio::select! {
                Some(heard) = self.source.next() => self.heard(heard).await,
                Some(answers) = self.plane.answers.recv() => {
                    self.plane.controller.set_answers(answers).await;
                }
                Some(visitors) = self.plane.visitors.recv() => {
                    self.plane.controller.set_visitors(visitors).await;
                }
                _ = ticks.tick() => {
                    self.plane.controller.tick().await;
                    self.retry().await;
                    if let Some(deadline) = drain_deadline
                        && self.is_drained(deadline).await
                    {
                        return;
                    }
                }
                () = signals.at_least(1), if drain_deadline.is_none() => {
                    drain_deadline = Some(self.start_draining().await);
                }
            }
        }
    }

    async fn heard(&mut self, heard: Heard) {
        match heard {
            Heard::Config(update) => self.update(*update).await,
            Heard::Notice(notice) => self.noticed(notice),
        }
    }

    async fn update(&mut self, update: Update) {
        if update.provenance == Provenance::Cached {
            tracing::warn!(
                scope = "stunnerd",
                "using the cached configuration: it may be out of date"
            );
        }
        self.refused = None;
        let config = update.config;
        match self.plane.apply(config.clone()).await {
            Ok(applied) => self.applied(&applied),
            Err(error) => {
                tracing::error!(
                    scope = "reconciler",
                    "the new configuration is refused, the running one stays as it is: {error}; hint: {}",
                    error.hint()
                );
                self.plane.rejected(error.to_string());
                if error.may_pass() {
                    self.refused = Some((config, Instant::now() + RETRY));
                }
            }
        }
    }

    /// Tries a refused configuration again: its origin has no reason to send it a second time, and whoever holds the
    /// port may be the predecessor of this process on its way out.
    async fn retry(&mut self) {
        let Some((config, _)) = self.refused.take_if(|(_, due)| *due <= Instant::now()) else {
            return;
        };
        match self.plane.apply(config.clone()).await {
            Ok(applied) => self.applied(&applied),
            Err(error) => {
                tracing::debug!(scope = "reconciler", "still refused: {error}");
                self.refused = Some((config, Instant::now() + RETRY));
            }
        }
    }

    fn noticed(&self, notice: Notice) {
        let connected = &self.plane.controller.metrics().cds_connected;
        let journal = &self.plane.state.shared.journal;
        match notice {
            Notice::Up { origin } => {
                connected.set(1);
                journal.tell(EventKind::CdsConnected { origin });
            }
            Notice::Down { origin, why } => {
                connected.set(0);
                journal.tell(EventKind::CdsLost { origin, why });
            }
            Notice::BadConfig { why } => self.plane.rejected(why),
        }
    }

    /// Gives the deadline.
    async fn start_draining(&mut self) -> Instant {
        let deadline = Instant::now() + self.options.drain_timeout;
        self.plane.start_draining().await;
        tracing::info!(
            scope = "stunnerd",
            "draining: {} live allocation(s), at most {} s; a second signal stops at once",
            self.plane.state.metrics.allocations_active(),
            self.options.drain_timeout.as_secs()
        );
        deadline
    }

    /// Whether there is nothing left to wait for. A shard that does not answer is waited for until the deadline.
    async fn is_drained(&mut self, deadline: Instant) -> bool {
        if self.plane.remaining().await == Some(0) {
            tracing::info!(scope = "stunnerd", "drained");
            return true;
        }
        let late = Instant::now() >= deadline;
        if late {
            tracing::warn!(
                scope = "stunnerd",
                "--drain-timeout is over, ending {} allocation(s)",
                self.plane.state.metrics.allocations_active()
            );
        }
        late
    }

    async fn stop(mut self) {
        self.plane.controller.stop().await;
        if let Some(admin) = self.admin.take() {
            admin.stop().await;
        }
        self.plane.join().await;
        tracing::info!(scope = "stunnerd", "stopped");
    }
}
