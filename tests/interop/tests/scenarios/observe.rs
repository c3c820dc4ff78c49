//! What the server tells about itself: health, status, metrics, sessions, denials, records in the log.

use std::time::Duration;

use interop_tests::config::{PASSWORD, Transport};
use interop_tests::http;
use interop_tests::process::wait_until;
use interop_tests::scene::{CHANNEL, Scene};
use interop_tests::stunnerd::sum_metric;

const SOON: Duration = Duration::from_secs(20);

#[test]
fn status_counts_allocations_and_holds_no_secret() {
    let scene = Scene::start();
    let _sessions = scene.sessions();
    assert!(wait_until(SOON, || scene.server.allocation_count() == Some(4)));
    let status = scene.server.health("/status").expect("status");
    let document = status.json();
    assert_eq!(document["allocationCount"], 4, "{document:#}");
    assert_eq!(document["status"], "READY", "{document:#}");
    assert_eq!(document["version"], "v1");
    assert_eq!(document["listeners"].as_array().map(Vec::len), Some(4));
    assert_eq!(document["clusters"].as_array().map(Vec::len), Some(2));
    assert_no_secret(&scene, "/status", &status.body);
    assert_no_secret(&scene, "/metrics", &scene.server.metrics());
    let sessions = http::get(scene.server.admin_address(), "/api/v1/sessions").expect("sessions");
    assert_no_secret(&scene, "/api/v1/sessions", &sessions.body);
    assert_no_secret(&scene, "the log", &scene.server.process().log().join("\n"));
}

#[track_caller]
fn assert_no_secret(scene: &Scene, place: &str, text: &str) {
    let key_line = scene
        .identity
        .key_pem
        .lines()
        .nth(1)
        .expect("a key")
        .to_owned();
    for secret in [
        PASSWORD,
        &key_line,
        &scene.identity.key_base64()[..60],
        "PRIVATE KEY",
    ] {
        assert!(!text.contains(secret), "{place} shows a secret");
    }
}

/// The traffic of the recorded scrape: per transport five ChannelData of 100 bytes each way and one Send of 50 bytes.
#[test]
fn counters_follow_the_traffic() {
    let scene = Scene::start();
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
    for transport in Transport::ALL {
        let mut client = scene.client(transport).without_repeats();
        client.allocate().expect("allocate");
        client.bind(CHANNEL, scene.peer.address()).expect("bind");
        for _ in 0..5 {
            assert!(client.echoes(CHANNEL, &[7; 100]));
        }
        client
            .permit(silent.local_addr().expect("address"))
            .expect("permit");
        client
            .send_indication(silent.local_addr().expect("address"), &[8; 50])
            .expect("send");
        silent.set_read_timeout(Some(SOON)).expect("timeout");
        assert_eq!(
            silent
                .recv(&mut [0; 100])
                .expect("the Send indication's data"),
            50
        );
        std::mem::forget(client);
    }
    let cluster = |direction: &str| {
        let direction = format!("direction=\"{direction}\"");
        vec!["name=\"udp\"".to_owned(), direction]
    };
    let mut expected = vec![
        ("stunner_allocations_active", vec![], 4.0),
        ("stunner_cluster_packets_total", cluster("tx"), 24.0),
        ("stunner_cluster_packets_total", cluster("rx"), 20.0),
        ("stunner_cluster_bytes_total", cluster("rx"), 2000.0),
        ("stunner_cluster_bytes_total", cluster("tx"), 2200.0),
    ];
    for transport in Transport::ALL {
        // Requests: Allocate twice, ChannelBind, CreatePermission; then five ChannelData and one Send indication.
        for (direction, packets) in [("rx", 10.0), ("tx", 9.0)] {
            let name = format!("name=\"{}\"", transport.name());
            let labels = vec![name, format!("direction=\"{direction}\"")];
            expected.push(("stunner_listener_packets_total", labels, packets));
        }
    }
    // Shards publish their counters in their own time.
    let mut text = String::new();
    let mut wrong = Vec::new();
    wait_until(SOON, || {
        text = scene.server.metrics();
        let found = expected.iter().map(|(family, labels, value)| {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            let sum = sum_metric(&text, family, &labels);
            (sum != *value).then(|| format!("{family} {labels:?} is {sum}, not {value}"))
        });
        wrong = found.flatten().collect();
        wrong.is_empty()
    });
    assert!(wrong.is_empty(), "{wrong:#?}\n{text}");
    for transport in Transport::ALL {
        let name = format!("name=\"{}\"", transport.name());
        assert!(
            sum_metric(&text, "stunner_listener_connections", &[&name]) >= 1.0,
            "{transport:?}\n{text}"
        );
        assert!(
            sum_metric(&text, "stunner_listener_connections_total", &[&name]) >= 1.0,
            "{transport:?}\n{text}"
        );
    }
    for line in text
        .lines()
        .filter(|line| line.starts_with("stunner_listener"))
    {
        for label in [
            "otel_scope_name=\"stunner\"",
            "otel_scope_version=\"\"",
            "otel_scope_schema_url=\"\"",
        ] {
            assert!(line.contains(label), "no {label} in {line}");
        }
    }
    assert!(text.contains("target_info{"), "{text}");
}

#[test]
fn failures_are_counted_by_reason() {
    let scene = Scene::start();
    let stranger = interop_tests::client::Credentials::new("interop-user", "wrong");
    let refusal = scene
        .client(Transport::Udp)
        .with_credentials(stranger)
        .without_repeats()
        .allocate()
        .expect_err("wrong password");
    assert_eq!(refusal.code(), Some(401));
    let mut client = scene.session(Transport::Udp).without_repeats();
    client
        .permit("10.9.9.9:1".parse().expect("address"))
        .expect_err("denied");
    // Shards publish their counters about once a second.
    for (family, label) in [
        ("stunner_auth_failures_total", "reason=\"bad_integrity\""),
        ("stunner_denials_total", "reason=\"no_route\""),
        ("stunner_errors_total", "code=\"403\""),
    ] {
        let counted = wait_until(SOON, || scene.server.metric(family, &[label]) == 1.0);
        assert!(counted, "{family}{{{label}}} is not 1");
    }
    let denials = http::get(scene.server.admin_address(), "/api/v1/denials")
        .expect("denials")
        .json();
    assert!(denials.to_string().contains("10.9.9.9"), "{denials:#}");
}

#[test]
fn sessions_are_listed_explained_and_ended() {
    let scene = Scene::start();
    let mut session = scene.session(Transport::Tcp);
    let admin = scene.server.admin_address();
    let list = http::get(admin, "/api/v1/sessions")
        .expect("sessions")
        .json();
    assert_eq!(list["total"], 1, "{list:#}");
    let entry = &list["sessions"][0];
    assert_eq!(entry["user"], "interop-user", "{entry:#}");
    assert_eq!(entry["listener"], "tcp", "{entry:#}");
    assert_eq!(
        entry["client"],
        session.link.local().to_string(),
        "{entry:#}"
    );
    assert!(
        entry["to_peers"]["packets"]
            .as_u64()
            .is_some_and(|packets| packets >= 1),
        "{entry:#}"
    );
    let path = format!("/api/v1/explain?listener=tcp&peer={}", scene.peer.address());
    let explanation = http::get(admin, &path).expect("explain");
    assert_eq!(explanation.status, 200, "{}", explanation.body);
    let path = format!("/api/v1/sessions/{}", entry["id"].as_str().expect("id"));
    let answer = http::request("DELETE", admin, &path, None, SOON).expect("delete");
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(
        !session.echoes_within(CHANNEL, b"ended", Duration::from_millis(300)),
        "an ended session relays"
    );
    assert!(wait_until(SOON, || scene.server.allocation_count() == Some(0)));
}

#[test]
fn a_session_record_is_logged_when_an_allocation_ends() {
    let scene = Scene::start();
    let mut session = scene.session(Transport::Udp);
    let client = session.link.local().to_string();
    session.refresh(0).expect("delete");
    let logged = wait_until(SOON, || {
        scene.server.process().log().iter().any(|line| {
            line.contains("session ended")
                && line.contains("interop-user")
                && line.contains(&client)
                && line.contains("packets")
        })
    });
    assert!(logged, "no session record");
}

#[test]
fn logs_are_text_or_json() {
    let scene = Scene::start_with(&["--log-format", "json"], |_| {});
    for line in scene.server.process().log() {
        let entry: serde_json::Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for key in ["time", "level", "msg", "scope"] {
            assert!(entry[key].is_string(), "no {key} in {line}");
        }
    }
    let scene = Scene::start();
    // That it is ready may be known before its log has been read.
    assert!(wait_until(SOON, || !scene
        .server
        .process()
        .log()
        .is_empty()));
    for line in scene.server.process().log() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(
            words.len() > 3
                && words[0].len() == 15
                && words[1].ends_with(':')
                && words[3].ends_with(':'),
            "{line}"
        );
    }
}
