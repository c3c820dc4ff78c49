//! Several dataplanes as one, for the HTTP servers of a process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt, join_all};
use serde_json::Value;
use stunner_telemetry::metrics::Registry;
use tokio::sync::broadcast;

use super::{Dataplanes, events, prefix};
use crate::http::{
    Dataplane, DenialRecord, Event, ExplainQuery, GatewayStatistics, IceTest, IceTestError,
    Identity, Readiness, Session, TestClient,
};

/// What the listed dataplanes say together. Ids are prefixed with the number of the dataplane they come from, so that
/// they stay unique and find their way back.
pub(super) struct Aggregate {
    dataplanes: Dataplanes,
    counted: Mutex<Counted>,
}

/// Whose series a scrape has seen. Counts outlive their dataplane: a counter that falls looks like a restart.
struct Counted {
    live: BTreeMap<u64, Registry>,
    past: Registry,
}

impl Aggregate {
    pub fn new(dataplanes: Dataplanes) -> Self {
        Self {
            dataplanes,
            counted: Mutex::new(Counted {
                live: BTreeMap::new(),
                past: Registry::new(0),
            }),
        }
    }

    /// All there are now, sorted by name.
    fn all(&self) -> Vec<(Identity, Arc<dyn Dataplane>)> {
        let mut all: Vec<_> = (self.dataplanes)()
            .into_iter()
            .map(|dataplane| (dataplane.identity(), dataplane))
            .collect();
        all.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name).then(a.number.cmp(&b.number)));
        all
    }

    /// The dataplane that gave an id, and what it calls it.
    fn whose(&self, id: &str) -> Option<(Arc<dyn Dataplane>, String)> {
        let (number, id) = prefix::split(id)?;
        let (_, dataplane) = self
            .all()
            .into_iter()
            .find(|(identity, _)| identity.number == number)?;
        Some((dataplane, id.to_owned()))
    }

    fn with_listener(&self, listener: &str) -> Option<(Identity, Arc<dyn Dataplane>)> {
        let has_it = |plane: &dyn Dataplane| plane.listeners().iter().any(|name| name == listener);
        self.all().into_iter().find(|(_, plane)| has_it(&**plane))
    }
}

impl Dataplane for Aggregate {
    fn identity(&self) -> Identity {
        let names: Vec<_> = self.all().into_iter().map(|(it, _)| it.name).collect();
        Identity {
            name: names.join(","),
            number: u64::MAX,
        }
    }

    fn listeners(&self) -> Vec<String> {
        let all = self.all();
        let mut names: Vec<_> = all.iter().flat_map(|(_, it)| it.listeners()).collect();
        names.sort();
        names
    }

    fn liveness(&self) -> Result<(), String> {
        self.all()
            .into_iter()
            .try_for_each(|(identity, dataplane)| {
                let alive = dataplane.liveness();
                alive.map_err(|why| format!("{}: {why}", identity.name))
            })
    }

    fn readiness(&self) -> Readiness {
        let all = self.all();
        let waiting: Vec<String> = all
            .iter()
            .filter_map(|(identity, dataplane)| match dataplane.readiness() {
                Readiness::Ready => None,
                Readiness::NotReady { why } => Some(format!("{}: {why}", identity.name)),
            })
            .collect();
        match all.is_empty() {
            true => Readiness::NotReady {
                why: "no gateway is running".to_owned(),
            },
            false if waiting.is_empty() => Readiness::Ready,
            false => Readiness::NotReady {
                why: waiting.join("; "),
            },
        }
    }

    fn status(&self) -> Value {
        let all = self.all();
        all.iter()
            .map(|(_, dataplane)| dataplane.status())
            .collect()
    }

    fn registry(&self) -> Registry {
        let live: BTreeMap<u64, Registry> = self
            .all()
            .into_iter()
            .map(|(identity, dataplane)| (identity.number, dataplane.registry()))
            .collect();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut counted.live, live);
        for (number, ended) in before {
            if !counted.live.contains_key(&number) {
                counted.past.absorb(&ended);
            }
        }
        let parts: Vec<Registry> = counted.live.values().cloned().collect();
        let past = counted.past.clone();
        Registry::merged(&[parts, vec![past]].concat())
    }

    fn statistics(&self) -> BoxFuture<'_, Vec<GatewayStatistics>> {
        async {
            let all = self.all();
            let asked = all.iter().map(|(_, dataplane)| dataplane.statistics());
            join_all(asked).await.concat()
        }
        .boxed()
    }

    fn sessions(&self) -> BoxFuture<'_, Vec<Session>> {
        async {
            let all = self.all();
            let asked = all.iter().map(|(identity, dataplane)| async move {
                let mut sessions = dataplane.sessions().await;
                for session in &mut sessions {
                    session.id = prefix::join(identity.number, &session.id);
                }
                sessions
            });
            let mut sessions = join_all(asked).await.concat();
            sessions.sort_by(|a, b| b.age_seconds.cmp(&a.age_seconds).then(a.id.cmp(&b.id)));
            sessions
        }
        .boxed()
    }

    fn end_session(&self, id: String) -> BoxFuture<'_, bool> {
        async move {
            match self.whose(&id) {
                Some((dataplane, id)) => dataplane.end_session(id).await,
                None => false,
            }
        }
        .boxed()
    }

    fn denials(&self) -> Vec<DenialRecord> {
        let all = self.all();
        let mut denials: Vec<_> = all.iter().flat_map(|(_, it)| it.denials()).collect();
        denials.sort_by_key(|denial| std::cmp::Reverse(denial.at));
        denials
    }

    fn explain(&self, query: ExplainQuery) -> Result<Value, String> {
        match self.with_listener(&query.listener) {
            Some((_, dataplane)) => dataplane.explain(query),
            None => Err(format!(
                "no listener `{}`; there are: {}",
                query.listener,
                self.listeners().join(", ")
            )),
        }
    }

    fn events(&self) -> broadcast::Receiver<Event> {
        events::merged(Arc::clone(&self.dataplanes))
    }

    fn start_ice_test(
        &self,
        listener: String,
        client: TestClient,
    ) -> BoxFuture<'_, Result<IceTest, IceTestError>> {
        async move {
            let Some((identity, dataplane)) = self.with_listener(&listener) else {
                return Err(IceTestError::UnknownListener {
                    name: listener,
                    known: self.listeners(),
                });
            };
            let mut test = dataplane.start_ice_test(listener, client).await?;
            test.id = prefix::join(identity.number, &test.id);
            Ok(test)
        }
        .boxed()
    }

    fn answer_ice_test(
        &self,
        id: String,
        offer: String,
    ) -> BoxFuture<'_, Result<String, IceTestError>> {
        async move {
            match self.whose(&id) {
                Some((dataplane, id)) => dataplane.answer_ice_test(id, offer).await,
                None => Err(IceTestError::UnknownTest(id)),
            }
        }
        .boxed()
    }

    fn end_ice_test(&self, id: String) -> BoxFuture<'_, bool> {
        async move {
            match self.whose(&id) {
                Some((dataplane, id)) => dataplane.end_ice_test(id).await,
                None => false,
            }
        }
        .boxed()
    }
}
