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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use stunner_translate::{Settings, Snapshot};

    use super::*;

    /// An engine that counts how often it is asked.
    fn world(generation: u64) -> (World, watch::Sender<u64>, Arc<AtomicU64>) {
        let (engine, mut onlookers) = mpsc::channel::<oneshot::Sender<Sight>>(1);
        let (announce, heard) = watch::channel(generation);
        let asked = Arc::new(AtomicU64::new(0));
        let (counter, current) = (Arc::clone(&asked), heard.clone());
        tokio::spawn(async move {
            while let Some(onlooker) = onlookers.recv().await {
                counter.fetch_add(1, Ordering::Relaxed);
                let _ = onlooker.send(Sight {
                    generation: *current.borrow(),
                    snapshot: Snapshot::default(),
                    settings: Settings::default(),
                });
            }
        });
        (World::new(engine, heard), announce, asked)
    }

    #[tokio::test]
    async fn the_engine_is_asked_once_for_every_translation() {
        let (world, announce, asked) = world(1);
        let (one, other) = tokio::join!(world.view(), world.view());
        assert!(Arc::ptr_eq(&one, &other));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        announce.send_replace(2);
        // A world that changes all the time is looked at now and then only.
        let mut view = world.view().await;
        while view.generation == 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            view = world.view().await;
        }
        assert_eq!(view.generation, 2);
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn before_the_first_translation_nobody_is_asked() {
        let (world, _announce, asked) = world(0);
        assert!(world.view().await.is_empty());
        assert_eq!(asked.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn without_an_engine_the_last_view_stays() {
        let (engine, onlookers) = mpsc::channel(1);
        let (_announce, heard) = watch::channel(1);
        drop(onlookers);
        let world = World::new(engine, heard);
        assert!(world.view().await.is_empty());
    }
}
