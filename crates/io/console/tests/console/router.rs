//! The console's HTTP surface: who may ask, what is answered, and in which form it is refused.

use crate::fake::{Asked, console, request};
use axum::http::{Method, StatusCode};
use serde_json::json;
use stunner_console::HostNames;

#[tokio::test]
async fn the_page_is_served_with_everything_forbidden_that_it_does_not_need() {
    let answer = request(Method::GET, "/").send(&console()).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    assert_eq!(answer.header("x-frame-options"), "DENY");
    let policy = answer.header("content-security-policy");
    for directive in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(policy.contains(directive), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[tokio::test]
async fn restrictions_hold_for_answers_of_the_api_and_for_refusals_too() {
    for path in ["/api/v1/state", "/nowhere", "/app.js"] {
        let answer = request(Method::GET, path).send(&console()).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
    }
    let stranger = request(Method::GET, "/").host("example.com");
    let answer = stranger.send(&console()).await;
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn the_state_has_the_hierarchy_and_the_live_parts_side_by_side() {
    let answer = request(Method::GET, "/api/v1/state").send(&console()).await;
    assert_eq!(answer.status, StatusCode::OK);
    let state = answer.json();
    assert_eq!(state["mode"], "standalone");
    assert_eq!(state["generation"], 7);
    assert_eq!(state["gateways"][0]["id"], "default/gateway");
    assert_eq!(state["live"]["listeners"][0]["traffic"]["rxPackets"], 5);
    assert_eq!(state["token"], "notNeeded");
}

#[tokio::test]
async fn a_hierarchy_that_the_page_has_already_is_left_out() {
    let same = request(Method::GET, "/api/v1/state?known=7")
        .send(&console())
        .await;
    assert_eq!(same.json()["unchanged"], true);
    assert_eq!(same.json().get("gateways"), None);
    assert_eq!(
        same.json()["live"]["listeners"][0]["id"],
        "default/gateway/udp"
    );
    let older = request(Method::GET, "/api/v1/state?known=6")
        .send(&console())
        .await;
    assert_eq!(older.json().get("unchanged"), None);
    assert_eq!(older.json()["gateways"][0]["id"], "default/gateway");
    let broken = request(Method::GET, "/api/v1/state?known=x")
        .send(&console())
        .await;
    assert_eq!(broken.refusal(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_rebound_name_is_told_how_to_reach_the_console() {
    for host in ["example.com", "10.0.0.1:8090", "localhost.example.com"] {
        for path in [
            "/",
            "/app.js",
            "/api/v1/state",
            "/api/v1/events",
            "/nowhere",
        ] {
            let answer = request(Method::GET, path).host(host).send(&console()).await;
            assert_eq!(
                answer.refusal(),
                StatusCode::MISDIRECTED_REQUEST,
                "{host}{path}"
            );
            let hint = answer.json()["hint"].to_string();
            assert!(
                hint.contains("127.0.0.1") && hint.contains("--console-address"),
                "{hint}"
            );
        }
    }
}

#[tokio::test]
async fn the_name_of_the_console_address_is_answered() {
    let names = HostNames::of(&"console.example.com:8090".parse().expect("an address"));
    let console = crate::fake::console_at(names);
    for host in [
        "console.example.com:8090",
        "localhost:8090",
        "127.0.0.1:8090",
        "[::1]:8090",
    ] {
        let answer = request(Method::GET, "/api/v1/state")
            .host(host)
            .send(&console)
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{host}");
    }
}

#[tokio::test]
async fn other_sites_can_neither_start_a_test_nor_end_anything() {
    let console = console();
    for (name, value) in [
        ("origin", "http://example.com"),
        ("origin", "http://localhost:1"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        for (method, path) in [
            (Method::POST, "/api/v1/ice-tests"),
            (Method::POST, "/api/v1/ice-tests/1/offer"),
            (Method::DELETE, "/api/v1/ice-tests/1"),
            (Method::DELETE, "/api/v1/sessions/1"),
        ] {
            let asking = request(method, path).header(name, value);
            let answer = asking.json(&json!({ "gateway": "a/b", "listener": "c", "sdp": "" }));
            let answer = answer.send(&console).await;
            assert_eq!(
                answer.refusal(),
                StatusCode::FORBIDDEN,
                "{name}: {value} {path}"
            );
        }
    }
    assert_eq!(console.source.asked(), []);
}

#[tokio::test]
async fn a_body_must_be_json_of_the_right_shape_and_size() {
    let console = console();
    let plain = request(Method::POST, "/api/v1/ice-tests")
        .header("content-type", "text/plain")
        .body(r#"{"gateway":"a/b","listener":"c"}"#);
    assert_eq!(
        plain.send(&console).await.refusal(),
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    let form = request(Method::POST, "/api/v1/ice-tests").body("gateway=a");
    assert_eq!(
        form.send(&console).await.refusal(),
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    let shapeless = request(Method::POST, "/api/v1/ice-tests").json(&json!({ "gateway": 1 }));
    assert_eq!(
        shapeless.send(&console).await.refusal(),
        StatusCode::UNPROCESSABLE_ENTITY
    );
    let large = json!({ "sdp": "x".repeat(100_000) });
    let large = request(Method::POST, "/api/v1/ice-tests/1/offer").json(&large);
    assert_eq!(
        large.send(&console).await.refusal(),
        StatusCode::PAYLOAD_TOO_LARGE
    );
    assert_eq!(console.source.asked(), []);
}

#[tokio::test]
async fn an_ice_test_is_started_answered_and_ended() {
    let console = console();
    let started = request(Method::POST, "/api/v1/ice-tests")
        .header("origin", "http://localhost:8090")
        .header("sec-fetch-site", "same-origin")
        .json(&json!({ "gateway": "default/gateway", "listener": "udp" }))
        .send(&console)
        .await;
    assert_eq!(started.status, StatusCode::CREATED);
    let test = started.json();
    assert_eq!(
        test["iceServers"][0]["urls"][0],
        "turn:127.0.0.1:3478?transport=udp"
    );
    assert_eq!(test["expiresInSeconds"], 60);
    let answered = request(Method::POST, "/api/v1/ice-tests/t1/offer")
        .json(&json!({ "sdp": "offer" }))
        .send(&console)
        .await;
    assert_eq!(answered.json(), json!({ "sdp": "answer" }));
    let ended = request(Method::DELETE, "/api/v1/ice-tests/t1")
        .send(&console)
        .await;
    assert_eq!(ended.status, StatusCode::OK);
    assert_eq!(
        console.source.asked(),
        [
            Asked::Start("default/gateway".into(), "udp".into()),
            Asked::Offer("t1".into(), "offer".into()),
            Asked::End("t1".into()),
        ]
    );
}

#[tokio::test]
async fn a_refusal_of_the_source_reaches_the_page_with_its_hint() {
    let answer = request(Method::POST, "/api/v1/ice-tests")
        .json(&json!({ "gateway": "default/none", "listener": "udp" }))
        .send(&console())
        .await;
    assert_eq!(answer.refusal(), StatusCode::NOT_FOUND);
    assert_eq!(answer.json()["error"], "there is no Gateway default/none");
}

#[tokio::test]
async fn a_source_that_cannot_end_sessions_says_so() {
    let answer = request(Method::DELETE, "/api/v1/sessions/1")
        .send(&console())
        .await;
    assert_eq!(answer.refusal(), StatusCode::NOT_IMPLEMENTED);
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused_in_json() {
    let unknown = request(Method::GET, "/api/v1/nothing")
        .send(&console())
        .await;
    assert_eq!(unknown.refusal(), StatusCode::NOT_FOUND);
    let put = request(Method::PUT, "/api/v1/state").send(&console()).await;
    assert_eq!(put.refusal(), StatusCode::METHOD_NOT_ALLOWED);
    let above = request(Method::GET, "/../Cargo.toml")
        .send(&console())
        .await;
    assert_eq!(above.refusal(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_visitors_token_reaches_the_source_and_nothing_else_does() {
    let console = console();
    for (header, token) in [
        ("Bearer abc", Some("abc")),
        ("bearer  abc ", Some("abc")),
        ("Basic abc", None),
        ("Bearer ", None),
    ] {
        let asking = request(Method::GET, "/api/v1/state").header("authorization", header);
        let answer = asking.send(&console).await;
        assert_eq!(console.source.last_token().as_deref(), token, "{header}");
        assert!(!answer.text().contains("abc"), "a token is never sent back");
    }
}

#[tokio::test(start_paused = true)]
async fn the_event_stream_ticks_at_once_on_change_and_when_silent() {
    let console = console();
    let mut stream = request(Method::GET, "/api/v1/events").open(&console).await;
    assert_eq!(stream.header("content-type"), "text/event-stream");
    assert_eq!(stream.next().await, "event: state\ndata: 7\n\n");
    console.source.change(8);
    assert_eq!(stream.next().await, "event: state\ndata: 8\n\n");
    assert_eq!(stream.next().await, ": still here\n\n");
}

#[tokio::test]
async fn streams_leave_room_for_other_requests() {
    let console = console();
    let mut open = Vec::new();
    let refused = loop {
        let stream = request(Method::GET, "/api/v1/events").open(&console).await;
        if stream.header("content-type") != "text/event-stream" {
            break request(Method::GET, "/api/v1/events").send(&console).await;
        }
        open.push(stream);
        // The server has no more than 1,024 connections.
        assert!(open.len() <= 512);
    };
    assert_eq!(refused.refusal(), StatusCode::SERVICE_UNAVAILABLE);
    open.pop();
    let again = request(Method::GET, "/api/v1/events").open(&console).await;
    assert_eq!(again.header("content-type"), "text/event-stream");
}
