//! The dataplane's own demands on the HTTP servers; the servers themselves are tested in their crate.

use super::*;

#[tokio::test]
async fn stopping_ends_event_streams_and_idle_connections() {
    let (server, address) = start(admin_router(Arc::new(Plane::default())));
    let mut idle = TcpStream::connect(address).await.expect("a connection");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let ask = format!("GET /api/v1/events HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream
        .write_all(ask.as_bytes())
        .await
        .expect("the request goes out");
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.expect("a status line");

    // Streams that do not end by themselves are cut off after a while, without the chunk that is the last.
    server.stop().await;
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.expect("a proper end");
    assert!(
        rest.ends_with(b"0\r\n\r\n"),
        "{}",
        String::from_utf8_lossy(&rest)
    );
    assert_eq!(idle.read_to_end(&mut rest).await.expect("an end"), 0);
}

#[test]
fn an_endpoint_without_a_host_listens_everywhere() {
    for (text, bound) in [
        ("http://:8086", ":8086"),
        ("http://127.0.0.1:8086", "127.0.0.1:8086"),
        ("http://localhost:8086", "localhost:8086"),
    ] {
        let endpoint = HttpEndpoint::parse(text, 8086).expect("an endpoint");
        assert_eq!(bind_address(&endpoint).to_string(), bound);
    }
}
