//! The other side of the client under test: a discovery service that each test plays by hand.

#![allow(dead_code)] // Every test file uses its own part of this.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use stunner_cds::{Options, Origin, Update};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::Receiver;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

pub const ID: &str = "stunner/udp-gateway";

pub fn fixture(name: &str) -> String {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The body of a recorded HTTP answer.
pub fn body(name: &str) -> String {
    let text = fixture(name);
    text.lines()
        .find(|line| line.starts_with('{'))
        .expect("a JSON body")
        .to_owned()
}

/// The text frames of a recorded subscription, in order, each with the step of the story it belongs to.
pub fn frames(name: &str) -> Vec<(String, String)> {
    let mut frames = Vec::new();
    let mut step = String::new();
    let mut expecting = false;
    for line in fixture(name).lines() {
        if let Some(title) = line.strip_prefix("## ") {
            step = title.to_owned();
        } else if line.starts_with("header 81") {
            expecting = true;
        } else if expecting {
            frames.push((step.clone(), line.to_owned()));
            expecting = false;
        }
    }
    frames
}

/// A config that differs from others by its port.
pub fn config(port: u16) -> String {
    format!(
        r#"{{"version":"v1","admin":{{"name":"{ID}"}},"auth":{{"type":"static","credentials":{{"username":"u","password":"p"}}}},"listeners":[{{"name":"udp","protocol":"TURN-UDP","address":"$STUNNER_ADDR","port":{port},"routes":[]}}]}}"#
    )
}

pub fn port_of(update: &Update) -> u16 {
    update.config.listeners[0].port
}

/// Options with an environment of their own.
pub fn options() -> Options {
    Options {
        env: Arc::new(|name| (name == "STUNNER_ADDR").then(|| "10.1.2.3".to_owned())),
        ..Options::default()
    }
}

pub async fn listen() -> (TcpListener, Origin) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let address = listener.local_addr().expect("address");
    let origin = Origin::parse(&address.to_string()).expect("origin");
    (listener, origin)
}

pub async fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().await.expect("accept");
    stream
}

/// Upgrades a connection, and returns what the client asked for.
pub async fn upgrade<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
) -> (WebSocketStream<S>, Request) {
    let mut asked = None;
    let socket = tokio_tungstenite::accept_hdr_async(
        stream,
        #[allow(clippy::result_large_err)]
        |request: &Request, response: Response| {
            asked = Some(request.clone());
            Ok(response)
        },
    )
    .await
    .expect("upgrade");
    (socket, asked.expect("a request"))
}

pub async fn subscriber(listener: &TcpListener) -> WebSocketStream<TcpStream> {
    upgrade(accept(listener).await).await.0
}

pub async fn push<S: AsyncRead + AsyncWrite + Unpin>(socket: &mut WebSocketStream<S>, text: &str) {
    socket.send(Message::text(text)).await.expect("push");
}

/// Answers pings as the recorded server does, until the client goes away.
pub async fn keep_alive<S: AsyncRead + AsyncWrite + Unpin>(mut socket: WebSocketStream<S>) {
    while let Some(Ok(_)) = socket.next().await {}
}

/// The head of an HTTP request.
pub async fn read_head<S: AsyncRead + Unpin>(stream: &mut S) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("head"));
    }
    String::from_utf8(head).expect("text")
}

pub async fn answer<S: AsyncWrite + Unpin>(stream: &mut S, status: &str, body: &str) {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.expect("answer");
}

pub async fn next(updates: &mut Receiver<Update>) -> Update {
    tokio::time::timeout(Duration::from_secs(120), updates.recv())
        .await
        .expect("an update in time")
        .expect("an open watch")
}

/// Nothing comes within this time.
pub async fn nothing_for(updates: &mut Receiver<Update>, time: Duration) {
    if let Ok(update) = tokio::time::timeout(time, updates.recv()).await {
        panic!("unexpected: {update:?}");
    }
}
