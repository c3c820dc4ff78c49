//! Watching a config at a discovery service: recorded stories, bad frames, and servers that misbehave.
//! The clock is tokio's paused one: waits take no time, and their lengths are exact.

mod support;

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use stunner_cds::{Origin, OriginError, watch};
use support::*;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep};
use tokio_tungstenite::tungstenite::{Bytes, Message};

#[tokio::test(start_paused = true)]
async fn the_upgrade_request_is_one_the_go_server_accepts() {
    for (node, recording) in [
        (None, "stunnerd-watch.http"),
        (Some("node-a"), "stunnerd-watch-node.http"),
    ] {
        let (listener, origin) = listen().await;
        let address = listener.local_addr().expect("address").to_string();
        let _updates = watch(&origin, ID, node, &options()).expect("watch");
        let (_socket, request) = upgrade(accept(&listener).await).await;
        let recorded = fixture(recording);
        let target = recorded.split(' ').nth(1).expect("target");
        assert_eq!(request.uri().to_string(), target);
        assert_eq!(request.headers()["host"], address.as_str());
        // The server compares the host of the Origin with the Host header.
        assert_eq!(
            request.headers()["origin"],
            format!("http://{address}").as_str()
        );
        assert!(!request.headers().contains_key("authorization"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_path_of_a_url_stays_in_front() {
    let (listener, _) = listen().await;
    let port = listener.local_addr().expect("address").port();
    let origin = Origin::parse(&format!("ws://127.0.0.1:{port}/behind/proxy/")).expect("origin");
    let _updates = watch(&origin, ID, None, &options()).expect("watch");
    let (_socket, request) = upgrade(accept(&listener).await).await;
    assert_eq!(
        request.uri().path(),
        "/behind/proxy/api/v1/configs/stunner/udp-gateway"
    );
}

#[tokio::test(start_paused = true)]
async fn recorded_stories_give_one_update_per_change_and_none_for_the_deletion() {
    for (recording, id) in [
        ("watch-one.txt", ID),
        ("watch-one-node.txt", ID),
        ("watch-missing.txt", "stunner/appears-later"),
    ] {
        let (listener, origin) = listen().await;
        let mut updates = watch(&origin, id, None, &options()).expect("watch");
        let mut socket = subscriber(&listener).await;
        let mut last: Option<String> = None;
        let mut distinct = 0;
        for (step, frame) in frames(recording) {
            push(&mut socket, &frame).await;
            if step.contains("is deleted") || last.as_ref() == Some(&frame) {
                nothing_for(&mut updates, Duration::from_secs(1)).await;
                continue;
            }
            let update = next(&mut updates).await;
            assert_eq!(update.config.admin.name, id, "{recording}: {step}");
            last = Some(frame);
            distinct += 1;
        }
        assert!(distinct >= 2, "{recording} has a story");
    }
}

#[tokio::test(start_paused = true)]
async fn a_keepalive_goes_out_every_five_seconds_as_recorded() {
    let (listener, origin) = listen().await;
    let _updates = watch(&origin, ID, None, &options()).expect("watch");
    let mut socket = subscriber(&listener).await;
    let upgraded = Instant::now();
    let recorded = fixture("keepalive.txt");
    for line in recorded.lines().skip(1) {
        let seconds = line.split_whitespace().next().expect("a time");
        let message = socket.next().await.expect("open").expect("message");
        assert_eq!(message, Message::Ping(Bytes::from_static(b"keepalive")));
        let elapsed = upgraded.elapsed().as_secs_f32();
        assert!(
            (elapsed - seconds.parse::<f32>().expect("seconds")).abs() < 0.1,
            "{elapsed}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_pong_keeps_a_silent_connection_alive() {
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &options()).expect("watch");
    let mut socket = subscriber(&listener).await;
    push(&mut socket, &config(1)).await;
    next(&mut updates).await;
    // `next` on the server side answers pings; twelve of them are a minute without any other message.
    for _ in 0..12 {
        assert!(
            socket
                .next()
                .await
                .expect("open")
                .expect("message")
                .is_ping()
        );
    }
    push(&mut socket, &config(2)).await;
    assert_eq!(port_of(&next(&mut updates).await), 2);
}

#[tokio::test(start_paused = true)]
async fn a_half_open_connection_is_given_up_after_eight_seconds_and_opened_anew() {
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &options()).expect("watch");
    // Held and never read from, so pings get no answer.
    let mut half_open = subscriber(&listener).await;
    push(&mut half_open, &config(1)).await;
    assert_eq!(port_of(&next(&mut updates).await), 1);
    let since = Instant::now();
    let mut socket = subscriber(&listener).await;
    let elapsed = since.elapsed().as_secs_f32();
    assert!((8.4..9.6).contains(&elapsed), "{elapsed}");
    push(&mut socket, &config(2)).await;
    assert_eq!(port_of(&next(&mut updates).await), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_upgrades_is_given_up_and_tried_again() {
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &options()).expect("watch");
    let mut silent = accept(&listener).await;
    read_head(&mut silent).await;
    let since = Instant::now();
    let mut socket = subscriber(&listener).await;
    let elapsed = since.elapsed().as_secs_f32();
    assert!((8.4..9.6).contains(&elapsed), "{elapsed}");
    push(&mut socket, &config(1)).await;
    next(&mut updates).await;
}

#[tokio::test(start_paused = true)]
async fn a_frame_that_trickles_in_does_not_hold_the_connection_for_ever() {
    use tokio::io::AsyncWriteExt;
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &options()).expect("watch");
    let mut slow = subscriber(&listener).await;
    let trickle = async {
        // The header of a text frame of 1000 bytes, then one byte a second.
        let stream = slow.get_mut();
        stream
            .write_all(&[0x81, 126, 0x03, 0xe8])
            .await
            .expect("header");
        while stream.write_all(b" ").await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    };
    let since = Instant::now();
    let mut socket = tokio::select! {
        socket = subscriber(&listener) => socket,
        () = trickle => unreachable!(),
    };
    assert!(since.elapsed() < Duration::from_secs(10));
    push(&mut socket, &config(1)).await;
    next(&mut updates).await;
}

#[tokio::test(start_paused = true)]
async fn bad_frames_are_ignored_on_a_connection_that_stays() {
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &options()).expect("watch");
    let mut socket = subscriber(&listener).await;
    push(&mut socket, &config(1)).await;
    assert_eq!(port_of(&next(&mut updates).await), 1);
    let nested = "[".repeat(100_000);
    for bad in [
        "",
        "   ",
        "{",
        "\u{0}\u{1}",
        "null",
        "[]",
        "\"text\"",
        r#"{"version":"v9"}"#,
        r#"{"version":"v1","auth":{"type":"nonsense"}}"#,
        nested.as_str(),
    ] {
        push(&mut socket, bad).await;
    }
    nothing_for(&mut updates, Duration::from_secs(1)).await;
    push(&mut socket, &config(2)).await;
    assert_eq!(port_of(&next(&mut updates).await), 2);
}

#[tokio::test(start_paused = true)]
async fn a_config_that_the_judge_refuses_is_ignored() {
    let (listener, origin) = listen().await;
    let mut options = options();
    options.judge = Some(std::sync::Arc::new(|config| {
        let bad = config.listeners[0].port == 2;
        bad.then(|| stunner_config::Problem {
            severity: stunner_config::Severity::Error,
            path: "listeners[0].cert".into(),
            line: None,
            column: None,
            message: "the certificate does not fit the key".into(),
            hint: None,
        })
        .into_iter()
        .collect()
    }));
    let mut updates = watch(&origin, ID, None, &options).expect("watch");
    let mut socket = subscriber(&listener).await;
    for port in [1, 2, 3] {
        push(&mut socket, &config(port)).await;
        if port != 2 {
            assert_eq!(port_of(&next(&mut updates).await), port);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_binary_frame_an_oversized_frame_or_a_close_leads_to_a_new_connection() {
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &options()).expect("watch");
    for (port, bad) in [
        (1, Message::binary(vec![1, 2, 3])),
        (2, Message::Close(None)),
        (3, Message::text(" ".repeat(16 * 1024 * 1024 + 1))),
    ] {
        let mut socket = subscriber(&listener).await;
        push(&mut socket, &config(port)).await;
        assert_eq!(port_of(&next(&mut updates).await), port);
        // The client hangs up in the middle of the large one.
        let _ = socket.send(bad).await;
    }
    subscriber(&listener).await;
    nothing_for(&mut updates, Duration::from_secs(1)).await;
}

#[tokio::test(start_paused = true)]
async fn reconnections_back_off_with_jitter_and_start_over_after_a_healthy_connection() {
    let (listener, origin) = listen().await;
    let _updates = watch(&origin, ID, None, &options()).expect("watch");
    drop(accept(&listener).await);
    for step in [1.0, 2.0, 4.0, 8.0, 10.0, 10.0] {
        let since = Instant::now();
        drop(accept(&listener).await);
        let gap = since.elapsed().as_secs_f64();
        assert!(
            gap >= step * 0.5 - 0.01 && gap <= (step * 1.5f64).min(10.0) + 0.01,
            "{step}: {gap}"
        );
    }
    let socket = subscriber(&listener).await;
    let _ = tokio::time::timeout(Duration::from_secs(6), keep_alive(socket)).await;
    let since = Instant::now();
    drop(accept(&listener).await);
    assert!(since.elapsed() <= Duration::from_millis(1510));
}

#[tokio::test(start_paused = true)]
async fn a_fleet_that_loses_its_server_comes_back_spread_out() {
    let (listener, origin) = listen().await;
    let watches: Vec<_> = (0..50)
        .map(|_| watch(&origin, ID, None, &options()).expect("watch"))
        .collect();
    for _ in &watches {
        drop(accept(&listener).await);
    }
    let since = Instant::now();
    let mut per_tenth = [0u32; 16];
    for _ in &watches {
        drop(accept(&listener).await);
        let tenth = since.elapsed().as_millis() as usize / 100;
        per_tenth[tenth.min(15)] += 1;
    }
    assert!(per_tenth.iter().all(|count| *count < 20), "{per_tenth:?}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_upgrade_is_tried_again() {
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &options()).expect("watch");
    for status in ["403 Forbidden", "404 Not Found", "500 Oops", "200 OK"] {
        let mut stream = accept(&listener).await;
        read_head(&mut stream).await;
        answer(&mut stream, status, "no").await;
    }
    let mut socket = subscriber(&listener).await;
    push(&mut socket, &config(1)).await;
    next(&mut updates).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_consumer_gets_the_newest_config_and_the_connection_stays_alive() {
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &options()).expect("watch");
    let mut socket = subscriber(&listener).await;
    for port in 1..=500 {
        push(&mut socket, &config(port)).await;
    }
    let alive = async {
        for _ in 0..6 {
            assert!(
                socket
                    .next()
                    .await
                    .expect("open")
                    .expect("message")
                    .is_ping()
            );
        }
    };
    alive.await;
    let mut seen = vec![port_of(&next(&mut updates).await)];
    while seen.last() != Some(&500) {
        seen.push(port_of(&next(&mut updates).await));
    }
    assert!(seen.len() <= 3, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn an_equal_config_in_another_form_is_not_an_update() {
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &options()).expect("watch");
    let mut socket = subscriber(&listener).await;
    push(&mut socket, &config(1)).await;
    next(&mut updates).await;
    push(&mut socket, &format!("\n  {}", config(1))).await;
    push(&mut socket, &config(1).replace("$STUNNER_ADDR", "10.1.2.3")).await;
    nothing_for(&mut updates, Duration::from_secs(1)).await;
}

#[tokio::test(start_paused = true)]
async fn dropping_the_receiver_ends_the_watch() {
    let (listener, origin) = listen().await;
    let updates = watch(&origin, ID, None, &options()).expect("watch");
    let mut socket = subscriber(&listener).await;
    drop(updates);
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(
        Duration::from_secs(1),
        socket.get_mut().read_to_end(&mut rest),
    );
    ended.await.expect("the connection ends").ok();
}

#[tokio::test]
async fn ids_and_origins_that_cannot_work_are_refused_at_once() {
    let (_listener, origin) = listen().await;
    let refused = watch(&origin, "a/b/c", None, &options()).expect_err("id");
    assert_eq!(refused, OriginError::Id { id: "a/b/c".into() });
    let refused = watch(&Origin::Kubernetes, ID, None, &options()).expect_err("k8s");
    assert_eq!(refused, OriginError::KubernetesUnsupported);
}
