//! Servers of this process that the tests ask.

// Every test file uses some of it.
#![allow(dead_code)]

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use serde_json::{Value, json};
use stunner_cds::server::{ConfigStore, RunningServer, Server, ServerOptions};
use stunner_cds::{ConfigId, Options, Timing};
use stunner_http::{BindAddress, HttpServer, Running};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

pub fn loopback() -> BindAddress {
    BindAddress::from(SocketAddr::from(([127, 0, 0, 1], 0)))
}

/// Serves routes on a free port.
pub fn serve(router: Router) -> (Running, SocketAddr) {
    let bound = HttpServer::bind(&loopback()).expect("a port");
    let address = bound.local_addr().expect("an address");
    (bound.serve(router).expect("a server"), address)
}

/// A config discovery service.
pub fn discovery(store: &ConfigStore, address: &BindAddress) -> (RunningServer, SocketAddr) {
    let bound = Server::bind(address).expect("a port");
    let address = bound.local_addr().expect("an address");
    let running = bound.serve(store.clone(), ServerOptions::default());
    (running.expect("a service"), address)
}

pub fn id(text: &str) -> ConfigId {
    ConfigId::parse(text).expect("an id")
}

/// The config of a Gateway with one listener.
pub fn config(id: &str, port: u16) -> Value {
    json!({
        "version": "v1",
        "admin": { "name": id, "loglevel": "all:INFO" },
        "auth": { "type": "static", "credentials": { "username": "u", "password": "hunter2" } },
        "listeners": [{
            // Not to be judged: there is no certificate, and the address is the pod's to know.
            "name": format!("{id}/tls"), "protocol": "TURN-TLS", "address": "$STUNNER_ADDR", "port": port,
            "routes": ["stunner/media"],
        }],
        "clusters": [{ "name": "stunner/media", "type": "STATIC", "endpoints": ["10.0.0.0/8"] }],
    })
}

pub fn publish(store: &ConfigStore, name: &str, port: u16) {
    store.publish(id(name), &config(name, port));
}

/// Reconnects at once.
pub fn hasty() -> Options {
    Options {
        timing: Timing {
            backoff_first: Duration::from_millis(20),
            backoff_max: Duration::from_millis(50),
            ..Timing::default()
        },
        ..Options::default()
    }
}

/// Takes one request, answers it with `answer` and tells its head.
pub async fn answer_once(answer: &'static str) -> (SocketAddr, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let byte = stream.read_u8().await.expect("a head");
            head.push(byte);
        }
        stream.write_all(answer.as_bytes()).await.expect("answered");
        String::from_utf8(head).expect("text")
    });
    (address, task)
}
