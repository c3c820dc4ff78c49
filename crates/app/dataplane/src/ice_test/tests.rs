use serde_json::{Value, json};

use super::*;

fn config_value() -> Value {
    let listener = |name: &str, protocol: &str, port: u16| json!({ "name": name, "protocol": protocol, "address": "127.0.0.1", "port": port, "routes": [] });
    json!({
        "version": "v1",
        "admin": { "name": "ns/gw" },
        "auth": {
            "type": "static", "realm": "test", "credentials": { "username": "user", "password": "pass" },
        },
        "listeners": [listener("ns/gw/udp", "turn-udp", 3478), listener("ns/gw/tcp", "turn-tcp", 3478)],
        "clusters": [],
    })
}

fn parse(value: &Value) -> Config {
    let parsed = stunner_config::parse(&value.to_string(), &|_| None);
    parsed.expect("a config").config
}

/// Tests whose controller is always there; the last visitors it was told of.
fn tests() -> (Arc<IceTests>, Arc<Mutex<Vec<Visitor>>>) {
    let (tests, mut changes) = IceTests::new();
    let known: Arc<Mutex<Vec<Visitor>>> = Arc::default();
    let told = Arc::clone(&known);
    tokio::spawn(async move {
        while let Some(Visitors { all, done }) = changes.recv().await {
            *told.lock().expect("visitors") = all;
            let _ = done.send(());
        }
    });
    (tests, known)
}

fn count(known: &Mutex<Vec<Visitor>>) -> usize {
    known.lock().expect("visitors").len()
}

#[tokio::test]
async fn a_test_is_a_guest_for_a_minute_with_a_socket_of_its_own() {
    let (tests, known) = tests();
    let before = unix_seconds();
    let test = tests
        .start(&parse(&config_value()), "ns/gw/udp", TestClient::Browser)
        .await;
    let test = test.expect("a test");
    assert_eq!(test.listener, "ns/gw/udp");
    assert_eq!(test.expires_in_seconds, 60);
    assert_eq!(test.ice_servers.len(), 1, "this listener only");
    let server = &test.ice_servers[0];
    assert_eq!(server.urls, ["turn:127.0.0.1:3478?transport=udp"]);
    let (expiry, name) = server.username.split_once(':').expect("a time");
    let expiry: u64 = expiry.parse().expect("a time");
    assert!((before + 60..=unix_seconds() + 60).contains(&expiry));
    assert!(name.starts_with("ice-test-"), "{name}");
    assert!(server.credential.len() >= 32);

    let visitor = known.lock().expect("visitors")[0].clone();
    assert_eq!(*visitor.username, *server.username);
    assert_eq!(*visitor.password, *server.credential);
    assert_eq!((visitor.peer, visitor.expires), (test.peer, expiry));
    assert!(std::net::UdpSocket::bind(test.peer).is_err(), "taken");

    assert!(tests.end(&test.id).await);
    assert_eq!(count(&known), 0);
    assert!(std::net::UdpSocket::bind(test.peer).is_ok(), "given back");
    assert!(!tests.end(&test.id).await);
}

#[tokio::test]
async fn credentials_are_never_the_same_and_do_not_show() {
    let (tests, known) = tests();
    let config = parse(&config_value());
    let first = tests
        .start(&config, "ns/gw/udp", TestClient::Browser)
        .await
        .expect("a test");
    let second = tests
        .start(&config, "ns/gw/udp", TestClient::Browser)
        .await
        .expect("a test");
    assert_ne!(first.id, second.id);
    let (a, b) = (&first.ice_servers[0], &second.ice_servers[0]);
    assert_ne!(a.username, b.username);
    assert_ne!(a.credential, b.credential);
    let shown = format!("{first:?} {tests:?} {known:?}");
    assert!(!shown.contains(&a.credential), "{shown}");
}

#[tokio::test]
async fn a_listener_that_no_browser_can_test_is_refused_with_a_hint() {
    let (tests, known) = tests();
    let refused = async |config: &Value, listener: &str| {
        let started = tests
            .start(&parse(config), listener, TestClient::Browser)
            .await;
        let error = started.expect_err("no test");
        (error.to_string(), error.hint())
    };
    let config = config_value();
    let (error, hint) = refused(&config, "ns/gw/none").await;
    assert!(error.contains("`ns/gw/none`"), "{error}");
    assert_eq!(hint, "there are: ns/gw/tcp, ns/gw/udp");

    let mut none = config_value();
    none["auth"] = json!({ "type": "none", "realm": "test" });
    let (error, hint) = refused(&none, "ns/gw/udp").await;
    assert!(error.contains("STUN only"), "{error}");
    assert!(hint.contains("none"), "{hint}");
    assert_eq!(count(&known), 0);
}

#[test]
fn dtls_is_not_for_browsers() {
    let mut config = parse(&config_value());
    config.listeners[0].protocol = Protocol::TurnDtls;
    let name = config.listeners[0].name.clone();
    let error = testable(&config, &name, TestClient::Browser).expect_err("no test");
    assert!(matches!(error, IceTestError::Dtls(_)), "{error}");
    assert!(testable(&config, &name, TestClient::Native).is_ok());
    assert!(error.hint().contains("TLS"), "{}", error.hint());
}

#[tokio::test]
async fn the_seventeenth_test_is_refused_until_one_ends() {
    let (tests, known) = tests();
    let config = parse(&config_value());
    let mut ids = Vec::new();
    for _ in 0..MAX_TESTS {
        ids.push(
            tests
                .start(&config, "ns/gw/udp", TestClient::Browser)
                .await
                .expect("a test")
                .id,
        );
    }
    let error = tests
        .start(&config, "ns/gw/udp", TestClient::Browser)
        .await
        .expect_err("full");
    assert!(matches!(error, IceTestError::TooMany), "{error}");
    assert_eq!(count(&known), MAX_TESTS);
    assert!(tests.end(&ids[0]).await);
    tests
        .start(&config, "ns/gw/tcp", TestClient::Browser)
        .await
        .expect("room");
}

#[tokio::test(start_paused = true)]
async fn a_test_that_gets_no_offer_ends_with_its_credential() {
    let (tests, known) = tests();
    let test = tests
        .start(&parse(&config_value()), "ns/gw/udp", TestClient::Browser)
        .await;
    let test = test.expect("a test");
    tokio::time::sleep(CREDENTIAL_LIFETIME - Duration::from_millis(1)).await;
    assert_eq!(count(&known), 1);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(count(&known), 0);
    assert!(!tests.end(&test.id).await);
}

#[tokio::test]
async fn an_offer_that_is_none_can_be_made_good() {
    let (tests, _) = tests();
    let test = tests
        .start(&parse(&config_value()), "ns/gw/udp", TestClient::Browser)
        .await;
    let test = test.expect("a test");
    let error = tests.answer(&test.id, "nonsense").expect_err("no offer");
    assert!(matches!(error, IceTestError::Offer(_)), "{error}");
    let error = tests.answer("another", "nonsense").expect_err("no test");
    assert!(matches!(error, IceTestError::UnknownTest(_)), "{error}");
    tests.answer(&test.id, OFFER).expect("an answer");
    let error = tests.answer(&test.id, OFFER).expect_err("once");
    assert!(matches!(error, IceTestError::Answered), "{error}");
}

#[tokio::test]
async fn without_a_controller_there_is_no_test() {
    let (tests, changes) = IceTests::new();
    drop(changes);
    let started = tests
        .start(&parse(&config_value()), "ns/gw/udp", TestClient::Browser)
        .await;
    let error = started.expect_err("no test");
    assert!(matches!(error, IceTestError::Stopped), "{error}");
}

#[tokio::test]
async fn tests_end_with_their_dataplane() {
    let (tests, _) = tests();
    let test = tests
        .start(&parse(&config_value()), "ns/gw/udp", TestClient::Browser)
        .await;
    let test = test.expect("a test");
    tests.answer(&test.id, OFFER).expect("an answer");
    drop(tests);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while std::net::UdpSocket::bind(test.peer).is_err() {
        assert!(tokio::time::Instant::now() < deadline, "the socket stays");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

const OFFER: &str = "v=0\r\no=- 4858251974351650128 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n\
    a=group:BUNDLE 0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n\
    a=ice-ufrag:4ZcD\r\na=ice-pwd:2/1muCWoOi3uLifh0NuRHlpE\r\na=ice-options:trickle\r\n\
    a=fingerprint:sha-256 39:4A:09:1E:0E:33:32:85:51:03:49:95:54:0B:41:09:A2:10:60:CC:39:8F:C0:C4:45:FC:37:3A:55:EA:11:CC\r\n\
    a=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n";
