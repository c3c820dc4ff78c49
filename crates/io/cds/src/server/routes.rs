//! The paths of the service.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{Method, Request, StatusCode};
use axum::response::Response;
use axum::routing::any;
use tokio::sync::{Semaphore, mpsc, watch};

use super::access::{Access, Scope};
use super::client::{Client, Phase};
use super::handshake::Handshake;
use super::query::Parameters;
use super::store::ConfigStore;
use super::{SCOPE, answer, text};
use crate::id::ConfigId;

/// What every request is answered with.
pub(super) struct Context {
    pub(super) store: ConfigStore,
    pub(super) access: Access,
    /// The whole body.
    pub(super) license: String,
    pub(super) authorization_timeout: Duration,
    /// One for each watch.
    pub(super) places: Arc<Semaphore>,
    pub(super) phases: watch::Receiver<Phase>,
    /// Held by everyone who must be gone before the server is.
    pub(super) alive: mpsc::Sender<()>,
}

type Served = State<Arc<Context>>;

pub(super) fn router(context: Context) -> Router {
    // Every method comes here, HEAD too: it is 405 like all but GET.
    Router::new()
        .route("/api/v1/configs", any(all))
        .route("/api/v1/configs/{namespace}", any(namespace))
        .route("/api/v1/configs/{namespace}/{name}", any(one))
        .route("/api/v1/license", any(license))
        .fallback(async || answer::plain(StatusCode::NOT_FOUND, "there is nothing at this path"))
        .with_state(Arc::new(context))
}

async fn all(State(context): Served, request: Request<Body>) -> Response {
    context.answer(Scope::All, request).await
}

async fn namespace(
    State(context): Served,
    path: Result<Path<String>, PathRejection>,
    request: Request<Body>,
) -> Response {
    match path {
        Ok(Path(namespace)) => context.answer(Scope::Namespace(namespace), request).await,
        Err(_) => unreadable_path(),
    }
}

async fn one(
    State(context): Served,
    path: Result<Path<(String, String)>, PathRejection>,
    request: Request<Body>,
) -> Response {
    match path {
        Ok(Path((namespace, name))) => {
            let id = ConfigId { namespace, name };
            context.answer(Scope::One(id), request).await
        }
        Err(_) => unreadable_path(),
    }
}

/// There is no secret in it, so it needs no token.
async fn license(State(context): Served, request: Request<Body>) -> Response {
    match *request.method() {
        Method::GET => answer::json(StatusCode::OK, context.license.clone()),
        _ => answer::empty(StatusCode::METHOD_NOT_ALLOWED),
    }
}

fn unreadable_path() -> Response {
    answer::plain(StatusCode::BAD_REQUEST, "the path is not UTF-8 text")
}

impl Context {
    async fn answer(&self, scope: Scope, request: Request<Body>) -> Response {
        match self.try_answer(scope, request).await {
            Ok(response) => response,
            Err(response) => *response,
        }
    }

    async fn try_answer(
        &self,
        scope: Scope,
        request: Request<Body>,
    ) -> Result<Response, Box<Response>> {
        if request.method() != Method::GET {
            return Ok(answer::empty(StatusCode::METHOD_NOT_ALLOWED));
        }
        let parameters = Parameters::read(request.uri(), matches!(scope, Scope::One(_)))
            .map_err(|error| answer::plain(StatusCode::BAD_REQUEST, &error.to_string()))?;
        let patience = self.authorization_timeout;
        self.access
            .check(request.headers(), &scope, patience)
            .await?;
        match parameters.watch {
            true => self.watch(scope, parameters.node, request),
            false => Ok(self.show(&scope, parameters.node.as_deref())),
        }
    }

    fn show(&self, scope: &Scope, node: Option<&str>) -> Response {
        let list = |namespace| text::list(&self.store.configs(namespace));
        match scope {
            Scope::All => answer::json(StatusCode::OK, list(None)),
            Scope::Namespace(namespace) => answer::json(StatusCode::OK, list(Some(namespace))),
            Scope::One(id) => match self.store.config(id, node) {
                Some(config) => answer::json(StatusCode::OK, config.body()),
                None => answer::error(
                    StatusCode::NOT_FOUND,
                    &format!("Config not found for ID {id}"),
                ),
            },
        }
    }

    fn watch(
        &self,
        scope: Scope,
        node: Option<String>,
        mut request: Request<Body>,
    ) -> Result<Response, Box<Response>> {
        let Handshake { upgrade, answer } = Handshake::begin(&mut request)?;
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.store.count_refusal();
            tracing::warn!(
                scope = SCOPE,
                "no place for a watch of {scope}: there are too many"
            );
            let why = "there are too many watches; try again later";
            return Err(Box::new(answer::error(
                StatusCode::SERVICE_UNAVAILABLE,
                why,
            )));
        };
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let client = Client {
            peer: peer.map(|ConnectInfo(peer)| *peer),
            store: self.store.clone(),
            scope,
            node,
            phases: self.phases.clone(),
        };
        let alive = self.alive.clone();
        tokio::spawn(async move {
            client.serve(upgrade).await;
            drop((place, alive));
        });
        Ok(answer)
    }
}
