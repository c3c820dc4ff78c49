//! What the web console shows.

mod live;

use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use axum::http::StatusCode;
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Map, Value};
use stunner_console::{IceServer, IceTest, Mode, Problem, Refusal, Source, State, Token, Visitor};
use stunner_dataplane::embed::aggregate;
use stunner_dataplane::http::{Dataplane, IceTestError, TestClient};
use stunner_translate::overview::{BackendAddresses, overview};
use stunner_translate::{Plan, Settings, Snapshot};
use tokio::sync::watch;

use super::engine::Engine;
use crate::VERSION;
use crate::local::Roster;

/// The world as it was last published. What is derived from it is derived when somebody looks.
#[derive(Default)]
struct View {
    generation: u64,
    world: Option<(Snapshot, Plan, Settings)>,
    problems: Vec<Problem>,
    members: OnceLock<Arc<Map<String, Value>>>,
    backends: OnceLock<BackendAddresses>,
}

impl View {
    fn members(&self) -> &Arc<Map<String, Value>> {
        self.members.get_or_init(|| match &self.world {
            Some((snapshot, plan, settings)) => State::members(&overview(snapshot, plan, settings)),
            None => Arc::default(),
        })
    }

    fn backends(&self) -> &BackendAddresses {
        self.backends.get_or_init(|| match &self.world {
            Some((snapshot, _, _)) => BackendAddresses::of(snapshot),
            None => BackendAddresses::default(),
        })
    }
}

/// Answers the console's questions about this process.
pub struct Console {
    view: RwLock<Arc<View>>,
    generation: watch::Sender<u64>,
    roster: Roster,
    /// All dataplanes as one, so that ids find their way back.
    together: Arc<dyn Dataplane>,
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}

impl Console {
    pub fn new(roster: Roster) -> Self {
        Console {
            view: RwLock::default(),
            generation: watch::Sender::new(0),
            together: aggregate(roster.all()),
            roster,
        }
    }

    /// The world has changed.
    pub fn publish(&self, engine: &Engine) {
        let problems = engine.problems().iter().map(|problem| Problem {
            file: problem.file.clone(),
            line: problem.line,
            column: problem.column,
            severity: problem.severity.as_str().to_owned(),
            field: problem.field.clone(),
            message: problem.message.clone(),
            hint: problem.hint.clone(),
        });
        let view = View {
            generation: engine.generation(),
            world: Some((
                engine.snapshot().clone(),
                engine.plan().clone(),
                engine.settings().clone(),
            )),
            problems: problems.collect(),
            ..View::default()
        };
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
        self.generation.send_replace(engine.generation());
    }

    fn view(&self) -> Arc<View> {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&view)
    }
}

impl Source for Console {
    fn state<'a>(&'a self, _visitor: &'a Visitor) -> BoxFuture<'a, State> {
        async {
            let view = self.view();
            let members = self.roster.members();
            let world = view.world.iter();
            let gateways = world.flat_map(|(_, plan, _)| plan.gateways.keys());
            let live = live::gather(gateways, &members, &self.together, view.backends()).await;
            State {
                mode: Mode::Standalone,
                version: VERSION.to_owned(),
                generation: view.generation,
                overview: Arc::clone(view.members()),
                problems: view.problems.clone(),
                token: Token::NotNeeded,
                live: Some(live),
                notes: Vec::new(),
            }
        }
        .boxed()
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    fn start_ice_test<'a>(
        &'a self,
        _visitor: &'a Visitor,
        gateway: String,
        listener: String,
    ) -> BoxFuture<'a, Result<IceTest, Refusal>> {
        async move {
            let listener = format!("{gateway}/{listener}");
            let started = (self.together)
                .start_ice_test(listener, TestClient::Browser)
                .await;
            let test = started.map_err(|error| refusal(&error))?;
            let servers = test.ice_servers.into_iter().map(|server| IceServer {
                urls: server.urls,
                username: server.username,
                credential: server.credential,
            });
            Ok(IceTest {
                id: test.id,
                listener: test.listener,
                ice_servers: servers.collect(),
                expires_in_seconds: test.expires_in_seconds,
                peer: test.peer.to_string(),
            })
        }
        .boxed()
    }

    fn answer_ice_test<'a>(
        &'a self,
        _visitor: &'a Visitor,
        id: String,
        offer: String,
    ) -> BoxFuture<'a, Result<String, Refusal>> {
        async move {
            let answer = self.together.answer_ice_test(id, offer).await;
            answer.map_err(|error| refusal(&error))
        }
        .boxed()
    }

    fn end_ice_test<'a>(
        &'a self,
        _visitor: &'a Visitor,
        id: String,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        async move {
            self.together.end_ice_test(id).await;
            Ok(())
        }
        .boxed()
    }

    fn end_session<'a>(
        &'a self,
        _visitor: &'a Visitor,
        id: String,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        async move {
            match self.together.end_session(id.clone()).await {
                true => Ok(()),
                false => Err(Refusal::new(
                    StatusCode::NOT_FOUND,
                    format!("there is no session `{id}`"),
                    "it may have ended",
                )),
            }
        }
        .boxed()
    }
}

fn refusal(error: &IceTestError) -> Refusal {
    let status = match error {
        IceTestError::UnknownListener { .. } | IceTestError::UnknownTest(_) => {
            StatusCode::NOT_FOUND
        }
        IceTestError::Dtls(_)
        | IceTestError::TurnOff
        | IceTestError::Draining
        | IceTestError::Answered => StatusCode::CONFLICT,
        IceTestError::TooMany => StatusCode::TOO_MANY_REQUESTS,
        IceTestError::Socket(_) | IceTestError::Stopped => StatusCode::SERVICE_UNAVAILABLE,
        IceTestError::Offer(_) => StatusCode::BAD_REQUEST,
    };
    Refusal::new(status, error.to_string(), error.hint())
}
