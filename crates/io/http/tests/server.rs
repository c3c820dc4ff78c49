//! Servers on real sockets.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::Response;
use axum::routing::{get, post};
use futures_util::{StreamExt, stream};
use stunner_http::{BindAddress, HttpServer, Limits, Running, Serving};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn router() -> Router {
    let endless = || {
        let first = stream::once(async { Ok::<_, Infallible>("first\n") });
        Response::new(Body::from_stream(first.chain(stream::pending())))
    };
    Router::new()
        .route("/live", get(async || "alive"))
        .route("/endless", get(async move || endless()))
        .route(
            "/who",
            get(async |ConnectInfo(peer): ConnectInfo<SocketAddr>| peer.to_string()),
        )
        .route("/post", post(async |body: String| body))
        .route("/large", get(async || vec![b'x'; 16 << 20]))
}

fn loopback() -> BindAddress {
    BindAddress::Socket(SocketAddr::from(([127, 0, 0, 1], 0)))
}

fn start_with(serving: Serving) -> (Running, SocketAddr) {
    let bound = HttpServer::bind(&loopback()).expect("a free port");
    let address = bound.local_addr().expect("an address");
    let running = bound.serve_with(router(), serving).expect("a server");
    (running, address)
}

fn start() -> (Running, SocketAddr) {
    start_with(Serving::default())
}

async fn ask(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream
        .write_all(head.as_bytes())
        .await
        .expect("the request goes out");
    stream
}

async fn fetch(address: SocketAddr, path: &str) -> String {
    let mut answer = String::new();
    ask(address, path)
        .await
        .read_to_string(&mut answer)
        .await
        .expect("an answer");
    answer
}

async fn is_alive(address: SocketAddr) -> bool {
    fetch(address, "/live")
        .await
        .starts_with("HTTP/1.1 200 OK\r\n")
}

#[tokio::test]
async fn a_stopped_server_leaves_its_port_free() {
    for _ in 0..20 {
        let (server, address) = start();
        assert!(is_alive(address).await);
        server.stop().await;
        let again = HttpServer::bind(&address.into())
            .expect("the port is free")
            .serve(router())
            .expect("a server");
        assert!(is_alive(address).await);
        again.stop().await;
    }
}

#[tokio::test]
async fn a_taken_port_is_an_error_of_the_binding() {
    let (_server, address) = start();
    let error = HttpServer::bind(&address.into()).expect_err("the port is taken");
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
}

#[tokio::test]
async fn a_replacement_binds_an_overlapping_address_while_the_old_server_runs() {
    let (old, address) = start();
    let wider = BindAddress::Any {
        port: address.port(),
    };
    let replacement = HttpServer::bind_in_place_of(&wider, &[&old]).expect("a replacement");
    let same = HttpServer::bind_in_place_of(&address.into(), &[&old])
        .expect("a replacement of the very same address");
    // Turning back is possible, and nobody else gets in.
    drop(same);
    assert!(is_alive(address).await);
    let taken = |at: &BindAddress| HttpServer::bind(at).expect_err("still taken").kind();
    assert_eq!(taken(&address.into()), ErrorKind::AddrInUse);

    let other = Router::new().route("/", get(async || "the new one"));
    let new = replacement.serve(other).expect("a server");
    old.stop().await;
    assert!(fetch(address, "/").await.ends_with("the new one"));
    assert_eq!(taken(&wider), ErrorKind::AddrInUse);
    new.stop().await;
}

#[tokio::test]
async fn only_a_server_that_leaves_gives_up_its_port() {
    let (stays, taken) = start();
    let (leaves, free) = start();
    let error = HttpServer::bind_in_place_of(&taken.into(), &[&leaves]).expect_err("taken");
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    // Also where the kernel remembers that the port was shared once.
    drop(HttpServer::bind_in_place_of(&taken.into(), &[&stays]).expect("a replacement"));
    let error = HttpServer::bind_in_place_of(&taken.into(), &[&leaves]).expect_err("taken");
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    // Two servers that exchange their ports.
    let both = [&stays, &leaves];
    let one = HttpServer::bind_in_place_of(&taken.into(), &both).expect("a port");
    let other = HttpServer::bind_in_place_of(&free.into(), &both).expect("a port");
    assert_eq!(one.local_addr().expect("address"), taken);
    assert_eq!(other.local_addr().expect("address"), free);
}

#[tokio::test]
async fn an_empty_host_means_both_families() {
    let bound = HttpServer::bind(&":0".parse().expect("an address")).expect("a free port");
    let port = bound.local_addr().expect("an address").port();
    let _server = bound.serve(router()).expect("a server");
    assert!(is_alive(([127, 0, 0, 1], port).into()).await);
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        assert!(is_alive(format!("[::1]:{port}").parse().expect("an address")).await);
    }
}

#[tokio::test]
async fn a_name_is_resolved() {
    let name: BindAddress = "localhost:0".parse().expect("an address");
    let bound = HttpServer::bind(&name).expect("localhost");
    assert!(bound.local_addr().expect("an address").ip().is_loopback());
    let unknown: BindAddress = "no-such-name.invalid:0".parse().expect("an address");
    assert!(HttpServer::bind(&unknown).is_err());
}

#[tokio::test]
async fn stopping_ends_streams_and_idle_connections() {
    let (server, address) = start();
    let mut idle = TcpStream::connect(address).await.expect("a connection");
    let mut stream = ask(address, "/endless").await;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.expect("a status line");

    let start = Instant::now();
    server.stop().await;
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "took {:?}",
        start.elapsed()
    );
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.expect("a proper end");
    assert!(rest.ends_with(b"0\r\n\r\n"), "{rest:?}");
    assert_eq!(idle.read_to_end(&mut rest).await.expect("an end"), 0);
}

/// Limits that make a client that does not move obvious soon.
fn impatient() -> Serving {
    let limits = Limits {
        head_timeout: Duration::from_millis(100),
        write_timeout: Duration::from_millis(300),
        ..Limits::default()
    };
    Serving {
        limits,
        ..Serving::default()
    }
}

#[tokio::test]
async fn a_client_that_says_nothing_is_closed() {
    let (_server, address) = start_with(impatient());
    let mut silent = TcpStream::connect(address).await.expect("a connection");
    let mut slow = TcpStream::connect(address).await.expect("a connection");
    slow.write_all(b"GET /live HTTP/1.1\r\nHos")
        .await
        .expect("half a request");
    let mut bytes = Vec::new();
    let closed = async {
        let _ = silent.read_to_end(&mut bytes).await;
        let _ = slow.read_to_end(&mut bytes).await;
    };
    tokio::time::timeout(Duration::from_secs(5), closed)
        .await
        .expect("both are closed");
}

#[tokio::test]
async fn a_client_that_promises_a_body_and_sends_none_is_closed() {
    let (_server, address) = start_with(impatient());
    for promise in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let head = format!("POST /post HTTP/1.1\r\nHost: {address}\r\n{promise}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("a head");
        let mut answer = String::new();
        let closed = stream.read_to_string(&mut answer);
        let closed = tokio::time::timeout(Duration::from_secs(10), closed).await;
        closed.expect("closed in time").expect("an orderly end");
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
}

#[tokio::test]
async fn a_body_may_come_in_pieces() {
    let (_server, address) = start();
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head =
        "POST /post HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 4\r\n\r\n";
    for piece in [head, "ab", "cd"] {
        stream.write_all(piece.as_bytes()).await.expect("a piece");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.ends_with("\r\n\r\nabcd"), "{answer}");
}

#[tokio::test]
async fn a_client_that_takes_no_answer_is_closed() {
    let mut serving = impatient();
    serving.limits.connections = 1;
    let (_server, address) = start_with(serving);
    let greedy = ask(address, "/large").await;
    // There is room for one connection: the next is served only when the first was given up.
    let served = tokio::time::timeout(Duration::from_secs(10), is_alive(address));
    assert!(served.await.expect("room again"));
    drop(greedy);
}

#[tokio::test]
async fn garbage_harms_nobody_else() {
    let (_server, address) = start();
    let mut garbage = TcpStream::connect(address).await.expect("a connection");
    garbage
        .write_all(&[0x16, 3, 1, 0, 0xff, 0, 0xfe, b'\r', b'\n', b'\r', b'\n'])
        .await
        .expect("garbage goes out");
    let mut answer = Vec::new();
    let _ = garbage.read_to_end(&mut answer).await;
    assert!(is_alive(address).await);
}

#[tokio::test]
async fn header_names_are_capitalised_on_request() {
    let (_plain, plain) = start();
    assert!(
        fetch(plain, "/live")
            .await
            .contains("\r\ncontent-length: 5\r\n")
    );
    let (_capital, capital) = start_with(Serving {
        title_case_headers: true,
        ..Serving::default()
    });
    assert!(
        fetch(capital, "/live")
            .await
            .contains("\r\nContent-Length: 5\r\n")
    );
}

#[tokio::test]
async fn handlers_know_who_asks() {
    let (_server, address) = start();
    let mut stream = ask(address, "/who").await;
    let mut answer = String::new();
    let own = stream.local_addr().expect("an address");
    stream.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.ends_with(&own.to_string()), "{answer}");
}
