//! A dataplane that another program runs.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use stunner_config::Config;
use stunner_config::diff::Changes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};

use super::plane::Plane;
use super::{Options, PrepareError};
use crate::http::Dataplane;
use crate::state::State;

/// How often housekeeping is done.
const TICK: Duration = Duration::from_millis(250);
/// Requests that may wait for the task.
const BACKLOG: usize = 8;

/// A configuration that is in force now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// What differs from the one before; empty when both mean the same.
    pub changes: Changes,
    /// Sessions that live on.
    pub sessions: u64,
    /// Sessions that ended because their listener is gone; nothing else ends one.
    pub ended: u64,
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {} session(s) live on", self.changes, self.sessions)?;
        if self.ended > 0 {
            write!(f, ", {} ended with their listener", self.ended)?;
        }
        Ok(())
    }
}

/// What the task may be asked for.
enum Request {
    Apply(Box<Config>, oneshot::Sender<Result<Applied, PrepareError>>),
    StartDraining(oneshot::Sender<()>),
    StopDraining(oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
}

/// A running dataplane: its shards, and a task that resolves names and looks after it. A cheap handle; when the last
/// one goes, the dataplane stops.
#[derive(Debug, Clone)]
pub struct Instance {
    state: Arc<State>,
    requests: mpsc::Sender<Request>,
}

impl Instance {
    /// Starts the shards, without any listener yet. Must be called inside a Tokio runtime.
    pub fn start(options: Options) -> io::Result<Self> {
        let id = options.id.clone();
        let follows_log = options.log.is_some();
        let plane = Plane::start(options)?;
        let state = Arc::clone(&plane.state);
        let (requests, asked) = mpsc::channel(BACKLOG);
        let caretaker = Caretaker {
            id,
            follows_log,
            plane,
            draining: false,
        };
        tokio::spawn(caretaker.run(asked));
        Ok(Self { state, requests })
    }

    /// Puts a configuration in force as a whole, or leaves the running one exactly as it is. The health and metrics
    /// endpoints that it names are ignored. What could not be had is not tried again: that is for the caller, where
    /// [`PrepareError::may_pass`] says so.
    ///
    /// A call that is given up half-way still takes effect.
    pub async fn apply(&self, config: Config) -> Result<Applied, PrepareError> {
        let (answer, answered) = oneshot::channel();
        let request = Request::Apply(Box::new(config), answer);
        self.ask(request, answered)
            .await
            .unwrap_or(Err(PrepareError::Stopped))
    }

    /// What probes, scrapes, the admin API and ICE tests ask.
    pub fn dataplane(&self) -> Arc<dyn Dataplane> {
        Arc::clone(&self.state) as Arc<dyn Dataplane>
    }

    /// New allocations are refused from now on; configurations still apply.
    pub async fn start_draining(&self) {
        let (answer, answered) = oneshot::channel();
        self.ask(Request::StartDraining(answer), answered).await;
    }

    /// New allocations are let in again, as if there had been no drain.
    pub async fn stop_draining(&self) {
        let (answer, answered) = oneshot::channel();
        self.ask(Request::StopDraining(answer), answered).await;
    }

    /// All allocations, those without traffic included.
    pub fn live_allocations(&self) -> u64 {
        self.state.metrics.allocations_active()
    }

    /// Allocations that hold a drain, counted now; `None` when a shard does not answer.
    pub async fn active_allocations(&self) -> Option<u64> {
        self.state.active_allocations().await
    }

    /// Ends all sessions, closes all sockets and waits for the threads to end.
    pub async fn stop(self) {
        let (answer, answered) = oneshot::channel();
        self.ask(Request::Stop(answer), answered).await;
    }

    /// `None` when the dataplane has stopped.
    async fn ask<T>(&self, request: Request, answered: oneshot::Receiver<T>) -> Option<T> {
        self.requests.send(request).await.ok()?;
        answered.await.ok()
    }
}

/// The task that has the dataplane.
struct Caretaker {
    id: String,
    follows_log: bool,
    plane: Plane,
    draining: bool,
}

impl Caretaker {
    async fn run(mut self, mut asked: mpsc::Receiver<Request>) {
        let stopped = self.look_after(&mut asked).await;
        asked.close();
        self.plane.controller.stop().await;
        self.plane.join().await;
        tracing::debug!(scope = "stunnerd", "dataplane `{}` stopped", self.id);
        if let Some(stopped) = stopped {
            let _ = stopped.send(());
        }
    }

    /// Until told to stop, or until nobody is left who could.
    async fn look_after(
        &mut self,
        asked: &mut mpsc::Receiver<Request>,
    ) -> Option<oneshot::Sender<()>> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut neighbours = self.plane.controller.member().watch();
        loop {
            tokio::select! {
                request = asked.recv() => match request? {
                    Request::Apply(config, answer) => {
                        let applied = self.apply(*config).await;
                        let _ = answer.send(applied);
                    }
                    Request::StartDraining(answer) => {
                        if !std::mem::replace(&mut self.draining, true) {
                            self.plane.start_draining().await;
                        }
                        let _ = answer.send(());
                    }
                    Request::StopDraining(answer) => {
                        if std::mem::take(&mut self.draining) {
                            self.plane.stop_draining().await;
                        }
                        let _ = answer.send(());
                    }
                    Request::Stop(answer) => return Some(answer),
                },
                Some(answers) = self.plane.answers.recv() => {
                    self.plane.controller.set_answers(answers).await;
                }
                Some(visitors) = self.plane.visitors.recv() => {
                    self.plane.controller.set_visitors(visitors).await;
                }
                () = neighbours.changed() => self.plane.controller.follow_neighbours().await,
                _ = ticks.tick() => {
                    self.plane.controller.tick().await;
                    if self.draining {
                        self.plane.remaining().await;
                    }
                }
            }
        }
    }

    async fn apply(&mut self, mut config: Config) -> Result<Applied, PrepareError> {
        config.admin.healthcheck_endpoint = None;
        config.admin.metrics_endpoint = None;
        let id = &self.id;
        match self.plane.apply(config).await {
            Ok(mut applied) => {
                if !self.follows_log {
                    applied.changes.log_level = None;
                }
                tracing::debug!(scope = "reconciler", "`{id}`: {applied}");
                self.plane.warn_of_offload();
                Ok(applied)
            }
            Err(error) => {
                tracing::debug!(
                    scope = "reconciler",
                    "the new configuration of `{id}` is refused, the running one stays as it is: {error}"
                );
                self.plane.rejected(error.to_string());
                Err(error)
            }
        }
    }
}
