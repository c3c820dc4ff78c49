use std::io::ErrorKind;
use std::time::{Duration, Instant};

use super::super::server::Limits;
use super::*;

fn plane() -> Arc<Plane> {
    Arc::new(Plane::default())
}

#[tokio::test]
async fn a_stopped_server_leaves_its_port_free() {
    for _ in 0..20 {
        let (server, address) = start(health_router(plane()));
        assert_eq!(get(address, "/live").await.status, 200);
        server.stop().await;
        let again = HttpServer::bind(&address.into())
            .expect("the port is free")
            .serve(health_router(plane()));
        assert_eq!(get(address, "/ready").await.status, 200);
        again.expect("a server").stop().await;
    }
}

#[tokio::test]
async fn a_taken_port_is_an_error_of_the_binding() {
    let (_server, address) = start(health_router(plane()));
    let error = HttpServer::bind(&address.into()).expect_err("the port is taken");
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
}

#[tokio::test]
async fn a_replacement_binds_an_overlapping_address_while_the_old_server_runs() {
    let (old, address) = start(health_router(plane()));
    let wider = BindAddress::Any {
        port: address.port(),
    };
    let replacement = HttpServer::bind_in_place_of(&wider, &[&old]).expect("a replacement");
    let same = HttpServer::bind_in_place_of(&address.into(), &[&old])
        .expect("a replacement of the very same address");
    // Turning back is possible, and nobody else gets in.
    drop(same);
    assert_eq!(get(address, "/live").await.status, 200);
    assert_eq!(
        HttpServer::bind(&address.into())
            .expect_err("still taken")
            .kind(),
        ErrorKind::AddrInUse
    );

    let new = replacement
        .serve(metrics_router("/", plane()))
        .expect("a server");
    old.stop().await;
    assert_eq!(get(address, "/").await.body, "stunner_shards 2\n");
    assert_eq!(
        HttpServer::bind(&wider).expect_err("still taken").kind(),
        ErrorKind::AddrInUse
    );
    new.stop().await;
}

#[tokio::test]
async fn an_empty_host_means_both_families() {
    let bound = HttpServer::bind(&BindAddress::Any { port: 0 }).expect("a free port");
    let port = bound.local_addr().expect("an address").port();
    let _server = bound.serve(health_router(plane())).expect("a server");
    assert_eq!(
        get(([127, 0, 0, 1], port).into(), "/live").await.status,
        200
    );
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        assert_eq!(
            get(
                format!("[::1]:{port}").parse().expect("an address"),
                "/live"
            )
            .await
            .status,
            200
        );
    }
}

#[tokio::test]
async fn a_name_is_resolved() {
    let name = BindAddress::Name {
        host: "localhost".into(),
        port: 0,
    };
    let address = HttpServer::bind(&name)
        .expect("localhost")
        .local_addr()
        .expect("an address");
    assert!(address.ip().is_loopback());
    let unknown = BindAddress::Name {
        host: "no-such-name.invalid".into(),
        port: 0,
    };
    assert!(HttpServer::bind(&unknown).is_err());
}

#[tokio::test]
async fn stopping_ends_event_streams_and_idle_connections() {
    let (server, address) = start(admin_router(plane()));
    let mut idle = TcpStream::connect(address).await.expect("a connection");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let ask = format!("GET /api/v1/events HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream
        .write_all(ask.as_bytes())
        .await
        .expect("the request goes out");
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
    assert!(
        rest.ends_with(b"0\r\n\r\n"),
        "{}",
        String::from_utf8_lossy(&rest)
    );
    assert_eq!(idle.read_to_end(&mut rest).await.expect("an end"), 0);
}

#[tokio::test]
async fn a_client_that_says_nothing_is_closed() {
    let limits = Limits {
        head_timeout: Duration::from_millis(100),
        ..Limits::default()
    };
    let bound = HttpServer::bind(&loopback()).expect("a free port");
    let address = bound.local_addr().expect("an address");
    let _server = bound
        .serve_with(health_router(plane()), limits)
        .expect("a server");
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
async fn garbage_harms_nobody_else() {
    let (_server, address) = start(health_router(plane()));
    let mut garbage = TcpStream::connect(address).await.expect("a connection");
    garbage
        .write_all(&[0x16, 3, 1, 0, 0xff, 0, 0xfe, b'\r', b'\n', b'\r', b'\n'])
        .await
        .expect("garbage goes out");
    let mut answer = Vec::new();
    let _ = garbage.read_to_end(&mut answer).await;
    assert_eq!(get(address, "/live").await.status, 200);
}

#[tokio::test]
async fn only_a_server_that_leaves_gives_up_its_port() {
    let (stays, taken) = start(health_router(plane()));
    let (leaves, free) = start(health_router(plane()));
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

#[test]
fn addresses_of_one_port_overlap_unless_they_are_two_hosts() {
    let at = |text: &str| BindAddress::from(text.parse::<std::net::SocketAddr>().expect("address"));
    let any = BindAddress::Any { port: 80 };
    assert!(any.overlaps(&at("127.0.0.1:80")));
    assert!(at("0.0.0.0:80").overlaps(&at("127.0.0.1:80")));
    assert!(at("127.0.0.1:80").overlaps(&at("127.0.0.1:80")));
    assert!(!at("127.0.0.1:80").overlaps(&at("127.0.0.2:80")));
    assert!(!at("127.0.0.1:80").overlaps(&at("127.0.0.1:81")));
}
