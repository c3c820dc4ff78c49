//! A dataplane with its admin API.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stunner_dataplane::embed::{Host, Instance, Options, admin_router};
use stunner_dataplane::http::{BindAddress, HttpServer, Running};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub struct Gateway {
    pub instance: Instance,
    pub listener: &'static str,
    /// Where TURN is.
    pub turn: SocketAddr,
    admin: Running,
    admin_address: SocketAddr,
}

const LISTENER: &str = "ns/gw/udp";

/// One that nobody has right now, below those that the kernel gives to sockets which do not ask for one.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id() % 40) as u16 * 100;
    let mut ports = (0..4_000).map(|_| {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        10_000 + start.wrapping_add(step) % 4_000
    });
    let is_free = |port: &u16| std::net::UdpSocket::bind(("0.0.0.0", *port)).is_ok();
    ports.find(is_free).expect("a free port")
}

impl Gateway {
    /// A gateway whose one listener reaches every port of 127.0.0.1.
    pub async fn start(address: &str, auth: &str) -> Self {
        Self::with(address, auth, &["ns/route"]).await
    }

    pub async fn without_routes() -> Self {
        Self::with("127.0.0.1", "static", &[]).await
    }

    async fn with(address: &str, auth: &str, routes: &[&str]) -> Self {
        let host = Host::new();
        let instance = Instance::start(Options {
            id: "ns/gw".to_owned(),
            threads: 2,
            host,
            ..Options::default()
        });
        let instance = instance.expect("a dataplane");
        let port = free_port();
        let credentials = match auth {
            "static" => json!({ "username": "user", "password": "pass" }),
            _ => json!({ "secret": "the-secret" }),
        };
        let config = json!({
            "version": "v1",
            "admin": { "name": "ns/gw" },
            "auth": { "type": auth, "realm": "test", "credentials": credentials },
            "listeners": [{
                "name": LISTENER, "protocol": "turn-udp", "address": address, "port": port,
                "routes": routes,
            }],
            "clusters": [
                { "name": "ns/route", "type": "STATIC", "protocol": "UDP", "endpoints": ["127.0.0.1"] },
            ],
        });
        let parsed = stunner_config::parse(&config.to_string(), &|_| None);
        let config = parsed.expect("a config").config;
        instance.apply(config).await.expect("applied");

        let served = instance.clone();
        let router = admin_router(Arc::new(move || vec![served.dataplane()]));
        let loopback = BindAddress::Socket((Ipv4Addr::LOCALHOST, 0).into());
        let bound = HttpServer::bind(&loopback).unwrap();
        let admin_address = bound.local_addr().unwrap();
        Gateway {
            instance,
            listener: LISTENER,
            turn: (Ipv4Addr::LOCALHOST, port).into(),
            admin: bound.serve(router).unwrap(),
            admin_address,
        }
    }

    pub async fn stop(self) {
        self.admin.stop().await;
        self.instance.stop().await;
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, text) = self.ask("POST", path, &body.to_string()).await;
        (status, serde_json::from_str(&text).unwrap())
    }

    pub async fn delete(&self, path: &str) -> (u16, Value) {
        let (status, text) = self.ask("DELETE", path, "").await;
        (status, serde_json::from_str(&text).unwrap())
    }

    pub async fn get(&self, path: &str) -> String {
        self.ask("GET", path, "").await.1
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let address = self.admin_address;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }
}

/// Waits until something holds.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds().await {
        assert!(Instant::now() < deadline, "{what} took too long");
    }
}
