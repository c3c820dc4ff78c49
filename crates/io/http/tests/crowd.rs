//! More clients than a server has places for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use stunner_http::{BindAddress, HttpServer, Limits, Running, Serving};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

const LIVE: &str = "GET /live HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

/// A server whose `/slow` answers once there is a permit.
fn start(connections: usize) -> (Running, SocketAddr, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let behind = Arc::clone(&gate);
    let slow = async move || {
        let _permit = behind.acquire().await;
        "at last"
    };
    let router = Router::new()
        .route("/live", get(async || "alive"))
        .route("/slow", get(slow));
    let bound = HttpServer::bind(&BindAddress::Socket(([127, 0, 0, 1], 0).into())).expect("a port");
    let address = bound.local_addr().expect("an address");
    let limits = Limits {
        connections,
        ..Limits::default()
    };
    let serving = Serving {
        limits,
        ..Serving::default()
    };
    let running = bound.serve_with(router, serving).expect("a server");
    (running, address, gate)
}

async fn send(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(text.as_bytes()).await.expect("sent");
    stream
}

async fn rest(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_string(&mut answer));
    read.await.expect("in time").expect("an answer");
    answer
}

#[tokio::test]
async fn two_thousand_half_requests_keep_nobody_out_and_cut_no_request() {
    let (_server, address, gate) = start(Limits::default().connections);
    let slow = send(
        address,
        "GET /slow HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    )
    .await;
    let mut crowd = Vec::new();
    for _ in 0..2000 {
        crowd.push(send(address, "GET /ice?serv").await);
    }
    let start = Instant::now();
    assert!(rest(send(address, LIVE).await).await.ends_with("alive"));
    let took = start.elapsed();
    assert!(took < Duration::from_secs(1), "took {took:?}");
    gate.add_permits(1);
    assert!(rest(slow).await.ends_with("at last"));
    // The last comers still have their places.
    let mut last = crowd.pop().expect("one");
    let finished = last.write_all(b"ice HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    finished.await.expect("the other half");
    assert!(rest(last).await.starts_with("HTTP/1.1 404 "));
}

#[tokio::test]
async fn an_idle_connection_leaves_for_a_newcomer() {
    let (_server, address, _gate) = start(1);
    let mut idle = send(address, "GET /live HTTP/1.1\r\nHost: h\r\n\r\n").await;
    let mut answer = vec![0; 1024];
    let length = idle.read(&mut answer).await.expect("an answer");
    assert!(answer[..length].ends_with(b"alive"));
    assert!(rest(send(address, LIVE).await).await.ends_with("alive"));
    assert_eq!(idle.read(&mut answer).await.expect("an end"), 0);
}

#[tokio::test]
async fn newcomers_wait_while_a_request_is_under_way_everywhere() {
    let (_server, address, gate) = start(1);
    let slow = send(
        address,
        "GET /slow HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    )
    .await;
    let mut newcomer = send(address, LIVE).await;
    let early = tokio::time::timeout(Duration::from_millis(500), newcomer.readable());
    assert!(early.await.is_err(), "it waits");
    gate.add_permits(1);
    assert!(rest(slow).await.ends_with("at last"));
    let mut answer = String::new();
    let read = newcomer.read_to_string(&mut answer);
    read.await.expect("an answer");
    assert!(answer.ends_with("alive"));
}

/// RFC 9112 §3.2.
#[tokio::test]
async fn a_request_names_one_host() {
    let (_server, address, _gate) = start(8);
    for (head, status) in [
        ("HTTP/1.1\r\n", 400),
        ("HTTP/1.1\r\nHost: a\r\nHost: b\r\n", 400),
        ("HTTP/1.1\r\nHost: a\r\n", 200),
        ("HTTP/1.1\r\nHost:\r\n", 200),
        ("HTTP/1.0\r\n", 200),
    ] {
        let text = format!("GET /live {head}Connection: close\r\n\r\n");
        let answer = rest(send(address, &text).await).await;
        let code = answer.split(' ').nth(1);
        assert_eq!(code, Some(status.to_string().as_str()), "{head:?}");
    }
}
