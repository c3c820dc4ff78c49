//! A discovery service under test, clients that speak to it by hand, and the recordings it is held against.

#![allow(dead_code)] // Every test file uses its own part of this.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use stunner_cds::ConfigId;
use stunner_cds::server::{ConfigStore, ConfigText, RunningServer, Server, ServerOptions};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn id(text: &str) -> ConfigId {
    ConfigId::parse(text).expect("an id")
}

pub fn fixture(name: &str) -> String {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A configuration of a given size or number.
pub fn config(id: &str, note: &str) -> ConfigText {
    ConfigText::from(&serde_json::json!({ "version": "v1", "admin": { "name": id }, "note": note }))
}

/// A recorded configuration under the id it carries.
pub fn recorded(text: &str) -> (ConfigId, ConfigText) {
    let value: Value = serde_json::from_str(text).expect("JSON");
    let config = ConfigText::from(&value);
    assert_eq!(config.as_str(), text, "written as it was recorded");
    (id(&name_of(text)), config)
}

pub fn name_of(text: &str) -> String {
    let value: Value = serde_json::from_str(text).expect("JSON");
    let name = value["admin"]["name"].as_str().expect("a name");
    name.to_owned()
}

pub fn serve(store: &ConfigStore) -> (RunningServer, SocketAddr) {
    serve_with(store, ServerOptions::default())
}

pub fn serve_with(store: &ConfigStore, options: ServerOptions) -> (RunningServer, SocketAddr) {
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let bound = Server::bind(&loopback.into()).expect("a free port");
    let address = bound.local_addr().expect("an address");
    let running = bound.serve(store.clone(), options).expect("a server");
    (running, address)
}

/// An answer as it came.
#[derive(Debug)]
pub struct Answer {
    pub status: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn code(&self) -> u16 {
        let code = self.status.split(' ').nth(1).expect("a code");
        code.parse().expect("a number")
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

/// Sends the lines of a request and reads the answer to it.
pub async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, lines: &[&str]) -> Answer {
    let request = lines.join("\r\n") + "\r\n\r\n";
    stream
        .write_all(request.as_bytes())
        .await
        .expect("the request goes out");
    read_answer(stream, lines[0].starts_with("HEAD")).await
}

/// Reads one answer; that to HEAD has no body whatever its head says.
pub async fn read_answer<S: AsyncRead + Unpin>(stream: &mut S, without_body: bool) -> Answer {
    let head = async {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a head"));
        }
        String::from_utf8(head).expect("text")
    };
    let head = tokio::time::timeout(PATIENCE, head)
        .await
        .expect("an answer in time");
    let mut lines_in = head.trim_end().split("\r\n");
    let status = lines_in.next().expect("a status line").to_owned();
    let headers = lines_in
        .map(|line| line.split_once(": ").expect("a header"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut answer = Answer {
        status,
        headers,
        body: String::new(),
    };
    let length = match without_body {
        true => 0,
        false => answer
            .header("content-length")
            .map_or(0, |length| length.parse().expect("a length")),
    };
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("the body");
    answer.body = String::from_utf8(body).expect("text");
    answer
}

pub async fn get(address: SocketAddr, target: &str) -> Answer {
    get_with(address, target, &[]).await
}

pub async fn get_with(address: SocketAddr, target: &str, headers: &[&str]) -> Answer {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let (line, host) = (format!("GET {target} HTTP/1.1"), format!("Host: {address}"));
    let mut lines = vec![line.as_str(), host.as_str(), "Connection: close"];
    lines.extend(headers);
    exchange(&mut stream, &lines).await
}

/// A frame with its header as the recordings write it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    pub header: String,
    pub payload: String,
}

/// A client of a watch that sees every byte.
pub struct Watcher<S> {
    pub stream: S,
    pub answer: Answer,
}

impl Watcher<TcpStream> {
    pub async fn open(address: SocketAddr, target: &str) -> Watcher<TcpStream> {
        let stream = TcpStream::connect(address).await.expect("a connection");
        Watcher::upgrade(stream, target, &[]).await
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Watcher<S> {
    /// Upgrades a connection; whether it was, the answer says.
    pub async fn upgrade(mut stream: S, target: &str, headers: &[&str]) -> Watcher<S> {
        let line = format!("GET {target} HTTP/1.1");
        let mut lines = vec![
            line.as_str(),
            "Host: 127.0.0.1:13478",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: Zml4dHVyZS1rZXktMDAwMA==",
            "Sec-WebSocket-Version: 13",
        ];
        lines.extend(headers);
        let answer = exchange(&mut stream, &lines).await;
        Watcher { stream, answer }
    }

    /// For a request that was sent already.
    pub async fn answered(mut stream: S) -> Watcher<S> {
        let answer = read_answer(&mut stream, false).await;
        Watcher { stream, answer }
    }

    /// Everything until the end of the connection.
    pub async fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        tokio::time::timeout(PATIENCE, self.stream.read_to_end(&mut bytes))
            .await
            .expect("an end in time")
            .expect("an end");
        bytes
    }

    /// The next frame, or `None` at the end of the connection.
    pub async fn frame(&mut self) -> Option<Frame> {
        tokio::time::timeout(PATIENCE, self.read_frame())
            .await
            .expect("a frame in time")
    }

    async fn read_frame(&mut self) -> Option<Frame> {
        let mut header = vec![0; 2];
        self.stream.read_exact(&mut header).await.ok()?;
        let more = match header[1] & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mut length = vec![0; more];
        self.stream.read_exact(&mut length).await.ok()?;
        let size = match more {
            0 => u64::from(header[1] & 0x7f),
            _ => length
                .iter()
                .fold(0, |size, byte| size << 8 | u64::from(*byte)),
        };
        header.extend(length);
        let mut payload = vec![0; usize::try_from(size).expect("a size")];
        self.stream.read_exact(&mut payload).await.ok()?;
        let hex: Vec<_> = header.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Frame {
            header: hex.join(" "),
            payload: String::from_utf8(payload).expect("text"),
        })
    }

    pub async fn payload(&mut self) -> String {
        self.frame().await.expect("a frame").payload
    }

    /// Sends a frame as clients must, masked.
    pub async fn send(&mut self, opcode: u8, payload: &[u8]) {
        let length = u8::try_from(payload.len()).expect("short");
        let mask = [1, 2, 3, 4];
        let mut frame = vec![0x80 | opcode, 0x80 | length];
        frame.extend(mask);
        let masked = payload.iter().zip(mask.iter().cycle());
        frame.extend(masked.map(|(byte, mask)| byte ^ mask));
        self.stream.write_all(&frame).await.expect("sent");
    }

    /// Fails if anything but the pong to this ping comes.
    pub async fn expect_silence(&mut self) {
        self.send(0x9, b"").await;
        let frame = self.frame().await.expect("a pong");
        assert_eq!((frame.header.as_str(), frame.payload.as_str()), PONG);
    }
}

pub const PONG: (&str, &str) = ("8a 09", "keepalive");

/// Waits for something that becomes true by itself.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !condition() {
        assert!(tokio::time::Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
