use std::time::Duration;

use super::*;

fn admin() -> (Running, SocketAddr, broadcast::Sender<Event>) {
    let plane = Plane::default();
    let events = plane.events.clone();
    let (server, address) = start(admin_router(Arc::new(plane)));
    (server, address, events)
}

#[tokio::test]
async fn the_index_lists_every_endpoint() {
    let (_server, address, _) = admin();
    let index = get(address, "/").await.json();
    assert_eq!(index["endpoints"].as_array().map(Vec::len), Some(9));
}

const REFERENCE: &str = include_str!("../../../../../../docs/reference/admin-api.md");

#[tokio::test]
async fn the_reference_page_has_every_endpoint_parameter_and_event() {
    let (_server, address, _) = admin();
    let index = get(address, "/").await.json();
    for endpoint in index["endpoints"].as_array().expect("a list") {
        let heading = format!("{} {}", endpoint["method"], endpoint["path"]).replace('"', "");
        assert!(
            REFERENCE.contains(&heading),
            "{heading} is missing in docs/reference/admin-api.md"
        );
        for parameter in endpoint["parameters"].as_array().expect("a list") {
            let row = format!("| {parameter} |").replace('"', "`");
            assert!(
                REFERENCE.contains(&row),
                "{row} is missing in docs/reference/admin-api.md"
            );
        }
    }
    // The error for an unknown type lists the known ones.
    let unknown =
        serde_json::from_value::<EventKind>(json!({ "type": "?" })).expect_err("no such type");
    let types: Vec<_> = unknown
        .to_string()
        .split('`')
        .skip(3)
        .step_by(2)
        .map(|name| format!("`{name}`"))
        .collect();
    assert!(types.len() > 10, "{types:?}");
    for name in types {
        assert!(
            REFERENCE.contains(&name),
            "event {name} is missing in docs/reference/admin-api.md"
        );
    }
}

#[tokio::test]
async fn a_session_shows_user_client_relay_peers_age_and_traffic() {
    let (_server, address, _) = admin();
    let answer = get(address, "/api/v1/sessions?user=ann").await.json();
    let expected = json!({
        "total": 1,
        "sessions": [{
            "id": "1",
            "user": "ann",
            "listener": "ns/gw/udp",
            "client": "198.51.100.7:40000",
            "transport": "udp",
            "relayed": ["192.0.2.1:50000"],
            "relay_transport": "udp",
            "peers": [{ "peer": "10.0.0.1:5000", "channel": 16384, "expires_in_seconds": 500 }],
            "age_seconds": 61,
            "idle_seconds": 1,
            "expires_in_seconds": 539,
            "to_peers": { "packets": 3, "bytes": 600 },
            "to_client": { "packets": 0, "bytes": 0 },
        }],
    });
    assert_eq!(answer, expected);
    let session: Session =
        serde_json::from_value(answer["sessions"][0].clone()).expect("tools read the same type");
    assert_eq!(session, self::session("1", "ann", "198.51.100.7:40000"));
}

#[tokio::test]
async fn sessions_are_filtered_by_user_listener_and_client() {
    let (_server, address, _) = admin();
    for (query, total) in [
        ("", 2),
        ("?user=ann", 1),
        ("?user=ann&listener=ns/gw/udp", 1),
        ("?listener=other", 0),
        ("?client=198.51.100.7", 1),
        ("?client=198.51.100.7:40000", 1),
        ("?client=198.51.100.7:1", 0),
        ("?client=2001:db8::1", 1),
        ("?client=%5B2001:db8::1%5D:9", 1),
    ] {
        let answer = get(address, &format!("/api/v1/sessions{query}")).await;
        assert_eq!(answer.json()["total"], total, "{query}");
    }
    let limited = get(address, "/api/v1/sessions?limit=1").await.json();
    assert_eq!(
        (
            limited["total"].as_u64(),
            limited["sessions"].as_array().map(Vec::len)
        ),
        (Some(2), Some(1))
    );
}

#[tokio::test]
async fn a_wrong_parameter_is_an_error_with_a_hint() {
    let (_server, address, _) = admin();
    for path in [
        "/api/v1/sessions?client=nonsense",
        "/api/v1/sessions?limit=many",
        "/api/v1/denials?client=x",
        "/api/v1/explain",
        "/api/v1/explain?listener=l&peer=x",
        "/api/v1/explain?listener=l&peer=::1&transport=x",
    ] {
        let answer = get(address, path).await;
        assert_eq!(answer.status, 400, "{path}");
        assert!(
            answer.json()["error"].is_string() && answer.json()["hint"].is_string(),
            "{path}: {}",
            answer.body
        );
    }
}

#[tokio::test]
async fn ending_a_session_works_once() {
    let (_server, address, _) = admin();
    let ended = request(address, "DELETE", "/api/v1/sessions/1", &[]).await;
    assert_eq!(
        (ended.status, ended.json()),
        (200, json!({ "id": "1", "ended": true }))
    );
    let again = request(address, "DELETE", "/api/v1/sessions/1", &[]).await;
    assert_eq!(again.status, 404);
    assert_eq!(again.json()["error"], "there is no session `1`");
    assert_eq!(get(address, "/api/v1/sessions").await.json()["total"], 1);
}

#[tokio::test]
async fn denials_show_the_reason_and_the_nearest_rule() {
    let (_server, address, _) = admin();
    let answer = get(address, "/api/v1/denials?user=ann").await.json();
    assert_eq!(answer["total"], 1);
    let denial = &answer["denials"][0];
    assert_eq!(denial["reason"], "no_route");
    assert_eq!(denial["nearest"], "ns/media: 10.0.1.0/24, all ports");
    assert_eq!(denial["at"], "2027-01-15T08:00:00.000Z");
}

#[tokio::test]
async fn statistics_are_told_per_gateway_and_listener() {
    let (_server, address, _) = admin();
    let answer = get(address, "/api/v1/statistics").await.json();
    let gateway = &answer["gateways"][0];
    assert_eq!(gateway["gateway"], "ns/gw");
    assert_eq!(gateway["listeners"][0]["protocol"], "TURN-UDP");
    assert_eq!(gateway["drain_remaining"], Value::Null);
    let read: GatewayStatistics =
        serde_json::from_value(gateway.clone()).expect("tools read the same type");
    assert_eq!(read.listeners[0].allocations, 2);
}

#[tokio::test]
async fn explain_takes_an_address_with_or_without_port() {
    let (_server, address, _) = admin();
    let explain = async |peer: &str| {
        get(
            address,
            &format!("/api/v1/explain?listener=ns/gw/udp&peer={peer}"),
        )
        .await
        .json()
    };
    assert_eq!(
        explain("10.0.0.1:5000").await["peer"],
        "Socket(10.0.0.1:5000)"
    );
    assert_eq!(
        explain("2001:db8::7&transport=tcp").await,
        json!({ "peer": "Address(2001:db8::7)", "transport": "tcp" })
    );
    let unknown = get(address, "/api/v1/explain?listener=none&peer=10.0.0.1").await;
    assert_eq!(
        (unknown.status, unknown.json()["error"].as_str()),
        (400, Some("there is no listener `none`"))
    );
}

#[tokio::test]
async fn unknown_paths_and_methods_are_json_errors() {
    let (_server, address, _) = admin();
    let path = get(address, "/api/v1/nothing").await;
    assert_eq!(
        (path.status, path.json()["hint"].as_str()),
        (404, Some("GET / lists the paths"))
    );
    let method = request(address, "DELETE", "/api/v1/sessions", &[]).await;
    assert_eq!(
        (method.status, method.json()["error"].as_str()),
        (405, Some("DELETE is not possible here"))
    );
}

#[tokio::test]
async fn a_name_rebound_to_loopback_is_refused() {
    let (_server, address, _) = admin();
    let rebound = request(
        address,
        "GET",
        "/api/v1/sessions",
        &["Host: evil.example:8087"],
    )
    .await;
    assert_eq!(rebound.status, 403);
    assert!(!rebound.body.contains("ann") && rebound.json()["hint"].is_string());
    for host in [
        "Host: localhost:9999",
        "Host: [::1]:8087",
        "Host: 127.0.0.1",
    ] {
        assert_eq!(
            request(address, "GET", "/api/v1/sessions", &[host])
                .await
                .status,
            200,
            "{host}"
        );
    }
}

#[tokio::test]
async fn other_sites_cannot_change_anything() {
    let (_server, address, _) = admin();
    for foreign in [
        "Origin: https://evil.example",
        "Origin: null",
        "Origin: http://localhost:3000",
        "Sec-Fetch-Site: cross-site",
    ] {
        assert_eq!(
            request(address, "DELETE", "/api/v1/sessions/1", &[foreign])
                .await
                .status,
            403,
            "{foreign}"
        );
    }
    assert_eq!(get(address, "/api/v1/sessions").await.json()["total"], 2);
    let same = format!("Origin: http://{address}");
    assert_eq!(
        request(address, "DELETE", "/api/v1/sessions/1", &[&same])
            .await
            .status,
        200
    );
}

/// Reads from an event stream until the text is there.
async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut all = String::new();
    let read = async {
        while !all.contains(text) {
            let mut bytes = [0; 4096];
            let n = stream.read(&mut bytes).await.expect("more of the stream");
            assert!(n > 0, "the stream ended: {all}");
            all.push_str(&String::from_utf8_lossy(&bytes[..n]));
        }
    };
    tokio::time::timeout(Duration::from_secs(20), read)
        .await
        .expect("the text in time");
    all
}

async fn subscribe(address: SocketAddr, accept: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let ask = format!("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n");
    stream
        .write_all(ask.as_bytes())
        .await
        .expect("the request goes out");
    read_until(&mut stream, "\r\n\r\n").await;
    stream
}

#[tokio::test]
async fn events_arrive_one_per_line() {
    let (_server, address, events) = admin();
    let mut stream = subscribe(address, "*/*").await;
    events
        .send(Event::from(&denial("ann")))
        .expect("a subscriber");
    let text = read_until(&mut stream, "}\n").await;
    let line = text
        .lines()
        .find(|line| line.starts_with('{'))
        .expect("a line");
    assert!(line.starts_with(r#"{"at":"2027-01-15T08:00:00.000Z","type":"denied","listener":"ns/gw/udp","user":"ann""#), "{line}");
    let event: Event = serde_json::from_str(line).expect("tools read the same type");
    assert_eq!(event, Event::from(&denial("ann")));
}

#[tokio::test]
async fn browsers_get_server_sent_events() {
    let (_server, address, events) = admin();
    let mut stream = subscribe(address, "text/event-stream").await;
    events
        .send(Event::now(EventKind::Draining { remaining: 3 }))
        .expect("a subscriber");
    let text = read_until(&mut stream, "remaining").await;
    assert!(
        text.contains("data: {\"at\":")
            && text.contains("\"type\":\"draining\",\"remaining\":3}\n\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_reader_that_is_too_slow_is_told_what_it_missed() {
    let plane = Plane::default();
    let events = plane.events.clone();
    let mut receiver = events.subscribe();
    for remaining in 0..10 {
        events
            .send(Event::now(EventKind::Draining { remaining }))
            .expect("a subscriber");
    }
    let missed = super::super::events::next_line(&mut receiver)
        .await
        .expect("an event");
    assert!(
        missed.contains("\"type\":\"lagged\",\"missed\":6"),
        "{missed}"
    );
    let next = super::super::events::next_line(&mut receiver)
        .await
        .expect("an event");
    assert!(next.contains("\"remaining\":6"), "{next}");
}
