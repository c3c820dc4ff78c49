//! Requests in, answers out: every recorded request of the original server, and what it did wrong.

use std::net::SocketAddr;

use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::Request;
use serde_json::{Value, json};
use stunner_peer::{Caller, TransportPolicy};
use tower::ServiceExt;

use super::*;

const TOKEN: &str = "fixture-token";

fn settings() -> Settings {
    let server = json!([{ "urls": ["turn:198.51.100.10:3478?transport=udp"], "username": "fixture-user",
        "credential": "fixture-pass", "credentialType": "password" }]);
    Settings {
        ice_servers: stunner_peer::ice_servers(&server.to_string()).expect("servers"),
        policy: TransportPolicy::Relay,
        bearer_token: TOKEN.to_owned(),
        ..Settings::default()
    }
}

fn local(token: &str) -> Whip {
    let settings = Settings {
        bearer_token: token.to_owned(),
        ..Settings::default()
    };
    Whip::new(settings, 2, false)
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

async fn ask(whip: &Whip, line: &str, token: &str, content_type: &str, body: &str) -> Answer {
    ask_from(whip, "127.0.0.1:9", line, token, content_type, body).await
}

async fn ask_from(
    whip: &Whip,
    client: &str,
    line: &str,
    token: &str,
    content_type: &str,
    body: &str,
) -> Answer {
    let headers = [("Host", "127.0.0.1:8089"), ("Content-Type", content_type)];
    ask_with(whip, client, line, token, &headers, body.to_owned()).await
}

async fn ask_with(
    whip: &Whip,
    client: &str,
    line: &str,
    token: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Answer {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let mut request = Request::builder().method(method).uri(path);
    if !token.is_empty() {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    let client: SocketAddr = client.parse().expect("an address");
    let request = request.extension(ConnectInfo(client)).body(body.into());
    let response = whip
        .router()
        .oneshot(request.expect("a request"))
        .await
        .expect("an answer");
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, 1 << 20).await.expect("a body");
    Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).expect("text"),
    }
}

async fn offer() -> (String, stunner_peer::Offered) {
    let gather = Gather {
        loopback: true,
        ..Gather::default()
    };
    let gathered = gather.candidates().await.expect("candidates");
    Caller::default().offer(gathered).expect("an offer")
}

/// The table of the recordings: request, token, type, body, status.
#[tokio::test]
async fn the_recorded_requests_are_answered() {
    let whip = Whip::new(settings(), 2, false);
    let json_type = "application/json";
    let cases = [
        // What the original answered to anybody needs the token here.
        ("GET /config", "", "", "", 401),
        ("GET /config", "", json_type, "", 401),
        ("POST /config", "", json_type, "{}", 401),
        ("GET /config", TOKEN, "", "", 200),
        ("POST /whip", "", "application/sdp", "v=0", 401),
        ("POST /whip", "wrong", "application/sdp", "v=0", 401),
        ("POST /whip", TOKEN, "text/plain", "v=0", 400),
        // The original answered 200 and did nothing.
        ("POST /whip", TOKEN, "application/sdp", "not SDP", 400),
        ("GET /whip", TOKEN, "", "", 405),
        ("OPTIONS /whip", "", "", "", 405),
        ("DELETE /whip/12345", TOKEN, "", "", 404),
        ("DELETE /whip/12345", "", "", "", 401),
        (
            "PATCH /whip/12345",
            TOKEN,
            "application/trickle-ice-sdpfrag",
            "",
            405,
        ),
        ("GET /nosuch", TOKEN, "", "", 404),
        ("POST /config", TOKEN, json_type, "nonsense", 400),
        ("POST /config", TOKEN, "", "{}", 400),
        (
            "POST /config",
            TOKEN,
            json_type,
            r#"{"ICEServers":[],"ICETransportPolicy":"all"}"#,
            200,
        ),
    ];
    for (line, token, content_type, body, status) in cases {
        let answer = ask(&whip, line, token, content_type, body).await;
        assert_eq!(answer.status, status, "{line} {token}: {}", answer.body);
        match status {
            405 if line.ends_with("/whip") => assert_eq!(answer.header("allow"), "POST"),
            405 => assert_eq!(answer.header("allow"), "DELETE"),
            401 => assert_eq!(answer.header("www-authenticate"), "Bearer"),
            _ => {}
        }
        if status >= 400 {
            assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
            assert_eq!(answer.header("x-content-type-options"), "nosniff");
            assert!(answer.body.contains("\nhint: "), "{}", answer.body);
            assert!(!answer.body.contains("fixture"), "{}", answer.body);
        }
    }
    let after = ask(&whip, "GET /config", TOKEN, json_type, "").await;
    assert_eq!(
        after.body,
        r#"{"ICEServers":[],"ICETransportPolicy":"all","BearerToken":"fixture-token","WHIPEndpoint":"/whip"}"#
    );
}

#[tokio::test]
async fn the_config_reads_as_recorded() {
    let whip = Whip::new(settings(), 2, false);
    let answer = ask(&whip, "GET /config", TOKEN, "application/json", "").await;
    assert_eq!(
        answer.body,
        r#"{"ICEServers":[{"credential":"fixture-pass","credentialType":"password","urls":["turn:198.51.100.10:3478?transport=udp"],"username":"fixture-user"}],"ICETransportPolicy":"relay","BearerToken":"fixture-token","WHIPEndpoint":"/whip"}"#
    );
    assert_eq!(
        serde_json::from_str::<Value>(&answer.body).expect("JSON")["BearerToken"],
        TOKEN
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_change_different_settings_neither_loses_its_change() {
    let whip = local("");
    let alternate = async |whip: Whip, name: &'static str, values: [Value; 2]| {
        for value in values.iter().cycle().take(1000) {
            let body = json!({ name: value }).to_string();
            let answer = ask(&whip, "POST /config", "", "application/json", &body).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            let config = ask(&whip, "GET /config", "", "", "").await.body;
            let config: Value = serde_json::from_str(&config).expect("JSON");
            assert_eq!(&config[name], value);
        }
    };
    let policies = [json!("relay"), json!("all")];
    let server = json!([{ "urls": ["stun:192.0.2.1"], "username": "u", "credential": "c", "credentialType": "password" }]);
    let servers = [json!([]), server];
    let one = tokio::spawn(alternate(whip.clone(), "ICETransportPolicy", policies));
    let other = tokio::spawn(alternate(whip, "ICEServers", servers));
    one.await.expect("its own policies");
    other.await.expect("its own servers");
}

#[tokio::test]
async fn without_a_token_only_this_host_sees_the_config() {
    let whip = local("");
    let near = ask(&whip, "GET /config", "", "", "").await;
    assert_eq!(near.status, 200);
    for client in ["192.0.2.7:5", "[2001:db8::1]:5"] {
        let far = ask_from(&whip, client, "GET /config", "", "", "").await;
        assert_eq!(far.status, 403, "{}", far.body);
    }
    let mapped = ask_from(&whip, "[::ffff:127.0.0.1]:5", "GET /config", "", "", "").await;
    assert_eq!(mapped.status, 200);
}

#[tokio::test]
async fn an_offer_is_answered_and_its_session_ends_at_its_location() {
    let whip = local(TOKEN);
    let (sdp, offered) = offer().await;
    let answer = ask(
        &whip,
        "POST /whip",
        TOKEN,
        "application/sdp; charset=utf-8",
        &sdp,
    )
    .await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(answer.header("content-type"), "application/sdp");
    let location = answer.header("location").to_owned();
    assert!(location.starts_with("/whip/"), "{location}");
    let timeout = std::time::Duration::from_secs(10);
    let mut call = offered.accept(&answer.body, timeout).await.expect("a call");

    let delete = format!("DELETE {location}");
    assert_eq!(ask(&whip, &delete, "", "", "").await.status, 401);
    assert_eq!(ask(&whip, &delete, TOKEN, "", "").await.status, 200);
    assert_eq!(ask(&whip, &delete, TOKEN, "", "").await.status, 404);
    let probe = stunner_peer::Probe {
        duration: timeout,
        ..stunner_peer::Probe::default()
    };
    assert!(
        call.probe(&probe, |_| {}).await.is_err(),
        "the other side has hung up"
    );
}

#[tokio::test]
async fn more_sessions_than_may_be_are_refused_until_one_ends() {
    let whip = local("");
    let (sdp, _offered) = offer().await;
    let mut locations = Vec::new();
    for _ in 0..2 {
        let answer = ask(&whip, "POST /whip", "", "application/sdp", &sdp).await;
        assert_eq!(answer.status, 201);
        locations.push(answer.header("location").to_owned());
    }
    let full = ask(&whip, "POST /whip", "", "application/sdp", &sdp).await;
    assert_eq!((full.status, full.header("retry-after")), (503, "10"));
    // A bad offer holds no place.
    assert_eq!(
        ask(&whip, "POST /whip", "", "application/sdp", "bad")
            .await
            .status,
        400
    );
    assert_eq!(
        ask(&whip, &format!("DELETE {}", locations[0]), "", "", "")
            .await
            .status,
        200
    );
    assert_eq!(
        ask(&whip, "POST /whip", "", "application/sdp", &sdp)
            .await
            .status,
        201
    );
    whip.hang_up().await;
    assert_eq!(
        ask(&whip, &format!("DELETE {}", locations[1]), "", "", "")
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn a_turn_server_that_does_not_answer_is_told_without_its_credentials() {
    let settings = Settings {
        policy: TransportPolicy::Relay,
        ice_servers: stunner_peer::ice_servers(
            r#"[{"urls":"turn:127.0.0.1:1?transport=tcp","username":"u","credential":"hidden"}]"#,
        )
        .expect("servers"),
        ..Settings::default()
    };
    let whip = Whip::new(settings, 2, false);
    let (sdp, _offered) = offer().await;
    let answer = ask(&whip, "POST /whip", "", "application/sdp", &sdp).await;
    assert_eq!(answer.status, 502, "{}", answer.body);
    assert!(
        answer.body.contains("turn:127.0.0.1:1?transport=tcp"),
        "{}",
        answer.body
    );
    assert!(!answer.body.contains("hidden"), "{}", answer.body);
}

#[tokio::test]
async fn without_a_token_web_pages_are_strangers() {
    let whip = local("");
    const JSON: (&str, &str) = ("Content-Type", "application/json");
    type Headers = &'static [(&'static str, &'static str)];
    let cases: [(&str, Headers, u16); 8] = [
        ("GET /config", &[("Host", "127.0.0.1:8089")], 200),
        ("GET /config", &[("Host", "localhost:8089")], 200),
        ("GET /config", &[("Host", "rebound.example:8089")], 403),
        ("GET /config", &[], 403),
        ("POST /config", &[("Host", "127.0.0.1:8089"), JSON], 200),
        (
            "POST /config",
            &[
                ("Host", "127.0.0.1:8089"),
                ("Origin", "https://evil.example"),
                JSON,
            ],
            403,
        ),
        (
            "POST /whip",
            &[
                ("Host", "127.0.0.1:8089"),
                ("Sec-Fetch-Site", "cross-site"),
                ("Content-Type", "application/sdp"),
            ],
            403,
        ),
        // Past the entrance: the offer is none.
        (
            "POST /whip",
            &[
                ("Host", "icetester.icetest.svc:8089"),
                ("Content-Type", "application/sdp"),
            ],
            400,
        ),
    ];
    for (line, headers, status) in cases {
        let answer = ask_with(&whip, "127.0.0.1:9", line, "", headers, "{}").await;
        assert_eq!(answer.status, status, "{line} {headers:?}: {}", answer.body);
    }
    // Who shows the token is no page.
    let headers = [("Host", "turn.example:8089")];
    let answer = ask_with(
        &local(TOKEN),
        "192.0.2.1:9",
        "GET /config",
        TOKEN,
        &headers,
        "",
    )
    .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn the_token_is_asked_for_before_a_body_is_read() {
    // It never comes.
    let body = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
    let whip = local(TOKEN);
    let headers = [("Host", "h"), ("Content-Type", "application/sdp")];
    let asked = ask_with(&whip, "192.0.2.1:9", "POST /whip", "wrong", &headers, body);
    let answer = tokio::time::timeout(Duration::from_secs(10), asked).await;
    assert_eq!(answer.expect("an answer").status, 401);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_in_our_own_words() {
    let body = "a".repeat(MAX_BODY + 1);
    let answer = ask(&local(TOKEN), "POST /whip", TOKEN, "application/sdp", &body).await;
    assert_eq!(answer.status, 413);
    assert!(
        answer
            .body
            .starts_with("error: the body is larger than 256 kB\nhint: "),
        "{}",
        answer.body
    );
}
