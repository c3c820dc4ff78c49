//! The hierarchy of Gateways as the engine knows it, made when somebody looks and then kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use stunner_console::State;
use stunner_translate::overview::{BackendAddresses, GatewayOverview, overview};
use stunner_translate::translate;
use tokio::sync::{Mutex, mpsc, oneshot, watch};

use crate::engine::Sight;

/// For the engine to answer: it may be in the middle of a large translation.
const PATIENCE: Duration = Duration::from_secs(5);
/// Of one CPU, at most one part in this many goes into looking at a world that changes all the time.
const SHARE: u32 = 4;

/// What visitors see of the world, made from one translation.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) generation: u64,
    /// The overview as the console's API names it.
    pub(super) members: Arc<Map<String, Value>>,
    /// By `namespace/name`.
    pub(super) gateways: BTreeMap<String, GatewayOverview>,
    /// Where the pods of a Gateway serve metrics, as far as they do, by `namespace/name`.
    pub(super) metrics: BTreeMap<String, MetricsPlace>,
    pub(super) backends: BackendAddresses,
}

/// Where a pod serves metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MetricsPlace {
    pub(super) port: u16,
    /// Begins with `/`.
    pub(super) path: String,
}

impl View {
    /// Before the first translation there is nothing to see.
    pub(super) fn is_empty(&self) -> bool {
        self.generation == 0
    }
}

/// Asks the engine, at most once for every translation.
#[derive(Debug)]
pub(super) struct World {
    engine: mpsc::Sender<oneshot::Sender<Sight>>,
    generation: watch::Receiver<u64>,
    seen: Mutex<Option<Seen>>,
}

#[derive(Debug)]
struct Seen {
    view: Arc<View>,
    at: Instant,
    took: Duration,
}

impl World {
    pub(super) fn new(
        engine: mpsc::Sender<oneshot::Sender<Sight>>,
        generation: watch::Receiver<u64>,
    ) -> Self {
        World {
            engine,
            generation,
            seen: Mutex::new(None),
        }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.generation.clone()
    }

    /// The world as it is, or as it was a moment ago. Visitors who come together wait for one and the same.
    pub(super) async fn view(&self) -> Arc<View> {
        let mut seen = self.seen.lock().await;
        let generation = *self.generation.borrow();
        if let Some(seen) = &*seen {
            let is_current = seen.view.generation == generation;
            if is_current || seen.at.elapsed() < seen.took * SHARE {
                return Arc::clone(&seen.view);
            }
        }
        let began = Instant::now();
        match self.look(generation).await {
            Some(view) => {
                let view = Arc::new(view);
                *seen = Some(Seen {
                    view: Arc::clone(&view),
                    at: Instant::now(),
                    took: began.elapsed(),
                });
                view
            }
            None => seen
                .as_ref()
                .map_or_else(Arc::default, |seen| Arc::clone(&seen.view)),
        }
    }

    /// `None` before the first translation, and while the engine does not answer.
    async fn look(&self, generation: u64) -> Option<View> {
        if generation == 0 {
            return None;
        }
        let ask = async {
            let (answer, sight) = oneshot::channel();
            self.engine.send(answer).await.ok()?;
            sight.await.ok()
        };
        let sight = tokio::time::timeout(PATIENCE, ask).await.ok()??;
        tokio::task::spawn_blocking(move || view(&sight)).await.ok()
    }
}

/// The engine keeps no plan of the whole; making one anew costs it nothing.
fn view(sight: &Sight) -> View {
    let plan = translate(&sight.snapshot, &sight.settings);
    let seen = overview(&sight.snapshot, &plan, &sight.settings);
    let metrics = plan.configs().filter_map(|(name, config)| {
        let endpoint = config.admin.metrics_endpoint.as_ref()?;
        let place = MetricsPlace {
            port: endpoint.port,
            path: endpoint.path.clone(),
        };
        Some((name.to_string(), place))
    });
    View {
        generation: sight.generation,
        members: State::members(&seen),
        metrics: metrics.collect(),
        backends: BackendAddresses::of(&sight.snapshot),
        gateways: seen
            .gateways
            .into_iter()
            .map(|gateway| (gateway.id.clone(), gateway))
            .collect(),
    }
}
