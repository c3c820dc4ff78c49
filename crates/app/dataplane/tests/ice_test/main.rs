//! An ICE test from end to end, as a browser does it: the admin API of a dataplane on loopback, TURN with the credential
//! of the test, and a data channel to the echo peer through the relay.

mod browser;
mod gateway;

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use stunner_turn::client::Event;

use browser::Browser;
use gateway::{Gateway, until};

/// Bound to 127.0.0.1 and admitted by the listener's route.
async fn admitted_peer() -> (tokio::net::UdpSocket, SocketAddr) {
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

async fn start(gateway: &Gateway) -> (String, Browser, SocketAddr) {
    let (status, test) = gateway
        .post(
            "/api/v1/ice-tests",
            &json!({ "listener": gateway.listener }),
        )
        .await;
    assert_eq!(status, 201, "{test}");
    let peer = test["peer"].as_str().unwrap().parse().unwrap();
    let server = &test["iceServers"][0];
    let browser = Browser::with(server, gateway.turn).await;
    (test["id"].as_str().unwrap().to_owned(), browser, peer)
}

async fn answer(gateway: &Gateway, id: &str, offer: &str) -> Value {
    let path = format!("/api/v1/ice-tests/{id}/offer");
    let (status, answer) = gateway.post(&path, &json!({ "sdp": offer })).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

fn candidates(sdp: &str) -> Vec<&str> {
    let lines = sdp.lines();
    lines
        .filter(|line| line.starts_with("a=candidate:"))
        .collect()
}

fn code(event: &Event) -> u16 {
    match event {
        Event::Error { code, .. } => *code,
        _ => 0,
    }
}

#[tokio::test]
async fn messages_come_back_through_the_relay() {
    for address in ["127.0.0.1", "0.0.0.0"] {
        let gateway = Gateway::start(address, "static").await;
        let (id, mut browser, peer) = start(&gateway).await;
        let allocated = browser.allocate().await;
        assert!(matches!(allocated, Event::Allocated(_)), "{allocated:?}");
        assert!(matches!(
            browser.bind_channel(peer).await,
            Event::ChannelBound { .. }
        ));
        let offer = browser.offer();
        let answer = answer(&gateway, &id, &offer).await;
        let sdp = answer["sdp"].as_str().unwrap();
        let only = candidates(sdp);
        assert_eq!(only.len(), 1, "{sdp}");
        let expected = format!(" {} {} typ host", peer.ip(), peer.port());
        assert!(only[0].contains(&expected), "{sdp}");

        browser.accept(sdp);
        browser.open().await;
        for message in [b"ping".as_slice(), &[7; 20_000]] {
            assert_eq!(browser.echo(message).await, message);
        }
        let path = format!("/api/v1/ice-tests/{id}");
        assert_eq!(gateway.delete(&path).await.0, 200);
        assert_eq!(gateway.delete(&path).await.0, 404);
        gateway.stop().await;
    }
}

#[tokio::test]
async fn the_credential_reaches_the_echo_peer_and_nothing_that_is_routed() {
    for auth in ["static", "ephemeral"] {
        let gateway = Gateway::start("127.0.0.1", auth).await;
        let (_, mut browser, peer) = start(&gateway).await;
        assert!(matches!(browser.allocate().await, Event::Allocated(_)));
        let (_socket, other) = admitted_peer().await;
        assert_eq!(code(&browser.bind_channel(other).await), 403);
        assert!(matches!(
            browser.bind_channel(peer).await,
            Event::ChannelBound { .. }
        ));

        let mut user = Browser::of_user(auth, gateway.turn).await;
        assert!(matches!(user.allocate().await, Event::Allocated(_)));
        assert!(matches!(
            user.bind_channel(other).await,
            Event::ChannelBound { .. }
        ));
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_listener_without_routes_can_be_tested_and_admits_nobody_else() {
    let gateway = Gateway::without_routes().await;
    let (id, mut browser, peer) = start(&gateway).await;
    assert!(matches!(browser.allocate().await, Event::Allocated(_)));
    assert!(matches!(
        browser.bind_channel(peer).await,
        Event::ChannelBound { .. }
    ));
    let mut user = Browser::of_user("static", gateway.turn).await;
    assert!(matches!(user.allocate().await, Event::Allocated(_)));
    assert_eq!(code(&user.bind_channel(peer).await), 403);

    // A test that is over takes its credential along.
    gateway.delete(&format!("/api/v1/ice-tests/{id}")).await;
    assert_eq!(code(&browser.bind_channel(peer).await), 403);
    let mut again = browser.again(gateway.turn).await;
    assert_eq!(code(&again.allocate().await), 401);
    gateway.stop().await;
}

#[tokio::test]
async fn a_test_ends_when_the_browser_closes_its_connection() {
    let gateway = Gateway::start("127.0.0.1", "static").await;
    let (id, mut browser, peer) = start(&gateway).await;
    browser.allocate().await;
    browser.bind_channel(peer).await;
    let offer = browser.offer();
    let answer = answer(&gateway, &id, &offer).await;
    browser.accept(answer["sdp"].as_str().unwrap());
    browser.open().await;
    assert_eq!(browser.echo(b"hello").await, b"hello");
    browser.close().await;
    until("the end of the test", async || {
        tokio::time::sleep(Duration::from_millis(20)).await;
        std::net::UdpSocket::bind(peer).is_ok()
    })
    .await;
    let path = format!("/api/v1/ice-tests/{id}");
    assert_eq!(gateway.delete(&path).await.0, 404);
    gateway.stop().await;
}

#[tokio::test]
async fn the_password_shows_nowhere_but_in_the_answer() {
    let gateway = Gateway::start("127.0.0.1", "static").await;
    let (_, mut browser, _) = start(&gateway).await;
    browser.allocate().await;
    let (_socket, other) = admitted_peer().await;
    browser.bind_channel(other).await;
    let mut shown = String::new();
    for path in ["/", "/api/v1/sessions", "/api/v1/denials"] {
        shown += &gateway.get(path).await;
    }
    shown += &format!(
        "{:?} {}",
        gateway.instance,
        gateway.instance.dataplane().status()
    );
    assert!(shown.contains("ice-test-"), "{shown}");
    assert!(!shown.contains(&browser.password), "{shown}");
    gateway.stop().await;
}

#[tokio::test]
async fn a_gateway_that_drains_takes_no_tests() {
    let gateway = Gateway::start("127.0.0.1", "static").await;
    gateway.instance.start_draining().await;
    let body = json!({ "listener": gateway.listener });
    let (status, answer) = gateway.post("/api/v1/ice-tests", &body).await;
    assert_eq!(status, 503, "{answer}");
    assert!(answer["hint"].is_string(), "{answer}");
    gateway.stop().await;
}
