//! The engine: owns the snapshot of the world, and turns its changes into configurations and plans.
//!
//! One task, so that nothing is locked: it takes the reports of the watches, waits for the window to end, translates
//! the units that the changes touch, publishes configurations at once and hands the rest to the writer, if this replica
//! is the leader.

mod caches;
mod intake;
mod outage;
mod pass;
mod window;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use stunner_api::NamespacedName;
use stunner_cds::server::ConfigStore;
use stunner_telemetry::metrics::{Operator as Metrics, mark_active};
use stunner_translate::{Dirty, LastGood, Settings, Snapshot};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

use self::caches::Caches;
use self::outage::Outage;
use self::window::Window;
use crate::cli::Options;
use crate::discovery::Served;
use crate::health::Health;
use crate::watch::{WatchEvent, Watches};
use crate::write::{Feedback, Live, RouteApis, Setup, Writer};

/// How often the loop turns when nothing happens.
const TICK: Duration = Duration::from_secs(1);
/// Reports taken at a time, so that signals and windows get their turn in between.
const AT_ONCE: usize = 512;

/// What the engine is made of.
#[derive(Debug)]
pub struct Parts {
    pub options: Arc<Options>,
    pub settings: Settings,
    pub watches: Watches,
    pub store: ConfigStore,
    pub writer: Setup,
    pub live: Arc<Live>,
    pub route_apis: Arc<RouteApis>,
    /// What Gateways ran on when the last leader wrote it down.
    pub last_good: Vec<(NamespacedName, LastGood)>,
    pub metrics: Metrics,
    pub health: Health,
    /// Told the number of every translation.
    pub generation: watch::Sender<u64>,
}

/// The world as the engine knows it, for those who look on.
#[derive(Debug)]
pub struct Sight {
    /// The number of the last translation; 0 before the first.
    pub generation: u64,
    pub snapshot: Snapshot,
    pub settings: Settings,
}

/// What the engine listens to.
#[derive(Debug)]
pub struct Inputs {
    pub events: mpsc::Receiver<WatchEvent>,
    pub feedback: mpsc::UnboundedReceiver<Feedback>,
    pub served: watch::Receiver<Option<Served>>,
    pub leader: watch::Receiver<bool>,
    /// Those who want to see the world. It is copied for them, so that they take their own time over it.
    pub onlookers: mpsc::Receiver<oneshot::Sender<Sight>>,
}

#[derive(Debug)]
pub struct Engine {
    options: Arc<Options>,
    settings: Settings,
    snapshot: Snapshot,
    caches: Caches,
    outage: Outage,
    watches: Watches,
    store: ConfigStore,
    setup: Setup,
    /// Waits for the writer, to tell that a translation is written.
    acknowledging: Option<JoinHandle<()>>,
    leads: bool,
    /// On the leader only.
    writer: Option<Writer>,
    live: Arc<Live>,
    route_apis: Arc<RouteApis>,
    metrics: Metrics,
    health: Health,
    dirty: Dirty,
    window: Window,
    /// Every cache was complete once.
    loaded: bool,
    /// Gateways that were ours at some time: what they have is ours to take back.
    ours: BTreeSet<NamespacedName>,
    generation: u64,
    announce: watch::Sender<u64>,
}

impl Engine {
    pub fn new(parts: Parts) -> Self {
        let mut snapshot = Snapshot::default();
        let mut ours = BTreeSet::new();
        for (gateway, last_good) in parts.last_good {
            snapshot.set_last_good(&gateway, Some(last_good));
            ours.insert(gateway);
        }
        Engine {
            window: Window::new(parts.options.throttle_timeout),
            options: parts.options,
            settings: parts.settings,
            snapshot,
            caches: Caches::default(),
            outage: Outage::default(),
            watches: parts.watches,
            store: parts.store,
            setup: parts.writer,
            acknowledging: None,
            leads: false,
            writer: None,
            live: parts.live,
            route_apis: parts.route_apis,
            metrics: parts.metrics,
            health: parts.health,
            dirty: Dirty::new(),
            loaded: false,
            ours,
            generation: 0,
            announce: parts.generation,
        }
    }

    /// Runs until told to stop. `loaded` is told once, after the first translation.
    pub async fn run(
        &mut self,
        mut inputs: Inputs,
        loaded: oneshot::Sender<()>,
        stop: impl Future<Output = ()>,
    ) {
        let mut loaded = Some(loaded);
        inputs.leader.mark_changed();
        inputs.served.mark_changed();
        let mut stop = std::pin::pin!(stop);
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reports = Vec::with_capacity(AT_ONCE);
        loop {
            self.turned();
            let due = self.due();
            tokio::select! {
                biased;
                () = &mut stop => return,
                Ok(()) = inputs.leader.changed() => {
                    let leads = *inputs.leader.borrow_and_update();
                    self.set_leader(leads);
                }
                Ok(()) = inputs.served.changed() => {
                    let served = inputs.served.borrow_and_update().clone();
                    if let Some(served) = served {
                        self.set_served(&served);
                    }
                }
                () = sleep_until(due), if due.is_some() => self.pass(),
                Some(feedback) = inputs.feedback.recv() => self.take_feedback(feedback),
                count = inputs.events.recv_many(&mut reports, AT_ONCE) => {
                    if count == 0 {
                        return;
                    }
                    for report in reports.drain(..) {
                        self.take_report(report);
                    }
                    self.follow_secrets();
                    if self.load() && let Some(loaded) = loaded.take() {
                        let _ = loaded.send(());
                    }
                }
                Some(onlooker) = inputs.onlookers.recv() => {
                    // One that has gone away meanwhile needs no answer.
                    let _ = onlooker.send(self.sight());
                }
                _ = ticks.tick() => self.tick(),
            }
        }
    }

    fn sight(&self) -> Sight {
        Sight {
            generation: self.generation,
            snapshot: self.snapshot.clone(),
            settings: self.settings.clone(),
        }
    }

    fn turned(&self) {
        self.health.turned();
        mark_active(&self.metrics.operator_loop);
        if self.loaded {
            mark_active(&self.metrics.renderer_loop);
        }
    }

    fn tick(&mut self) {
        if self.outage.is_over(std::time::Instant::now()) {
            tracing::info!(scope = "watch", "the API server answers again");
        }
    }

    /// When the next pass is due. Before everything is known there is none.
    fn due(&self) -> Option<Instant> {
        match self.loaded {
            true => self.window.due(!self.caches.is_complete()),
            false => None,
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
