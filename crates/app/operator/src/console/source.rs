//! The answers to the console's questions.

use std::sync::Arc;

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use kube::Config;
use stunner_console::{IceTest, Mode, Note, Refusal, Source, State, Token, Visitor};
use tokio::sync::watch;

use super::ConsoleEnds;
use super::guest::{Guest, Guests, Standing};
use super::world::{View, World};
use super::{ice, live};
use crate::runtime::VERSION;

/// The operator as the console sees it.
#[derive(Debug)]
pub(super) struct Operator {
    world: World,
    guests: Guests,
    /// Those the operator looks at; empty means all.
    namespaces: Vec<String>,
    /// Strangers can reach the console.
    exposed: bool,
}

/// Who a visitor turned out to be.
enum Admission {
    /// Without a token.
    Nobody,
    /// What the API server knows, and whether the hierarchy may be shown.
    Guest { guest: Arc<Guest>, sees_all: bool },
    /// With a token that is good for nothing.
    Refused(Note),
}

impl Operator {
    pub(super) fn new(
        config: &Config,
        namespaces: Vec<String>,
        exposed: bool,
        ends: ConsoleEnds,
    ) -> Self {
        Operator {
            world: World::new(ends.engine, ends.generation),
            guests: Guests::new(config),
            namespaces,
            exposed,
        }
    }

    async fn admit(&self, visitor: &Visitor) -> Admission {
        let Some(token) = visitor.token.as_deref() else {
            return Admission::Nobody;
        };
        let Some(guest) = self.guests.guest(token) else {
            return Admission::Refused(refused("it is no bearer token"));
        };
        match guest.standing(&self.namespaces).await {
            Standing::Known { sees_gateways } => Admission::Guest {
                guest,
                sees_all: sees_gateways || !self.exposed,
            },
            Standing::Unknown(said) => Admission::Refused(refused(&said)),
            Standing::Unclear(why) => Admission::Refused(Note {
                message: format!("Your token cannot be checked at the moment: {why}"),
                hint: None,
            }),
        }
    }

    async fn show(&self, visitor: &Visitor) -> State {
        let admission = self.admit(visitor).await;
        let may_see = match &admission {
            Admission::Nobody | Admission::Refused(_) => !self.exposed,
            Admission::Guest { sees_all, .. } => *sees_all,
        };
        let view = match may_see {
            true => self.world.view().await,
            false => Arc::default(),
        };
        let mut state = State {
            mode: Mode::Operator,
            version: VERSION.to_owned(),
            generation: view.generation,
            overview: Arc::clone(&view.members),
            problems: Vec::new(),
            token: Token::Missing,
            live: None,
            notes: Vec::new(),
        };
        if may_see && view.is_empty() {
            state.notes.push(Note {
                message: "The operator is still reading the cluster.".to_owned(),
                hint: Some("its /readyz says what it waits for".to_owned()),
            });
        }
        match admission {
            Admission::Nobody => {}
            Admission::Refused(note) => {
                state.token = Token::Refused;
                state.notes.push(note);
            }
            Admission::Guest { .. } if !may_see => {
                state.token = Token::Refused;
                state.notes.push(sees_nothing());
            }
            Admission::Guest { guest, .. } => {
                state.token = Token::Accepted;
                self.enliven(&mut state, &guest, &view).await;
            }
        }
        state
    }

    async fn enliven(&self, state: &mut State, guest: &Guest, view: &View) {
        let gathered = live::gather(guest, view).await;
        state.live = Some(gathered.live.clone());
        state.notes.extend(gathered.notes.iter().cloned());
    }

    /// The visitor, where something is to be done in a pod.
    async fn guest(&self, visitor: &Visitor) -> Result<Arc<Guest>, Refusal> {
        match self.admit(visitor).await {
            Admission::Guest {
                guest,
                sees_all: true,
            } => Ok(guest),
            Admission::Guest { .. } => {
                let note = sees_nothing();
                let hint = note.hint.unwrap_or_default();
                Err(Refusal::new(StatusCode::FORBIDDEN, note.message, hint))
            }
            Admission::Nobody => Err(Refusal::new(
                StatusCode::UNAUTHORIZED,
                "this takes your own token",
                "make one with `kubectl create token` and give it to the page",
            )),
            Admission::Refused(note) => Err(Refusal::new(
                StatusCode::UNAUTHORIZED,
                note.message,
                note.hint.unwrap_or_default(),
            )),
        }
    }
}

fn refused(said: &str) -> Note {
    Note {
        message: format!("The API server does not accept your token: {said}"),
        hint: Some("make one with `kubectl create token`".to_owned()),
    }
}

fn sees_nothing() -> Note {
    Note {
        message: "Your token may not list Gateways.".to_owned(),
        hint: Some("grant it list on gateways.gateway.networking.k8s.io".to_owned()),
    }
}

impl Source for Operator {
    fn state<'a>(&'a self, visitor: &'a Visitor) -> BoxFuture<'a, State> {
        self.show(visitor).boxed()
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.world.changes()
    }

    fn start_ice_test<'a>(
        &'a self,
        visitor: &'a Visitor,
        gateway: String,
        listener: String,
    ) -> BoxFuture<'a, Result<IceTest, Refusal>> {
        async move {
            let guest = self.guest(visitor).await?;
            let view = self.world.view().await;
            ice::start(&guest, &view, &gateway, &listener).await
        }
        .boxed()
    }

    fn answer_ice_test<'a>(
        &'a self,
        visitor: &'a Visitor,
        id: String,
        offer: String,
    ) -> BoxFuture<'a, Result<String, Refusal>> {
        async move { ice::answer(&*self.guest(visitor).await?, &id, &offer).await }.boxed()
    }

    fn end_ice_test<'a>(
        &'a self,
        visitor: &'a Visitor,
        id: String,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        async move { ice::end(&*self.guest(visitor).await?, &id).await }.boxed()
    }

    fn end_session<'a>(
        &'a self,
        visitor: &'a Visitor,
        id: String,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        async move { ice::end_session(&*self.guest(visitor).await?, &id).await }.boxed()
    }
}
