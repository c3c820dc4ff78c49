//! The caller's side of WHIP (RFC 9725), and of the icetester's configuration.

use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Map, Value, json};
use stunner_cluster::{Answer, ClusterError, Http, Place};
use stunner_credentials::Secret;
use stunner_peer::{IceServer, TransportPolicy};
use tokio::sync::OnceCell;

use super::call::{Hop, Problem};

/// The port of an icetester.
pub(super) const PORT: u16 = 8089;
/// Its path for offers.
pub(super) const ENDPOINT: &str = "/whip";

/// An icetester.
#[derive(Debug)]
pub(super) struct Whip {
    http: Http,
    endpoint: String,
    token: Option<Secret>,
    /// What it was told about TURN servers before this test told it something else, as it is told again.
    before: OnceCell<Secret>,
}

impl Whip {
    pub(super) fn at(place: Place, endpoint: &str, token: Option<Secret>) -> Self {
        Whip {
            // It answers when it has gathered its candidates, for which a TURN server may take its time.
            http: Http::new(place)
                .by("stunnerctl")
                .with_patience(std::time::Duration::from_secs(20)),
            endpoint: endpoint.to_owned(),
            token,
            before: OnceCell::new(),
        }
    }

    /// By a URL such as `http://HOST:8089/whip`.
    pub(super) fn by_url(url: &str, token: Option<Secret>) -> Result<Self, ClusterError> {
        let from = url.find("://").map_or(0, |at| at + 3);
        let path = url.get(from..).and_then(|rest| rest.find('/'));
        let (origin, path) = match path {
            Some(at) => url.split_at(from + at),
            None => (url, ""),
        };
        let endpoint = match path.trim_end_matches('/') {
            "" => ENDPOINT,
            path => path,
        };
        Ok(Whip::at(Place::direct(origin, PORT)?, endpoint, token))
    }

    /// Sends an offer; gives the answer and the path at which the session is to be ended.
    pub(super) async fn offer(&self, sdp: &str) -> Result<(String, Option<String>), Problem> {
        let headers = self.headers("application/sdp");
        let sent = (self.http)
            .send(Method::POST, &self.endpoint, headers, sdp.to_owned())
            .await;
        let answer = sent.and_then(Answer::ok).map_err(|error| problem(&error))?;
        let location = answer.headers.get(LOCATION);
        let location = location.and_then(|value| value.to_str().ok()).map(path_of);
        let text = answer.text().map_err(|error| problem(&error))?;
        Ok((text, location))
    }

    /// Ends a session. That it does not work is no matter: sessions end by themselves.
    pub(super) async fn end(&self, location: &str) {
        let headers = self.headers("application/sdp");
        let _ = (self.http)
            .send(Method::DELETE, location, headers, String::new())
            .await;
    }

    /// Says which candidates the far end is to have.
    pub(super) async fn configure(
        &self,
        servers: &[IceServer],
        policy: TransportPolicy,
    ) -> Result<(), ClusterError> {
        self.before.get_or_try_init(|| self.settings()).await?;
        let body = json!({ "ICEServers": servers, "ICETransportPolicy": policy.as_str() });
        self.change(body.to_string()).await
    }

    /// Gives it back the settings it had before [`Whip::configure`], if that was called.
    pub(super) async fn restore(&self) -> Result<(), ClusterError> {
        match self.before.get() {
            Some(before) => self.change(before.expose().to_owned()).await,
            None => Ok(()),
        }
    }

    /// What it has of what [`Whip::configure`] changes, with credentials.
    async fn settings(&self) -> Result<Secret, ClusterError> {
        let headers = self.headers("application/json");
        let sent = (self.http)
            .send(Method::GET, "/config", headers, String::new())
            .await;
        let all: Value = sent.and_then(Answer::json)?;
        let names = ["ICEServers", "ICETransportPolicy"];
        let some: Map<String, Value> = names
            .into_iter()
            .map(|name| (name.to_owned(), all[name].clone()))
            .collect();
        Ok(Value::Object(some).to_string().into())
    }

    async fn change(&self, body: String) -> Result<(), ClusterError> {
        let headers = self.headers("application/json");
        let sent = (self.http)
            .send(Method::POST, "/config", headers, body)
            .await;
        sent.and_then(Answer::ok).map(drop)
    }

    fn headers(&self, content_type: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        let token = self.token.as_ref();
        let token = token.map(|token| format!("Bearer {}", token.expose()));
        if let Some(Ok(mut token)) = token.map(|token| HeaderValue::from_str(&token)) {
            token.set_sensitive(true);
            headers.insert(AUTHORIZATION, token);
        }
        headers
    }
}

/// A Location may be a whole URL; the session is where the offer went.
fn path_of(location: &str) -> String {
    match location.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]).to_owned(),
        None => location.to_owned(),
    }
}

fn problem(error: &ClusterError) -> Problem {
    let hint = error.hint();
    let hint = hint.unwrap_or_else(|| "look at the log of the icetester".to_owned());
    match error {
        ClusterError::Status { code: 401, .. } => Problem::new(
            Hop::Signalling,
            error,
            "give the token of the icetester, its BEARER_TOKEN, with --whip-token",
        ),
        // It got no candidate from the TURN server.
        ClusterError::Status { code: 502, .. } => Problem::new(Hop::Gateway, error, hint),
        error => Problem::new(Hop::Signalling, error, hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_with_and_without_a_path() {
        for (url, origin, endpoint) in [
            (
                "http://127.0.0.1:8089/whip",
                "`http://127.0.0.1:8089`",
                "/whip",
            ),
            ("http://127.0.0.1:1/a/b/", "`http://127.0.0.1:1`", "/a/b"),
            ("127.0.0.1:8089", "`http://127.0.0.1:8089`", "/whip"),
            ("http://h/", "`http://h:80`", "/whip"),
        ] {
            let whip = Whip::by_url(url, None).expect("a URL");
            assert_eq!(whip.endpoint, endpoint, "{url}");
            assert_eq!(whip.http.place().to_string(), origin, "{url}");
        }
        let secretive = Whip::by_url("http://h/", Some(Secret::from("hunter2"))).expect("a URL");
        let far_end = super::super::far_end::FarEnd::Whip(secretive);
        assert!(!format!("{far_end:?}").contains("hunter2"), "{far_end:?}");
        assert_eq!(path_of("http://a:1/whip/x"), "/whip/x");
        assert_eq!(path_of("/whip/x"), "/whip/x");
    }
}
