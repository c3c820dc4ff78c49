//! HTTP over a place: answers, refusals and servers that do not answer.

mod support;

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use serde_json::{Value, json};
use stunner_cluster::{Admin, ClusterError, Explain, Filter, Http, Place};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use support::{answer_once, serve};

fn http(address: impl ToString) -> Http {
    Http::new(Place::direct(&address.to_string(), 1).expect("a place"))
}

#[tokio::test]
async fn refusals_are_told_in_the_servers_own_words() {
    let router = Router::new()
        .route(
            "/ours",
            get(async || {
                let body = json!({ "error": "there is no listener `a`", "hint": "look" });
                (StatusCode::NOT_FOUND, body.to_string())
            }),
        )
        .route(
            "/go",
            get(async || {
                let body = json!({ "code": 404, "message": "Config not found" });
                (StatusCode::NOT_FOUND, body.to_string())
            }),
        )
        .route(
            "/text",
            get(async || (StatusCode::BAD_GATEWAY, "no\n  way\u{7}")),
        )
        .route("/mute", get(async || StatusCode::FORBIDDEN))
        .route("/fine", get(async || "[1, 2]"));
    let (_server, address) = serve(router);
    let http = http(address);
    for (path, code, error, hint) in [
        ("/ours", 404, "there is no listener `a`", Some("look")),
        ("/go", 404, "Config not found", None),
        ("/text", 502, "no way", None),
        ("/mute", 403, "Forbidden", None),
    ] {
        let answer = http.get(path).await.expect("an answer");
        let refused = answer.json::<Value>().expect_err("refused");
        assert_eq!(
            refused.to_string(),
            format!("`http://{address}` answered {code}: {error}")
        );
        assert_eq!(refused.hint().as_deref(), hint);
        assert_eq!(refused.is_not_found(), code == 404);
    }
    let fine = http.get("/fine").await.expect("an answer");
    assert_eq!(fine.json::<Vec<u8>>().expect("numbers"), [1, 2]);
    let odd = http.get("/fine").await.expect("an answer");
    let odd = odd.json::<String>().expect_err("no text");
    assert!(matches!(odd, ClusterError::Malformed { .. }), "{odd}");
}

#[tokio::test]
async fn a_connection_that_died_between_two_questions_is_replaced() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    // Every connection is good for one answer, and closes without saying so.
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut head = [0; 1024];
            let _ = stream.read(&mut head).await;
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                .await;
        }
    });
    let http = http(address);
    for _ in 0..4 {
        let answer = http.get("/").await.expect("an answer");
        assert_eq!(answer.text().expect("text"), "ok");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let silent = http(address).with_patience(Duration::from_millis(50));
    let refused = silent.get("/").await.expect_err("silence");
    assert_eq!(
        refused.to_string(),
        format!("`http://{address}` cannot be reached: no answer within 0.05 s")
    );
    drop(listener);
    let refused = http(address).get("/").await.expect_err("nobody");
    assert!(
        matches!(refused, ClusterError::Unreachable { .. }),
        "{refused}"
    );
    assert!(refused.hint().is_some());
}

#[tokio::test]
async fn a_long_answer_may_take_its_time_while_it_keeps_coming() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let ask = |patience| {
        let http = http(address).with_patience(patience);
        tokio::spawn(async move { http.get("/").await })
    };
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n";

    // Longer than the patience in all, and never nearly that long without a byte.
    let asked = ask(Duration::from_secs(2));
    let (mut stream, _) = listener.accept().await.expect("a connection");
    stream.write_all(head).await.expect("written");
    for _ in 0..25 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stream.write_all(b".").await.expect("written");
    }
    let answer = asked.await.expect("a task").expect("an answer");
    assert_eq!(answer.body.len(), 25);

    let asked = ask(Duration::from_millis(50));
    let (mut stream, _) = listener.accept().await.expect("a connection");
    stream.write_all(head).await.expect("written");
    let stalled = asked.await.expect("a task").expect_err("no more of it");
    assert!(
        stalled.to_string().ends_with("no answer within 0.05 s"),
        "{stalled}"
    );
}

#[tokio::test]
async fn a_path_in_the_address_goes_before_every_path() {
    let (address, asked) = answer_once("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let http = http(format!("http://{address}/behind/")).by("stunnerctl");
    http.get("/ice?service=turn").await.expect("an answer");
    let head = asked.await.expect("a request");
    assert!(
        head.starts_with("GET /behind/ice?service=turn HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(head.contains("user-agent: stunnerctl/"), "{head}");
}

#[test]
fn addresses_are_read_as_people_write_them() {
    for (text, authority) in [
        ("10.0.0.1", "10.0.0.1:8087"),
        ("10.0.0.1:1", "10.0.0.1:1"),
        (":1", "localhost:1"),
        ("fd00::1", "[fd00::1]:8087"),
        ("[fd00::1]:1", "[fd00::1]:1"),
        ("http://localhost:8087", "localhost:8087"),
        (" auth.test:1 ", "auth.test:1"),
    ] {
        let place = Place::direct(text, 8087).expect(text);
        assert_eq!(place.authority(), authority, "{text}");
    }
    assert!(Place::direct("ftp://x", 1).is_err());
    assert!(Place::direct("a:b:c", 1).is_err());
}

/// As a dataplane answers, with something newer in it.
fn dataplane() -> Router {
    let session = json!({
        "id": "0-1", "user": "ann", "listener": "stunner/gw/udp", "client": "192.0.2.1:4000", "transport": "udp",
        "relayed": ["10.0.0.1:5000"], "relay_transport": "udp", "newer": true,
        "peers": [{ "peer": "10.0.0.7", "expires_in_seconds": 5 }, { "peer": "10.0.0.8:1", "channel": 16384, "expires_in_seconds": 6 }],
        "age_seconds": 1, "idle_seconds": 2, "expires_in_seconds": 3,
        "to_peers": { "packets": 4, "bytes": 5 }, "to_client": { "packets": 6, "bytes": 7 },
    });
    let sessions = json!({ "total": 1, "sessions": [session] });
    let denials = json!({ "total": 1, "denials": [{
        "at": "2026-01-01T00:00:00.000Z", "listener": "stunner/gw/udp", "user": "ann", "client": "192.0.2.1:4000",
        "peer": "10.0.0.7:0", "transport": "udp", "reason": "no_route", "nearest": "media/media 10.0.0.0/30",
    }] });
    let asked = |body: Value| {
        get(async move |uri: axum::http::Uri| {
            // What was asked is told in the answer's place where it is not as expected.
            let query = uri.query().unwrap_or_default();
            match query {
                "" | "user=a%26b&listener=stunner%2Fgw%2Fudp&client=192.0.2.1&limit=5" => {
                    (StatusCode::OK, body.to_string())
                }
                other => (StatusCode::BAD_REQUEST, other.to_owned()),
            }
        })
    };
    Router::new()
        .route("/api/v1/sessions", asked(sessions))
        .route("/api/v1/denials", asked(denials))
        .route(
            "/api/v1/sessions/{id}",
            delete(async |path: axum::extract::Path<String>| match path.as_str() {
                "0-1" => (StatusCode::OK, json!({ "ended": true }).to_string()),
                other => (
                    StatusCode::NOT_FOUND,
                    json!({ "error": format!("there is no session `{other}`"), "hint": "list them" })
                        .to_string(),
                ),
            }),
        )
        .route(
            "/api/v1/explain",
            get(async |uri: axum::http::Uri| {
                assert_eq!(
                    uri.query(),
                    Some("listener=stunner%2Fgw%2Fudp&peer=%5B%3A%3A1%5D%3A1&client=192.0.2.1&transport=tcp")
                );
                json!({ "listener": "stunner/gw/udp", "peer": "[::1]:1", "admitted": false, "reason": "loopback" })
                    .to_string()
            }),
        )
        .route("/echo", post(async |body: String| body))
}

#[tokio::test]
async fn the_admin_api_is_asked_and_read() {
    let (_server, address) = serve(dataplane());
    let admin = Admin::direct(&address.to_string()).expect("an address");
    let sessions = admin.sessions(&Filter::default()).await.expect("sessions");
    assert_eq!(sessions.total, 1);
    let session = &sessions.sessions[0];
    assert_eq!(session.peers[1].channel, Some(0x4000));
    assert_eq!(session.to_client.bytes, 7);
    let filter = Filter {
        user: Some("a&b".to_owned()),
        listener: Some("stunner/gw/udp".to_owned()),
        client: Some("192.0.2.1".to_owned()),
        limit: Some(5),
    };
    admin.sessions(&filter).await.expect("sessions");
    let denials = admin.denials(&filter).await.expect("denials");
    assert_eq!(denials.denials[0].reason, "no_route");

    admin.kill("0-1").await.expect("it ended");
    let refused = admin.kill("../x").await.expect_err("no such session");
    assert!(refused.to_string().ends_with("there is no session `../x`"));
    assert_eq!(refused.hint().as_deref(), Some("list them"));

    let question = Explain {
        listener: "stunner/gw/udp".to_owned(),
        peer: "[::1]:1".to_owned(),
        client: Some("192.0.2.1".parse().expect("an address")),
        transport: Some("tcp".to_owned()),
    };
    let answer = admin.explain(&question).await.expect("an explanation");
    assert!(!answer.admitted);
    assert_eq!(answer.reason.as_deref(), Some("loopback"));
}

#[tokio::test]
async fn status_and_metrics_are_beside_the_admin_api() {
    let (_admin, admin) = serve(dataplane());
    let status = Router::new().route(
        "/status",
        get(async || {
            json!([{ "admin": { "name": "a/b" } }, { "admin": { "name": "a/c" } }]).to_string()
        }),
    );
    let (_health, health) = serve(status);
    let page = "# TYPE stunner_draining gauge\nstunner_draining 1\n";
    let (_metrics, metrics) = serve(Router::new().route("/m", get(async move || page)));
    let admin = Admin::direct(&admin.to_string())
        .expect("an address")
        .with_health(health.port())
        .with_metrics(metrics.port(), "/m");
    let documents = admin.status().await.expect("a status");
    assert_eq!(documents.len(), 2);
    let page = admin.metrics().await.expect("metrics");
    let sample = stunner_cluster::metrics::samples(&page).next();
    assert_eq!(sample.and_then(|sample| sample.count()), Some(1));
}
