//! The other end of a call.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use stunner_cluster::{Answer, ClusterError, Http};
use stunner_peer::{EchoPeer, Gather, IceServer, Limits, Session, TransportPolicy, has_loopback};

use super::call::{Call, Hop, Kind, Problem, no_relay};
use super::whip::Whip;

/// Longer than any call; it ends with the call.
const LIMITS: Limits = Limits {
    idle: Duration::from_secs(30),
    whole: Duration::from_secs(24 * 3600),
};

/// Something that answers offers.
#[derive(Debug)]
pub(super) enum FarEnd {
    /// This process.
    Here { insecure: bool },
    /// An icetester.
    Whip(Whip),
    /// The echo peer of a dataplane's ICE test.
    Echo { admin: Http, id: String },
}

/// What is to be ended after the call.
#[derive(Debug)]
pub(super) enum Held {
    Session(Session),
    Location(Option<String>),
    Nothing,
}

impl FarEnd {
    /// Answers an offer.
    pub(super) async fn answer(&self, call: &Call, offer: &str) -> Result<(String, Held), Problem> {
        match self {
            FarEnd::Here { insecure } => here(call, offer, *insecure).await,
            FarEnd::Whip(whip) => {
                let (servers, policy) = candidates(call);
                // One that is not to be configured answers with what it has.
                match whip.configure(&servers, policy).await {
                    Err(ClusterError::Status { code, .. }) if (401..=405).contains(&code) => {}
                    Err(ClusterError::Malformed { .. }) => {}
                    Err(error) => return Err(unreachable(&error)),
                    Ok(()) => {}
                }
                let (answer, location) = whip.offer(offer).await?;
                Ok((answer, Held::Location(location)))
            }
            FarEnd::Echo { admin, id } => {
                let path = format!("/api/v1/ice-tests/{id}/offer");
                let said = admin.post(&path, &json!({ "sdp": offer })).await;
                let said: Value = said
                    .and_then(Answer::json)
                    .map_err(|error| unreachable(&error))?;
                let answer = said["sdp"].as_str().unwrap_or_default().to_owned();
                Ok((answer, Held::Nothing))
            }
        }
    }

    /// Hangs up.
    pub(super) async fn end(&self, held: Held) {
        match (self, held) {
            (_, Held::Session(session)) => session.close().await,
            (FarEnd::Whip(whip), Held::Location(Some(location))) => whip.end(&location).await,
            (FarEnd::Echo { admin, id }, _) => {
                let path = format!("/api/v1/ice-tests/{id}");
                let _ = admin.ask(Method::DELETE, &path, None).await;
            }
            _ => {}
        }
    }
}

/// What the far end of a call is to be reached at.
fn candidates(call: &Call) -> (Vec<IceServer>, TransportPolicy) {
    match call.kind {
        Kind::Asymmetric => (Vec::new(), TransportPolicy::All),
        Kind::Symmetric => (vec![call.server.clone()], TransportPolicy::Relay),
    }
}

async fn here(call: &Call, offer: &str, insecure: bool) -> Result<(String, Held), Problem> {
    let (servers, policy) = candidates(call);
    let gather = Gather {
        loopback: has_loopback(offer),
        servers,
        policy,
        insecure,
        ..Gather::default()
    };
    let gathered = gather
        .candidates()
        .await
        .map_err(|error| no_relay(&error))?;
    let answered = EchoPeer::default().answer_from(offer, gathered, LIMITS);
    let (answer, session) = answered.map_err(|error| {
        Problem::new(Hop::Signalling, error, "this should work; please report it")
    })?;
    Ok((answer, Held::Session(session)))
}

/// A running ICE test of a dataplane.
#[derive(Debug, Deserialize)]
pub(super) struct Started {
    pub(super) id: String,
    #[serde(rename = "iceServers")]
    pub(super) ice_servers: Vec<IceServer>,
}

/// Starts an ICE test of a listener.
pub(super) async fn start(admin: &Http, listener: &str) -> Result<Started, Problem> {
    let body = json!({ "listener": listener, "client": "native" });
    let said = admin.post("/api/v1/ice-tests", &body).await;
    said.and_then(Answer::json)
        .map_err(|error| unreachable(&error))
}

fn unreachable(error: &ClusterError) -> Problem {
    let hint = error.hint().unwrap_or_default();
    Problem::new(Hop::Signalling, error, hint)
}
