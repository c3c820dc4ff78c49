//! The server: offers in, answers and sessions out.

mod answer;
mod entrance;
mod sessions;
#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use stunner_http::{BindAddress, HostNames};
use stunner_peer::{EchoPeer, Gather, GatherError, Limits, OfferError, has_loopback};

use self::answer::{Refusal, refuse, sdp, text};
use self::sessions::Sessions;
use crate::{Settings, SettingsError};

/// More than any offer of a browser.
const MAX_BODY: usize = 256 * 1024;

/// Long enough for any test; a caller that went away without a word frees its place sooner.
const LIMITS: Limits = Limits {
    idle: Duration::from_secs(30),
    whole: Duration::from_secs(3600),
};

/// The server and its sessions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Whip(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: RwLock<Settings>,
    endpoint: String,
    insecure: bool,
    /// What callers may call this host, as long as there is no token by which they are known.
    names: HostNames,
    echo: EchoPeer,
    sessions: Arc<Sessions>,
}

impl Whip {
    pub fn new(settings: Settings, max_sessions: usize, insecure: bool) -> Self {
        Whip(Arc::new(Inner {
            endpoint: settings.whip_endpoint.clone(),
            settings: RwLock::new(settings),
            insecure,
            names: HostNames::loopback(),
            echo: EchoPeer::default(),
            sessions: Arc::new(Sessions::new(max_sessions)),
        }))
    }

    /// The same at an address, by whose name it may be called too.
    #[must_use]
    pub fn at(mut self, address: &BindAddress) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.names = HostNames::of(address);
        }
        self
    }

    /// The path for offers.
    pub fn endpoint(&self) -> &str {
        &self.0.endpoint
    }

    /// Ends all sessions and waits until TURN servers have their allocations back.
    pub async fn hang_up(&self) {
        self.0.sessions.end_all().await;
    }

    pub fn router(&self) -> Router {
        let endpoint = self.endpoint();
        Router::new()
            .route("/config", get(config).post(configure))
            .route_layer(from_fn_with_state(self.clone(), entrance::settings))
            .route(endpoint, post(offer))
            .route(&format!("{endpoint}/{{id}}"), delete(end))
            .route_layer(from_fn_with_state(self.clone(), entrance::callers))
            .fallback(async || {
                refuse(
                    StatusCode::NOT_FOUND,
                    "no such path",
                    "POST an offer to the WHIP endpoint, /whip unless WHIP_ENDPOINT says otherwise",
                )
            })
            .method_not_allowed_fallback(async |method: Method| {
                refuse(
                    StatusCode::METHOD_NOT_ALLOWED,
                    &format!("{method} is not possible here"),
                    "the Allow header lists what is",
                )
            })
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .with_state(self.clone())
    }

    fn settings(&self) -> Settings {
        let settings = self.0.settings.read();
        settings.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the settings that the body names, and leaves those alone that somebody else changes at the same time.
    fn change(&self, body: &serde_json::Value) -> Result<(), SettingsError> {
        let settings = self.0.settings.write();
        let mut settings = settings.unwrap_or_else(PoisonError::into_inner);
        *settings = settings.changed(body)?;
        Ok(())
    }
}

/// What was sent, unless it is too much.
fn whole(body: Result<Bytes, BytesRejection>) -> Result<Bytes, Refusal> {
    body.map_err(|problem| match problem.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Refusal {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            error: format!("the body is larger than {} kB", MAX_BODY / 1024),
            hint: "send one offer, or one object of settings; neither is nearly as large"
                .to_owned(),
        },
        _ => Refusal {
            status: StatusCode::BAD_REQUEST,
            error: "the body did not arrive as a whole".to_owned(),
            hint: "send it again".to_owned(),
        },
    })
}

async fn config(State(whip): State<Whip>) -> Response {
    let body = whip.settings().to_json().to_string();
    text(StatusCode::OK, "application/json", body)
}

async fn configure(
    State(whip): State<Whip>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let body = whole(body)?;
    want_type(&headers, "application/json")?;
    let bad = |error: String, hint: String| Refusal {
        status: StatusCode::BAD_REQUEST,
        error,
        hint,
    };
    let body: serde_json::Value = serde_json::from_slice(&body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        bad(
            format!("the body is no JSON: line {line}, column {column}"),
            "send an object with any of ICEServers, ICETransportPolicy and BearerToken".to_owned(),
        )
    })?;
    whip.change(&body).map_err(|error| {
        bad(
            stunner_flags::report(&error, None)
                .trim_start_matches("error: ")
                .trim_end()
                .to_owned(),
            error.hint(),
        )
    })?;
    Ok(text(
        StatusCode::OK,
        "text/plain; charset=utf-8",
        String::new(),
    ))
}

/// Compared without parameters; what Go's server answers with 400, RFC 9110 would answer with 415.
fn want_type(headers: &HeaderMap, wanted: &str) -> Result<(), Refusal> {
    let given = headers.get(header::CONTENT_TYPE);
    let given = given
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    match essence.eq_ignore_ascii_case(wanted) {
        true => Ok(()),
        false => Err(Refusal {
            status: StatusCode::BAD_REQUEST,
            error: format!("the body is of type `{}`", essence.escape_debug()),
            hint: format!("send `Content-Type: {wanted}`"),
        }),
    }
}

async fn offer(
    State(whip): State<Whip>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let body = whole(body)?;
    want_type(&headers, "application/sdp")?;
    let offer = std::str::from_utf8(&body).map_err(|_| bad_offer("the offer is no text"))?;
    // Before anything is gathered: a bad offer is to cost nothing.
    let echo = &whip.0.echo;
    echo.examine(offer).map_err(|error| unusable(&error))?;
    let place = Arc::clone(&whip.0.sessions)
        .reserve()
        .ok_or_else(|| Refusal {
            status: StatusCode::SERVICE_UNAVAILABLE,
            error: "as many sessions as may be are open already".to_owned(),
            hint: "hang up others, or raise --max-sessions".to_owned(),
        })?;
    let settings = whip.settings();
    let gather = Gather {
        loopback: has_loopback(offer),
        servers: settings.ice_servers,
        policy: settings.policy,
        insecure: whip.0.insecure,
        ..Gather::default()
    };
    let gathered = gather.candidates().await.map_err(|error| no_way(&error))?;
    for failure in &gathered.failures {
        tracing::warn!(
            scope = "icetester",
            "no relay at {}: {}",
            failure.server,
            failure.problem
        );
    }
    let answered = echo.answer_from(offer, gathered, LIMITS);
    let (answer, session) = answered.map_err(|error| unusable(&error))?;
    let id = place.fill(session);
    tracing::info!(scope = "icetester", "session {id} begins");
    let location = format!("{}/{id}", whip.endpoint());
    Ok(sdp(answer, &location))
}

async fn end(State(whip): State<Whip>, Path(id): Path<String>) -> Result<Response, Refusal> {
    match whip.0.sessions.end(&id).await {
        true => Ok(text(
            StatusCode::OK,
            "text/plain; charset=utf-8",
            String::new(),
        )),
        false => Err(Refusal {
            status: StatusCode::NOT_FOUND,
            error: "there is no such session".to_owned(),
            hint: "it may have ended; use the Location of the answer to the offer".to_owned(),
        }),
    }
}

fn bad_offer(error: &str) -> Refusal {
    Refusal {
        status: StatusCode::BAD_REQUEST,
        error: error.to_owned(),
        hint: "send the SDP of an RTCPeerConnection with a data channel, after its candidates are gathered".to_owned(),
    }
}

fn unusable(error: &OfferError) -> Refusal {
    bad_offer(&error.to_string())
}

fn no_way(error: &GatherError) -> Refusal {
    Refusal {
        status: StatusCode::BAD_GATEWAY,
        error: error.to_string(),
        hint: error.hint(),
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = refuse(self.status, &self.error, &self.hint);
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            let seconds = HeaderValue::from_static("10");
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}
