//! HTTP/1.1 over a stream to anywhere.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::HeaderValue;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::SCOPE;
use crate::error::{ClusterError, innermost};
use crate::place::Place;

/// For a stream to open and an answer to begin, and from each part of it to the next.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is asked for is bounded; this bounds a broken server. A session is some 600 bytes, and a pod has up to 64,000 of
/// them for each of its addresses.
const LARGEST_ANSWER: usize = 256 * 1024 * 1024;
/// How much of an error page is repeated.
const MESSAGE_CHARS: usize = 200;
/// Of a line that is meant to be read.
const LINE_CHARS: usize = 2000;

/// An HTTP server at a place. A connection is kept from question to question; clones share it.
#[derive(Clone)]
pub struct Http {
    place: Place,
    program: &'static str,
    patience: Duration,
    idle: Arc<Mutex<Option<Connection>>>,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Http").field(&self.place).finish()
    }
}

/// What is asked.
struct Question<'a> {
    method: Method,
    path: &'a str,
    headers: HeaderMap,
    body: Bytes,
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    task: JoinHandle<hyper::Result<()>>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a server answered, with whatever status.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    place: String,
}

impl Http {
    pub fn new(place: Place) -> Http {
        Http {
            place,
            program: "stunner",
            patience: PATIENCE,
            idle: Arc::default(),
        }
    }

    /// Waits this long for an answer.
    pub fn with_patience(mut self, patience: Duration) -> Http {
        self.patience = patience;
        self
    }

    /// Tells the server which program asks.
    pub fn by(mut self, program: &'static str) -> Http {
        self.program = program;
        self
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// `path` begins with `/` and may have a query.
    pub async fn get(&self, path: &str) -> Result<Answer, ClusterError> {
        self.ask(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer, ClusterError> {
        self.ask(Method::POST, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Result<Answer, ClusterError> {
        self.ask(Method::DELETE, path, None).await
    }

    /// Asks within the time there is for it.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, ClusterError> {
        let mut question = Question {
            method,
            path,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        };
        if let Some(body) = body {
            let json = HeaderValue::from_static("application/json");
            question.headers.insert(header::CONTENT_TYPE, json);
            question.body = Bytes::from(body.to_string());
        }
        self.pose(&question).await
    }

    /// Asks with a body of another kind than JSON, or with headers of the caller's own.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Result<Answer, ClusterError> {
        let body = body.into();
        let question = Question {
            method,
            path,
            headers,
            body,
        };
        self.pose(&question).await
    }

    async fn pose(&self, question: &Question<'_>) -> Result<Answer, ClusterError> {
        let answer = self.answered(question).await;
        // Neither headers nor bodies, which may hold tokens and credentials.
        let (method, path, place) = (&question.method, question.path, &self.place);
        match &answer {
            Ok(answer) => tracing::debug!(
                scope = SCOPE,
                "{method} {path} of {place}: {}, {} bytes",
                answer.status,
                answer.body.len()
            ),
            Err(error) => tracing::debug!(scope = SCOPE, "{method} {path} of {place}: {error}"),
        }
        answer
    }

    async fn answered(&self, question: &Question<'_>) -> Result<Answer, ClusterError> {
        let (connection, response) = self.patiently(self.begin(question)).await??;
        let (head, body) = response.into_parts();
        let body = self.read(body).await?;
        self.keep(connection);
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body,
            place: self.place.to_string(),
        })
    }

    /// Asks, and waits until the answer begins.
    async fn begin(
        &self,
        question: &Question<'_>,
    ) -> Result<(Connection, Response<Incoming>), ClusterError> {
        // A connection that was kept may have died unnoticed. Only what changes nothing can be asked twice.
        let kept = (question.method == Method::GET)
            .then(|| self.take())
            .flatten();
        if let Some(mut connection) = kept
            && let Ok(response) = connection
                .sender
                .send_request(self.request(question)?)
                .await
        {
            return Ok((connection, response));
        }
        let mut connection = self.connect().await?;
        let sent = connection.sender.send_request(self.request(question)?);
        match sent.await {
            Ok(response) => Ok((connection, response)),
            // Where the stream ended first, only the connection knows why.
            Err(error) => Err(match (&mut connection.task).await {
                Ok(Err(cause)) => self.unreachable(innermost(&cause)),
                _ => self.unreachable(innermost(&error)),
            }),
        }
    }

    /// The rest of an answer. A long one may take its time while more of it keeps coming.
    async fn read(&self, body: Incoming) -> Result<Bytes, ClusterError> {
        let mut body = Limited::new(body, LARGEST_ANSWER);
        let mut whole = Vec::new();
        while let Some(frame) = self.patiently(body.frame()).await? {
            let frame = frame.map_err(|error| self.unreachable(error.to_string()))?;
            if let Some(data) = frame.data_ref() {
                whole.extend_from_slice(data);
            }
        }
        Ok(whole.into())
    }

    async fn patiently<T>(&self, work: impl Future<Output = T>) -> Result<T, ClusterError> {
        let done = tokio::time::timeout(self.patience, work).await;
        done.map_err(|_| {
            let patience = self.patience.as_secs_f32();
            self.unreachable(format!("no answer within {patience} s"))
        })
    }

    fn take(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.take()
            .filter(|connection| connection.sender.is_ready())
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        *idle = Some(connection);
    }

    async fn connect(&self) -> Result<Connection, ClusterError> {
        let stream = self.place.open().await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.unreachable(innermost(&error)))?;
        let task = tokio::spawn(connection);
        Ok(Connection { sender, task })
    }

    fn request(&self, question: &Question<'_>) -> Result<Request<Full<Bytes>>, ClusterError> {
        let agent = format!("{}/{}", self.program, env!("CARGO_PKG_VERSION"));
        let request = Request::builder()
            .method(&question.method)
            .uri(format!("{}{}", self.place.prefix(), question.path))
            .header(header::HOST, self.place.authority())
            .header(header::USER_AGENT, agent)
            .body(Full::new(question.body.clone()));
        let mut request = request.map_err(|error| self.unreachable(error.to_string()))?;
        request.headers_mut().extend(question.headers.clone());
        Ok(request)
    }

    fn unreachable(&self, why: String) -> ClusterError {
        ClusterError::Unreachable {
            what: self.place.to_string(),
            why,
        }
    }
}

impl Answer {
    /// The answer, where it is one; what the server says against it otherwise.
    pub fn ok(self) -> Result<Answer, ClusterError> {
        match self.status.is_success() {
            true => Ok(self),
            false => Err(self.refusal()),
        }
    }

    /// The body, which is text.
    pub fn text(self) -> Result<String, ClusterError> {
        let answer = self.ok()?;
        let place = answer.place;
        String::from_utf8(answer.body.into()).map_err(|_| ClusterError::Malformed {
            place,
            why: "it is not UTF-8 text".to_owned(),
        })
    }

    /// The body, which is JSON of this form.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, ClusterError> {
        let answer = self.ok()?;
        // Nothing to say is an answer too.
        let bytes: &[u8] = if answer.body.is_empty() {
            b"null"
        } else {
            &answer.body
        };
        serde_json::from_slice(bytes).map_err(|error| ClusterError::Malformed {
            // The place of the mistake, not the text around it.
            why: format!(
                "unexpected JSON at line {} column {}",
                error.line(),
                error.column()
            ),
            place: answer.place,
        })
    }

    /// Our servers say `error` and `hint`, the icetester on two lines, the config discovery service and the Go programs
    /// `message`.
    fn refusal(self) -> ClusterError {
        let said: Value = serde_json::from_slice(&self.body).unwrap_or_else(|_| lines(&self.body));
        let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
        let error = [text("error"), text("message"), plain(&self.body)]
            .into_iter()
            .find(|text| !text.is_empty());
        let reason = self.status.canonical_reason().unwrap_or("an error");
        ClusterError::Status {
            place: self.place,
            code: self.status.as_u16(),
            error: error.unwrap_or_else(|| reason.to_owned()),
            hint: text("hint"),
        }
    }
}

/// A refusal as people read it: `error: …` and `hint: …`, each on a line of its own.
fn lines(body: &[u8]) -> Value {
    let text = String::from_utf8_lossy(body);
    let line = |start: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(start));
        let line = line.unwrap_or_default().chars();
        line.filter(|it| !it.is_control())
            .take(LINE_CHARS)
            .collect::<String>()
    };
    serde_json::json!({ "error": line("error: "), "hint": line("hint: ") })
}

/// The beginning of a body that is no JSON, on one line.
fn plain(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    line.chars()
        .filter(|character| !character.is_control())
        .take(MESSAGE_CHARS)
        .collect()
}
