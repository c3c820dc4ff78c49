//! A source that remembers what it was asked, and requests to a console on it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use stunner_console::{
    HostNames, IceServer, IceTest, Live, LiveListener, Mode, Refusal, Source, State, Token,
    Traffic, Visitor, router,
};
use tokio::sync::watch;
use tower::ServiceExt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    Start(String, String),
    Offer(String, String),
    End(String),
}

pub struct Fake {
    generation: watch::Sender<u64>,
    asked: Mutex<Vec<Asked>>,
    token: Mutex<Option<String>>,
}

impl Fake {
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no panic under the lock").clone()
    }

    pub fn last_token(&self) -> Option<String> {
        self.token.lock().expect("no panic under the lock").clone()
    }

    pub fn change(&self, generation: u64) {
        self.generation.send_replace(generation);
    }

    fn note(&self, asked: Asked) {
        self.asked
            .lock()
            .expect("no panic under the lock")
            .push(asked);
    }
}

impl Source for Fake {
    fn state<'a>(&'a self, visitor: &'a Visitor) -> BoxFuture<'a, State> {
        *self.token.lock().expect("no panic under the lock") = visitor.token.clone();
        let overview =
            json!({ "classes": [], "gateways": [{ "id": "default/gateway" }], "routes": [] });
        let live = Live {
            listeners: vec![LiveListener {
                id: "default/gateway/udp".into(),
                traffic: Traffic {
                    rx_packets: 5,
                    ..Traffic::default()
                },
            }],
            denials_by_reason: BTreeMap::new(),
            ..Live::default()
        };
        let state = State {
            mode: Mode::Standalone,
            version: "0".into(),
            generation: *self.generation.borrow(),
            overview: State::members(&overview),
            problems: Vec::new(),
            token: Token::NotNeeded,
            live: Some(live),
            notes: Vec::new(),
        };
        Box::pin(async { state })
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
        Box::pin(async move {
            if gateway != "default/gateway" {
                let error = format!("there is no Gateway {gateway}");
                return Err(Refusal::new(StatusCode::NOT_FOUND, error, "choose another"));
            }
            let test = IceTest {
                id: "t1".into(),
                listener: format!("{gateway}/{listener}"),
                ice_servers: vec![IceServer {
                    urls: vec!["turn:127.0.0.1:3478?transport=udp".into()],
                    username: "guest".into(),
                    credential: "for a minute".into(),
                }],
                expires_in_seconds: 60,
                peer: "127.0.0.1:5000".into(),
            };
            self.note(Asked::Start(gateway, listener));
            Ok(test)
        })
    }

    fn answer_ice_test<'a>(
        &'a self,
        _visitor: &'a Visitor,
        id: String,
        offer: String,
    ) -> BoxFuture<'a, Result<String, Refusal>> {
        self.note(Asked::Offer(id, offer));
        Box::pin(async { Ok("answer".to_owned()) })
    }

    fn end_ice_test<'a>(
        &'a self,
        _visitor: &'a Visitor,
        id: String,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        self.note(Asked::End(id));
        Box::pin(async { Ok(()) })
    }
}

pub struct Console {
    pub source: Arc<Fake>,
    router: Router,
}

pub fn console() -> Console {
    console_at(HostNames::loopback())
}

pub fn console_at(names: HostNames) -> Console {
    let source = Arc::new(Fake {
        generation: watch::Sender::new(7),
        asked: Mutex::default(),
        token: Mutex::default(),
    });
    Console {
        router: router(source.clone(), names),
        source,
    }
}

pub struct Asking {
    request: axum::http::request::Builder,
    host: String,
    body: Body,
}

pub fn request(method: Method, path: &str) -> Asking {
    Asking {
        request: Request::builder().method(method).uri(path),
        host: "localhost:8090".into(),
        body: Body::empty(),
    }
}

impl Asking {
    pub fn host(mut self, host: &str) -> Self {
        self.host = host.into();
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub fn body(mut self, body: &str) -> Self {
        self.body = Body::from(body.to_owned());
        self
    }

    pub fn json(self, value: &Value) -> Self {
        self.header("content-type", "application/json")
            .body(&value.to_string())
    }

    pub async fn open(self, console: &Console) -> Stream {
        let request = self.request.header("host", self.host).body(self.body);
        let request = request.expect("a request");
        let response = console
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer");
        let (head, body) = response.into_parts();
        Stream {
            status: head.status,
            headers: head.headers,
            body,
        }
    }

    pub async fn send(self, console: &Console) -> Answer {
        let stream = self.open(console).await;
        let body = stream.body.collect().await.expect("a body").to_bytes();
        Answer {
            status: stream.status,
            headers: stream.headers,
            body: body.to_vec(),
        }
    }
}

pub struct Stream {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
}

impl Stream {
    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().expect("text")
    }

    pub async fn next(&mut self) -> String {
        let frame = self
            .body
            .frame()
            .await
            .expect("an open stream")
            .expect("a frame");
        let data = frame.into_data().expect("data");
        String::from_utf8(data.to_vec()).expect("text")
    }
}

pub struct Answer {
    pub status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().expect("text")
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    pub fn json(&self) -> Value {
        assert_eq!(
            self.header("content-type"),
            "application/json; charset=utf-8"
        );
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The status of a refusal, which always says what is wrong and what to do.
    pub fn refusal(&self) -> StatusCode {
        let value = self.json();
        for member in ["error", "hint"] {
            let text = value[member].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{value}");
        }
        self.status
    }
}
