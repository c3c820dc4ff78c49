//! The running dataplane as its HTTP servers see it.

mod statistics;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use stunner_config::admission::Verdict;
use stunner_config::status::{Runtime as RuntimeStatus, Traffic, TrafficStats};
use stunner_config::{Config, OffloadEngine, PeerTransport};
use stunner_telemetry::metrics::{Registry, Stunnerd, Totals};
use stunner_turn::server::{ListenerPolicy, Policy};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::clock::{Clock, unix_seconds};
use crate::http::{
    Dataplane, DenialRecord, Event, ExplainQuery, GatewayStatistics, IceTest, IceTestError,
    Identity, PeerQuery, Readiness, Session, TestClient,
};
use crate::ice_test::{IceTests, Visitors};
use crate::shard::{Command, ShardHandle, parse_session_id};
use crate::shared::Shared;

/// How long shards may take to count their allocations.
const COUNT_PATIENCE: Duration = Duration::from_secs(1);
/// A shard whose loop has not turned for this long is stuck: it turns twice a second when idle.
const STUCK_MILLIS: u64 = 5_000;

/// Where the process is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// No configuration has been applied yet.
    NotReady = 0,
    Ready = 1,
    Terminating = 2,
}

impl Phase {
    fn as_str(self) -> &'static str {
        match self {
            Self::NotReady => "NOT-READY",
            Self::Ready => "READY",
            Self::Terminating => "TERMINATING",
        }
    }
}

/// What `/ready` says besides the truth.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadyRules {
    pub always: bool,
    pub while_draining: bool,
}

/// Answers the questions of the HTTP servers.
#[derive(Debug)]
pub struct State {
    identity: Identity,
    pub clock: Clock,
    pub shards: Vec<ShardHandle>,
    pub shared: Arc<Shared>,
    pub metrics: Stunnerd,
    pub ready: ReadyRules,
    phase: AtomicU8,
    config: ArcSwap<Config>,
    ice_tests: Arc<IceTests>,
}

impl State {
    /// The receiver is for whoever runs the controller, which makes guests of the visitors.
    pub fn new(
        identity: Identity,
        clock: Clock,
        shards: Vec<ShardHandle>,
        shared: Arc<Shared>,
        metrics: Stunnerd,
        ready: ReadyRules,
        config: Arc<Config>,
    ) -> (Self, mpsc::UnboundedReceiver<Visitors>) {
        let (ice_tests, visitors) = IceTests::new();
        let state = Self {
            identity,
            clock,
            shards,
            shared,
            metrics,
            ready,
            phase: AtomicU8::new(Phase::NotReady as u8),
            config: ArcSwap::new(config),
            ice_tests,
        };
        (state, visitors)
    }

    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::NotReady,
            1 => Phase::Ready,
            _ => Phase::Terminating,
        }
    }

    pub fn set_config(&self, config: Arc<Config>) {
        self.config.store(config);
    }

    /// Allocations that hold a drain, counted now; `None` when a shard does not answer.
    pub async fn active_allocations(&self) -> Option<u64> {
        let answers = self.ask_all(Command::CountActive);
        let counts = tokio::time::timeout(COUNT_PATIENCE, answers).await.ok()?;
        Some(counts.into_iter().map(|count| count as u64).sum())
    }

    /// Ends all ICE tests: their sockets go with the dataplane, whoever still looks at its state.
    pub fn end_ice_tests(&self) {
        self.ice_tests.end_all();
    }

    /// Asks every shard; those that have ended do not answer.
    async fn ask_all<T>(&self, question: impl Fn(oneshot::Sender<T>) -> Command) -> Vec<T> {
        let answers: Vec<_> = self
            .shards
            .iter()
            .map(|shard| {
                let (sender, receiver) = oneshot::channel();
                shard.send(question(sender));
                receiver
            })
            .collect();
        let mut all = Vec::with_capacity(answers.len());
        for answer in answers {
            all.extend(answer.await.ok());
        }
        all
    }

    fn listener_policy(&self, listener: &str) -> Result<ListenerPolicy, String> {
        let policy: Option<Arc<Policy>> = self.shared.journal.policy();
        let listeners = policy.as_ref().map(|policy| policy.listeners.values());
        let mut known: Vec<String> = Vec::new();
        for candidate in listeners.into_iter().flatten() {
            if *candidate.name == *listener {
                return Ok(candidate.clone());
            }
            known.push(candidate.name.to_string());
        }
        known.sort();
        Err(format!(
            "no listener `{listener}`; there are: {}",
            known.join(", ")
        ))
    }
}

impl Dataplane for State {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn listeners(&self) -> Vec<String> {
        let config = self.config.load();
        let names = config.listeners.iter().map(|it| it.name.clone());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn liveness(&self) -> Result<(), String> {
        let now = self.clock.millis();
        for (index, shard) in self.shards.iter().enumerate() {
            let silent = now.saturating_sub(shard.pulse.last_beat_millis());
            if silent > STUCK_MILLIS {
                return Err(format!("shard {index} has not turned for {silent} ms"));
            }
        }
        Ok(())
    }

    fn readiness(&self) -> Readiness {
        if self.ready.always {
            return Readiness::Ready;
        }
        match self.phase() {
            Phase::Ready => Readiness::Ready,
            Phase::Terminating if self.ready.while_draining => Readiness::Ready,
            Phase::Terminating => Readiness::NotReady {
                why: "draining".to_owned(),
            },
            Phase::NotReady => Readiness::NotReady {
                why: "no configuration yet".to_owned(),
            },
        }
    }

    fn status(&self) -> Value {
        let config = self.config.load_full();
        let stats = |totals: Totals| {
            let timestamp = unix_seconds();
            TrafficStats {
                rx: Traffic {
                    packets: totals.rx_packets,
                    bytes: totals.rx_bytes,
                    timestamp,
                },
                tx: Traffic {
                    packets: totals.tx_packets,
                    bytes: totals.tx_bytes,
                    timestamp,
                },
            }
        };
        let no_engine = config.admin.offload_engine != OffloadEngine::None;
        config.status_document_with(&RuntimeStatus {
            allocation_count: self.metrics.allocations_active(),
            status: self.phase().as_str(),
            offload_note: no_engine.then_some("this build has no offload engine"),
            listener_stats: &|name| stats(self.metrics.listener_totals(name)),
            cluster_stats: &|name| stats(self.metrics.cluster_totals(name)),
        })
    }

    fn registry(&self) -> Registry {
        self.metrics.registry().clone()
    }

    fn statistics(&self) -> BoxFuture<'_, Vec<GatewayStatistics>> {
        async { vec![self.count().await] }.boxed()
    }

    fn sessions(&self) -> BoxFuture<'_, Vec<Session>> {
        async {
            let mut sessions: Vec<Session> = self
                .ask_all(Command::Sessions)
                .await
                .into_iter()
                .flatten()
                .collect();
            sessions.sort_by(|a, b| b.age_seconds.cmp(&a.age_seconds).then(a.id.cmp(&b.id)));
            sessions
        }
        .boxed()
    }

    fn end_session(&self, id: String) -> BoxFuture<'_, bool> {
        async move {
            let Some((shard, allocation)) = parse_session_id(&id) else {
                return false;
            };
            let Some(shard) = self.shards.get(usize::from(shard)) else {
                return false;
            };
            let (sender, receiver) = oneshot::channel();
            shard.send(Command::EndSession(allocation, sender));
            receiver.await.unwrap_or(false)
        }
        .boxed()
    }

    fn denials(&self) -> Vec<DenialRecord> {
        self.shared.journal.denials()
    }

    fn explain(&self, query: ExplainQuery) -> Result<Value, String> {
        let policy = self.listener_policy(&query.listener)?;
        let admission = &policy.admission;
        // A wildcard has whatever the client came to.
        let relays: Vec<String> = match policy.addresses.wildcard {
            true => Vec::new(),
            false => policy.addresses.fixed().map(|it| it.to_string()).collect(),
        };
        let transport: PeerTransport = query.transport.into();
        let journal = &self.shared.journal;
        let (verdict, rule, peer) = match query.peer {
            PeerQuery::Socket(peer) => {
                let explanation = admission.explain(transport, peer);
                let rule = explanation
                    .matched
                    .map(|(_, rule)| rule)
                    .or(explanation.nearest);
                (explanation.verdict, rule, peer.to_string())
            }
            PeerQuery::Address(address) => {
                let explanation = admission.explain(transport, SocketAddr::new(address, 0));
                (
                    admission.admit_address(transport, address),
                    explanation.nearest,
                    address.to_string(),
                )
            }
        };
        let grounds = rule.map(|rule| {
            json!({
                "cluster": journal.cluster_name(rule.cluster).to_string(),
                "prefix": rule.net.to_string(),
                "ports": rule.ports.to_string(),
                "transport": rule.transport.to_string(),
            })
        });
        let rule = rule.map(|rule| journal.describe(&rule));
        let generation = self.metrics.config_generation.value();
        let mut answer = match verdict {
            Verdict::Admitted { cluster, .. } => json!({
                "listener": query.listener,
                "peer": peer,
                "admitted": true,
                "cluster": journal.cluster_name(cluster).to_string(),
                "rule": rule,
                "grounds": grounds,
                "generation": generation,
            }),
            Verdict::Denied(reason) => json!({
                "listener": query.listener,
                "peer": peer,
                "admitted": false,
                "reason": reason.as_str(),
                "nearest": rule,
                "grounds": grounds,
                "generation": generation,
            }),
        };
        if !relays.is_empty() {
            answer["relays"] = json!(relays);
        }
        Ok(answer)
    }

    fn events(&self) -> broadcast::Receiver<Event> {
        self.shared.journal.subscribe()
    }

    fn start_ice_test(
        &self,
        listener: String,
        client: TestClient,
    ) -> BoxFuture<'_, Result<IceTest, IceTestError>> {
        async move {
            if self.phase() == Phase::Terminating {
                return Err(IceTestError::Draining);
            }
            let config = self.config.load_full();
            self.ice_tests.start(&config, &listener, client).await
        }
        .boxed()
    }

    fn answer_ice_test(
        &self,
        id: String,
        offer: String,
    ) -> BoxFuture<'_, Result<String, IceTestError>> {
        async move { self.ice_tests.answer(&id, &offer) }.boxed()
    }

    fn end_ice_test(&self, id: String) -> BoxFuture<'_, bool> {
        async move { self.ice_tests.end(&id).await }.boxed()
    }
}
