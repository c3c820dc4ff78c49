use super::*;

const JSON: &str = "Content-Type: application/json";

fn admin() -> (Running, SocketAddr) {
    start(admin_router(Arc::new(Plane::default())))
}

async fn post(address: SocketAddr, path: &str, body: &Value) -> Answer {
    request_with(address, "POST", path, &[JSON], &body.to_string()).await
}

#[tokio::test]
async fn a_test_is_answered_as_browsers_take_it() {
    let (_server, address) = admin();
    let body = json!({ "listener": "ns/gw/udp" });
    let answer = post(address, "/api/v1/ice-tests", &body).await;
    assert_eq!(answer.status, 201);
    let expected = json!({
        "id": "t1",
        "listener": "ns/gw/udp",
        "iceServers": [{
            "urls": ["turn:192.0.2.1:3478?transport=udp"],
            "username": "1800000060:ice-test-x",
            "credential": "hush",
        }],
        "expiresInSeconds": 60,
        "peer": "192.0.2.1:40000",
    });
    assert_eq!(answer.json(), expected);
}

#[tokio::test]
async fn an_offer_gets_its_answer_and_a_bad_one_a_hint() {
    let (_server, address) = admin();
    let path = "/api/v1/ice-tests/t1/offer";
    // As `JSON.stringify(pc.localDescription)` has it.
    let body = json!({ "type": "offer", "sdp": "v=0" });
    let answer = post(address, path, &body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json(),
        json!({ "type": "answer", "sdp": "answer to v=0" })
    );
    let answer = post(address, path, &json!({ "sdp": "bad" })).await;
    assert_eq!(answer.status, 400);
    assert!(answer.json()["hint"].as_str().is_some(), "{}", answer.body);
    let answer = post(address, "/api/v1/ice-tests/t2/offer", &body).await;
    assert_eq!(answer.status, 404);
    assert!(answer.body.contains("`t2`"), "{}", answer.body);
}

#[tokio::test]
async fn an_unknown_listener_lists_the_known_ones() {
    let (_server, address) = admin();
    let body = json!({ "listener": "ns/gw/tls" });
    let answer = post(address, "/api/v1/ice-tests", &body).await;
    assert_eq!(answer.status, 404);
    let answer = answer.json();
    assert_eq!(answer["error"], "no listener `ns/gw/tls`");
    assert_eq!(answer["hint"], "there are: ns/gw/busy, ns/gw/udp");
}

#[tokio::test]
async fn too_many_tests_are_a_429() {
    let (_server, address) = admin();
    let body = json!({ "listener": "ns/gw/busy" });
    let answer = post(address, "/api/v1/ice-tests", &body).await;
    assert_eq!(answer.status, 429);
    assert!(answer.body.contains("DELETE"), "{}", answer.body);
}

#[tokio::test]
async fn a_body_that_is_not_json_says_what_to_send() {
    let (_server, address) = admin();
    let path = "/api/v1/ice-tests";
    for (headers, body, status) in [
        (vec![JSON], "{", 400),
        (vec![JSON], "{}", 422),
        (vec![JSON], "{\"listener\":\"a\",\"more\":1}", 422),
        (
            vec!["Content-Type: text/plain"],
            "{\"listener\":\"a\"}",
            415,
        ),
    ] {
        let answer = request_with(address, "POST", path, &headers, body).await;
        assert_eq!(answer.status, status, "{}", answer.body);
        let hint = answer.json()["hint"].as_str().map(str::to_owned);
        assert!(hint.is_some_and(|hint| hint.contains("listener")));
    }
    let long = format!("{{\"sdp\":\"{}\"}}", "x".repeat(300 * 1024));
    let answer = request_with(
        address,
        "POST",
        "/api/v1/ice-tests/t1/offer",
        &[JSON],
        &long,
    )
    .await;
    assert_eq!(answer.status, 413);
}

#[tokio::test]
async fn a_test_is_ended_once() {
    let (_server, address) = admin();
    let answer = request(address, "DELETE", "/api/v1/ice-tests/t1", &[]).await;
    assert_eq!(answer.json(), json!({ "id": "t1", "ended": true }));
    let answer = request(address, "DELETE", "/api/v1/ice-tests/t2", &[]).await;
    assert_eq!(answer.status, 404);
}

#[tokio::test]
async fn other_web_sites_start_no_tests() {
    let (_server, address) = admin();
    let body = json!({ "listener": "ns/gw/udp" }).to_string();
    let path = "/api/v1/ice-tests";
    for foreign in [
        "Origin: https://evil.example",
        "Sec-Fetch-Site: cross-site",
        "Host: evil.example",
    ] {
        let answer = request_with(address, "POST", path, &[JSON, foreign], &body).await;
        assert_eq!(answer.status, 403, "{foreign}");
        assert!(!answer.body.contains("hush"), "{}", answer.body);
    }
}
