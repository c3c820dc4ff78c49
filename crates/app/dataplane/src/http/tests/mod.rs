//! The servers on real sockets, over a dataplane made of plain values.

mod admin;
mod health;
mod ice_tests;
mod server;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Value, json};
use stunner_peer::OfferError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::broadcast;

use super::*;

struct Plane {
    liveness: Result<(), String>,
    readiness: Readiness,
    sessions: Mutex<Vec<Session>>,
    events: broadcast::Sender<Event>,
}

impl Default for Plane {
    fn default() -> Self {
        Plane {
            liveness: Ok(()),
            readiness: Readiness::Ready,
            sessions: Mutex::new(vec![
                session("1", "ann", "198.51.100.7:40000"),
                session("2", "bob", "[2001:db8::1]:9"),
            ]),
            events: broadcast::channel(4).0,
        }
    }
}

fn session(id: &str, user: &str, client: &str) -> Session {
    Session {
        id: id.into(),
        user: user.into(),
        listener: "ns/gw/udp".into(),
        client: client.parse().expect("an address"),
        transport: ClientTransportName::Udp,
        relayed: vec!["192.0.2.1:50000".parse().expect("an address")],
        relay_transport: RelayTransportName::Udp,
        peers: vec![SessionPeer {
            peer: "10.0.0.1:5000".into(),
            channel: Some(0x4000),
            expires_in_seconds: 500,
        }],
        age_seconds: 61,
        idle_seconds: 1,
        expires_in_seconds: 539,
        to_peers: Traffic {
            packets: 3,
            bytes: 600,
        },
        to_client: Traffic::default(),
    }
}

fn denial(user: &str) -> DenialRecord {
    DenialRecord {
        at: Timestamp::from_second(1_800_000_000).expect("a time"),
        listener: "ns/gw/udp".into(),
        user: user.into(),
        client: "198.51.100.7:40000".parse().expect("an address"),
        peer: "10.0.0.1:0".parse().expect("an address"),
        transport: RelayTransportName::Udp,
        reason: "no_route".into(),
        nearest: Some("ns/media: 10.0.1.0/24, all ports".into()),
    }
}

fn ice_test(listener: String) -> IceTest {
    IceTest {
        id: "t1".into(),
        listener,
        ice_servers: vec![IceServer {
            urls: vec!["turn:192.0.2.1:3478?transport=udp".into()],
            username: "1800000060:ice-test-x".into(),
            credential: "hush".into(),
        }],
        expires_in_seconds: 60,
        peer: "192.0.2.1:40000".parse().expect("an address"),
    }
}

impl Dataplane for Plane {
    fn identity(&self) -> Identity {
        Identity {
            name: "ns/gw".into(),
            number: 0,
        }
    }
    fn listeners(&self) -> Vec<String> {
        vec!["ns/gw/udp".into()]
    }
    fn registry(&self) -> Registry {
        Registry::new(0)
    }
    fn liveness(&self) -> Result<(), String> {
        self.liveness.clone()
    }
    fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }
    fn status(&self) -> Value {
        json!({ "version": "v1", "allocationCount": 4 })
    }
    fn metrics(&self) -> String {
        "stunner_shards 2\n".into()
    }
    fn statistics(&self) -> BoxFuture<'_, Vec<GatewayStatistics>> {
        let statistics = GatewayStatistics {
            gateway: "ns/gw".into(),
            status: "READY".into(),
            allocations: 2,
            listeners: vec![ListenerStatistics {
                name: "ns/gw/udp".into(),
                protocol: Some("TURN-UDP".into()),
                allocations: 2,
                ..ListenerStatistics::default()
            }],
            ..GatewayStatistics::default()
        };
        async move { vec![statistics] }.boxed()
    }
    fn sessions(&self) -> BoxFuture<'_, Vec<Session>> {
        let sessions = self.sessions.lock().expect("sessions").clone();
        async move { sessions }.boxed()
    }
    fn end_session(&self, id: String) -> BoxFuture<'_, bool> {
        let mut sessions = self.sessions.lock().expect("sessions");
        let before = sessions.len();
        sessions.retain(|session| session.id != id);
        let ended = sessions.len() < before;
        async move { ended }.boxed()
    }
    fn denials(&self) -> Vec<DenialRecord> {
        vec![denial("bob"), denial("ann")]
    }
    fn explain(&self, query: ExplainQuery) -> Result<Value, String> {
        match query.listener.as_str() {
            "ns/gw/udp" => {
                Ok(json!({ "peer": format!("{:?}", query.peer), "transport": query.transport }))
            }
            other => Err(format!("there is no listener `{other}`")),
        }
    }
    fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }
    fn start_ice_test(
        &self,
        listener: String,
        _client: TestClient,
    ) -> BoxFuture<'_, Result<IceTest, IceTestError>> {
        let started = match listener.as_str() {
            "ns/gw/udp" => Ok(ice_test(listener)),
            "ns/gw/busy" => Err(IceTestError::TooMany),
            _ => Err(IceTestError::UnknownListener {
                name: listener,
                known: vec!["ns/gw/busy".into(), "ns/gw/udp".into()],
            }),
        };
        async move { started }.boxed()
    }
    fn answer_ice_test(
        &self,
        id: String,
        offer: String,
    ) -> BoxFuture<'_, Result<String, IceTestError>> {
        let answered = match (id.as_str(), offer.as_str()) {
            ("t1", "bad") => Err(IceTestError::Offer(OfferError::NoDataChannel)),
            ("t1", offer) => Ok(format!("answer to {offer}")),
            _ => Err(IceTestError::UnknownTest(id)),
        };
        async move { answered }.boxed()
    }
    fn end_ice_test(&self, id: String) -> BoxFuture<'_, bool> {
        async move { id == "t1" }.boxed()
    }
}

fn loopback() -> BindAddress {
    BindAddress::Socket(SocketAddr::from(([127, 0, 0, 1], 0)))
}

fn start(router: Router) -> (Running, SocketAddr) {
    let bound = HttpServer::bind(&loopback()).expect("a free port");
    let address = bound.local_addr().expect("an address");
    (bound.serve(router).expect("a server"), address)
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.body))
    }
}

/// One request on a connection of its own; `headers` are whole lines.
async fn request(address: SocketAddr, method: &str, path: &str, headers: &[&str]) -> Answer {
    request_with(address, method, path, headers, "").await
}

async fn request_with(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> Answer {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let own_host = format!("Host: {address}");
    let host = if headers.iter().any(|line| line.starts_with("Host:")) {
        ""
    } else {
        own_host.as_str()
    };
    let lines: String = headers
        .iter()
        .copied()
        .chain([host])
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\r\n"))
        .collect();
    let length = match body.len() {
        0 => String::new(),
        length => format!("Content-Length: {length}\r\n"),
    };
    let head =
        format!("{method} {path} HTTP/1.1\r\n{lines}{length}Connection: close\r\n\r\n{body}");
    stream
        .write_all(head.as_bytes())
        .await
        .expect("the request goes out");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .expect("a status");
    Answer {
        status,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}

async fn get(address: SocketAddr, path: &str) -> Answer {
    request(address, "GET", path, &[]).await
}
