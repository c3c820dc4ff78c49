//! Which unit is written when.
//!
//! One task owns all bookkeeping and starts one job per unit, so that two jobs never write the same object. While a job
//! runs, newer plans for its unit replace each other; the newest is written next.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use kube::Client;
use stunner_api::NamespacedName;
use stunner_telemetry::metrics::{Operator as Metrics, mark_active};
use stunner_translate::{Plan, Unit, WorkloadKind, WriteFailure};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{Id, JoinSet};
use tokio::time::{Duration, Instant, sleep_until};

use super::events::Events;
use super::last_good::LastGoodSecrets;
use super::live::Live;
use super::progress::Progress;
use super::route_apis::RouteApis;
use super::unit::{Context, write};

/// Enough to fill the connection to the API server, few enough to leave others their share of it.
const JOBS: usize = 12;
/// How often an idle writer says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How often to look whether what was stored is still there.
const LOOK_AFTER: Duration = Duration::from_secs(30);

/// What the writer needs.
#[derive(Clone)]
pub struct Setup {
    pub client: Client,
    /// `controllerName` of the classes that are ours, and of our entries in `status.parents`.
    pub controller_name: String,
    /// The operator's pod, as named in Events.
    pub instance: String,
    pub live: Arc<Live>,
    pub route_apis: Arc<RouteApis>,
    pub last_good: Arc<LastGoodSecrets>,
    pub metrics: Metrics,
    pub feedback: mpsc::UnboundedSender<Feedback>,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup")
            .field("controller_name", &self.controller_name)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

/// The plan for the units that were asked for. A unit that was asked for and is not in the plan is gone or not ours.
#[derive(Debug, Clone)]
pub struct Batch {
    pub plan: Arc<Plan>,
    pub asked: BTreeSet<Unit>,
}

/// Whether an object of a Gateway could be written. Sent when it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    pub gateway: NamespacedName,
    pub kind: WorkloadKind,
    /// `None`: it is as the plan says.
    pub failure: Option<WriteFailure>,
}

/// Writes plans to the API server for as long as it is held: dropping it stops all writes at once.
#[derive(Debug)]
pub struct Writer {
    commands: mpsc::UnboundedSender<Command>,
    /// They end with it, and so do the jobs that they own.
    _tasks: JoinSet<()>,
}

enum Command {
    Submit(Batch),
    Idle(oneshot::Sender<()>),
}

impl Writer {
    /// Must be called within a Tokio runtime.
    pub fn start(setup: Setup) -> Self {
        let (commands, inbox) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(look_after(setup.clone()));
        tasks.spawn(Dispatcher::new(setup).run(inbox));
        Writer {
            commands,
            _tasks: tasks,
        }
    }

    /// Newer plans for a unit replace older ones that are not written yet.
    pub fn submit(&self, batch: Batch) {
        // The other end goes away only with this writer.
        let _ = self.commands.send(Command::Submit(batch));
    }

    /// Returns when everything submitted so far was written or has failed. What failed is tried again later.
    pub fn idle(&self) -> impl Future<Output = ()> + Send + use<> {
        let (done, wait) = oneshot::channel();
        // If the writer is gone, so is the other end, and there is nothing to wait for.
        let _ = self.commands.send(Command::Idle(done));
        async {
            let _ = wait.await;
        }
    }
}

/// What was stored for a time without its source must be there when that time comes.
async fn look_after(setup: Setup) {
    loop {
        tokio::time::sleep(LOOK_AFTER).await;
        if let Err(error) = setup.last_good.put_back(&setup.live).await {
            tracing::debug!(scope = "writer", %error, "cannot look after last good inputs");
        }
    }
}

/// What a unit is to become.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// The plan that holds the unit.
    Plan(Arc<Plan>),
    Gone,
}

/// What a job leaves behind.
struct Finished {
    progress: Progress,
    /// When to try again what failed.
    retry: Option<Instant>,
}

#[derive(Default)]
struct Slot {
    /// The newest plan, not yet being written.
    next: Option<Wanted>,
    /// The plan that is being written, or that failed in part.
    current: Option<Wanted>,
    retry: Option<Instant>,
    progress: Progress,
}

struct Dispatcher {
    context: Arc<Context>,
    metrics: Metrics,
    slots: HashMap<Unit, Slot>,
    ready: VecDeque<Unit>,
    running: HashMap<Id, Unit>,
    busy: HashSet<Unit>,
    retries: BTreeSet<(Instant, Unit)>,
    jobs: JoinSet<Finished>,
    waiting: Vec<oneshot::Sender<()>>,
}

impl Dispatcher {
    fn new(setup: Setup) -> Self {
        let metrics = setup.metrics.clone();
        let events = Events::new(setup.client.clone(), setup.instance.clone());
        Dispatcher {
            context: Arc::new(Context { setup, events }),
            metrics,
            slots: HashMap::new(),
            ready: VecDeque::new(),
            running: HashMap::new(),
            busy: HashSet::new(),
            retries: BTreeSet::new(),
            jobs: JoinSet::new(),
            waiting: Vec::new(),
        }
    }

    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Command>) {
        self.recall().await;
        loop {
            mark_active(&self.metrics.updater_loop);
            self.metrics.pending_retries.set(self.retries.len() as u64);
            self.start_jobs();
            if self.ready.is_empty() && self.busy.is_empty() && inbox.is_empty() {
                for done in self.waiting.drain(..) {
                    let _ = done.send(());
                }
            }
            let heartbeat = Instant::now() + HEARTBEAT;
            let wake = self.retries.first().map_or(heartbeat, |(at, _)| *at);
            tokio::select! {
                command = inbox.recv() => match command {
                    Some(Command::Submit(batch)) => self.take(&batch),
                    Some(Command::Idle(done)) => self.waiting.push(done),
                    None => return,
                },
                Some(ended) = self.jobs.join_next_with_id() => match ended {
                    Ok((id, finished)) => self.finish(id, finished),
                    Err(error) => {
                        tracing::error!(scope = "writer", %error, "a write ended abruptly");
                        self.finish(error.id(), Finished {
                            progress: Progress::default(),
                            retry: Some(Instant::now() + HEARTBEAT),
                        });
                    }
                },
                () = sleep_until(wake.min(heartbeat)) => self.wake(),
            }
        }
    }

    /// Whoever wrote before may have stored other last good inputs than we know of, and some may be of Gateways that
    /// went away while nobody was there to see it.
    async fn recall(&mut self) {
        let setup = &self.context.setup;
        match setup.last_good.load().await {
            Ok(stored) => {
                let is_gone = |gateway: &NamespacedName| setup.live.gateway_uid(gateway).is_none();
                let gone: BTreeSet<Unit> = stored
                    .into_keys()
                    .filter(is_gone)
                    .map(Unit::Gateway)
                    .collect();
                self.take(&Batch {
                    plan: Arc::new(Plan::default()),
                    asked: gone,
                });
            }
            // What is not known to be stored is stored again.
            Err(error) => tracing::warn!(scope = "writer", %error, "continuing without"),
        }
    }

    fn take(&mut self, batch: &Batch) {
        for unit in &batch.asked {
            let wanted = if batch.plan.contains(unit) {
                Wanted::Plan(batch.plan.clone())
            } else {
                Wanted::Gone
            };
            let slot = self.slots.entry(unit.clone()).or_default();
            let is_queued = slot.next.replace(wanted).is_some();
            if let Some(at) = slot.retry.take() {
                self.retries.remove(&(at, unit.clone()));
            }
            if !is_queued && !self.busy.contains(unit) {
                self.ready.push_back(unit.clone());
            }
        }
    }

    fn start_jobs(&mut self) {
        while self.jobs.len() < JOBS {
            let Some(unit) = self.ready.pop_front() else {
                return;
            };
            let Some(slot) = self.slots.get_mut(&unit) else {
                continue;
            };
            let Some(wanted) = slot.next.take() else {
                continue;
            };
            slot.current = Some(wanted.clone());
            let mut progress = std::mem::take(&mut slot.progress);
            let context = self.context.clone();
            let job = unit.clone();
            let task = self.jobs.spawn(async move {
                let retry = write(&context, &job, &wanted, &mut progress).await;
                Finished { progress, retry }
            });
            self.running.insert(task.id(), unit.clone());
            self.busy.insert(unit);
        }
    }

    fn finish(&mut self, id: Id, finished: Finished) {
        let Some(unit) = self.running.remove(&id) else {
            return;
        };
        self.busy.remove(&unit);
        let Some(slot) = self.slots.get_mut(&unit) else {
            return;
        };
        slot.progress = finished.progress;
        if slot.next.is_some() {
            self.ready.push_back(unit);
            return;
        }
        match finished.retry {
            Some(at) => {
                slot.retry = Some(at);
                self.retries.insert((at, unit));
            }
            // A plan that is written is not kept.
            None => match slot.current.take() {
                Some(Wanted::Gone) => {
                    self.slots.remove(&unit);
                }
                Some(Wanted::Plan(_)) | None => {}
            },
        }
    }

    /// Puts what is due for another try back into the queue.
    fn wake(&mut self) {
        let now = Instant::now();
        while let Some((at, unit)) = self.retries.first().cloned() {
            if at > now {
                return;
            }
            self.retries.pop_first();
            if let Some(slot) = self.slots.get_mut(&unit) {
                slot.retry = None;
                slot.next = slot.current.take();
                self.ready.push_back(unit);
            }
        }
    }
}
