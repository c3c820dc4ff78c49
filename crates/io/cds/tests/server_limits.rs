//! What clients cannot do to the service and to each other.

mod service;

use std::time::{Duration, Instant};

use service::*;
use stunner_cds::server::{ConfigStore, ServerLimits, ServerOptions};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

fn limits(change: impl FnOnce(&mut ServerLimits)) -> ServerOptions {
    let mut options = ServerOptions::default();
    change(&mut options.limits);
    options
}

#[tokio::test]
async fn a_client_that_takes_nothing_for_long_is_cut_off() {
    let store = ConfigStore::new();
    let options = limits(|limits| limits.http.write_timeout = Duration::from_millis(200));
    let (_server, address) = serve_with(&store, options);
    let _stuck = Watcher::open(address, "/api/v1/configs?watch=true").await;
    let mut other = Watcher::open(address, "/api/v1/configs/a/small?watch=true").await;
    let filler = "x".repeat(16 << 20);
    store.publish(id("a/large"), config("a/large", &filler));
    eventually("cut off", || store.census().subscribers_cut == 1).await;
    eventually("forgotten", || store.census().subscribers == 1).await;
    store.publish(id("a/small"), config("a/small", ""));
    assert_eq!(name_of(&other.payload().await), "a/small");
}

#[tokio::test]
async fn a_watch_without_upgrade_leaves_nothing_behind() {
    let store = ConfigStore::new();
    let (_server, address) = serve(&store);
    for _ in 0..300 {
        let answer = get(address, "/api/v1/configs/a/x?watch=true").await;
        assert_eq!(answer.code(), 400);
    }
    assert_eq!(store.census().subscribers, 0);
    for n in 0..1_000 {
        store.publish(id("a/x"), config("a/x", &n.to_string()));
    }
    let answer = get(address, "/api/v1/configs/a/x").await;
    assert_eq!(answer.json()["note"], "999");
}

#[tokio::test]
async fn clients_that_vanish_are_forgotten() {
    let store = ConfigStore::new();
    let (_server, address) = serve(&store);
    let mut clients = Vec::new();
    for _ in 0..50 {
        clients.push(Watcher::open(address, "/api/v1/configs?watch=true").await);
    }
    eventually("subscribed", || store.census().subscribers == 50).await;
    for (index, mut client) in clients.into_iter().enumerate() {
        // Half of them say goodbye, and are answered.
        if index % 2 == 0 {
            client.send(0x8, &[0x03, 0xe8]).await;
            let close = client.rest().await;
            assert_eq!(close, [0x88, 2, 0x03, 0xe8]);
        }
    }
    eventually("forgotten", || store.census().subscribers == 0).await;
}

#[tokio::test]
async fn watches_beyond_the_limit_are_turned_away_until_there_is_room() {
    let store = ConfigStore::new();
    let (_server, address) = serve_with(&store, limits(|limits| limits.subscribers = 2));
    let target = "/api/v1/configs?watch=true";
    let first = Watcher::open(address, target).await;
    let _second = Watcher::open(address, target).await;
    let third = Watcher::open(address, target).await;
    assert_eq!(third.answer.code(), 503);
    assert_eq!(third.answer.json()["code"], 503);
    assert_eq!(store.census().subscribers_refused, 1);
    // Those who only look are still served.
    assert_eq!(get(address, "/api/v1/configs").await.code(), 200);
    drop(first);
    eventually("room", || store.census().subscribers == 1).await;
    let deadline = Instant::now() + PATIENCE;
    while Watcher::open(address, target).await.answer.code() != 101 {
        assert!(Instant::now() < deadline, "no room");
    }
}

#[tokio::test]
async fn what_clients_say_is_ignored_up_to_a_size() {
    let store = ConfigStore::new();
    let (_server, address) = serve(&store);
    let mut client = Watcher::open(address, "/api/v1/configs?watch=true").await;
    for n in 0..100 {
        client.send(0x1 + n % 2, b"whatever").await;
    }
    store.publish(id("a/x"), config("a/x", ""));
    assert_eq!(name_of(&client.payload().await), "a/x");
    // A frame that says it is a gigabyte long.
    let mut huge = vec![0x82, 0xff];
    huge.extend((1_u64 << 30).to_be_bytes());
    huge.extend([0; 4]);
    client.stream.write_all(&huge).await.expect("sent");
    assert_eq!(client.frame().await, None);
    eventually("gone", || store.census().subscribers == 0).await;
}

#[tokio::test]
async fn pings_sent_in_a_burst_are_all_answered_in_the_one_way() {
    let (_server, address) = serve(&ConfigStore::new());
    let mut client = Watcher::open(address, "/api/v1/configs?watch=true").await;
    for n in 0..50 {
        client.send(0x9, &[b'a' + n % 26; 3]).await;
    }
    for _ in 0..50 {
        let pong = client.frame().await.expect("a pong");
        assert_eq!((pong.header.as_str(), pong.payload.as_str()), PONG);
    }
}

#[tokio::test]
async fn frames_sent_right_behind_the_request_are_not_lost() {
    let (_server, address) = serve(&ConfigStore::new());
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = "GET /api/v1/configs?watch=true HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Key: Zml4dHVyZS1rZXktMDAwMA==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    let ping = [0x89, 0x80, 0, 0, 0, 0];
    stream
        .write_all(&[head.as_bytes(), &ping].concat())
        .await
        .expect("sent");
    let mut client = Watcher::answered(stream).await;
    assert_eq!(client.answer.code(), 101);
    assert_eq!(client.frame().await.expect("a pong").payload, "keepalive");
}

#[tokio::test]
async fn stopping_says_goodbye_and_waits_for_nobody_for_long() {
    let store = ConfigStore::new();
    store.publish(id("a/large"), config("a/large", &"x".repeat(16 << 20)));
    let (server, address) = serve(&store);
    let _stuck = Watcher::open(address, "/api/v1/configs/a/large?watch=true").await;
    let mut well = Watcher::open(address, "/api/v1/configs/a/none?watch=true").await;
    eventually("subscribed", || store.census().subscribers == 2).await;
    let start = Instant::now();
    server.stop().await;
    assert!(start.elapsed() < Duration::from_secs(4));
    let close = well.frame().await.expect("a close frame");
    assert_eq!(
        (close.header.as_str(), close.payload.as_str()),
        ("88 00", "")
    );
    assert_eq!(well.frame().await, None);
    eventually("dropped", || store.census().subscribers == 0).await;
    TcpStream::connect(address).await.expect_err("closed");
}

#[tokio::test]
async fn a_server_that_is_dropped_ends_its_watches() {
    let store = ConfigStore::new();
    let (server, address) = serve(&store);
    let mut client = Watcher::open(address, "/api/v1/configs?watch=true").await;
    drop(server);
    assert_eq!(client.frame().await.expect("a close frame").header, "88 00");
    assert_eq!(client.frame().await, None);
}

/// How many connections this process can hold to itself.
fn room_for_connections() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("limits");
    let files = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    files.map_or(1_000, |files| files.saturating_sub(100) / 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_change_among_a_thousand_subscribers_reaches_the_one_concerned_at_once() {
    let count = room_for_connections().min(1_000);
    let store = ConfigStore::new();
    let (_server, address) = serve(&store);
    let mut clients = Vec::new();
    for n in 0..count {
        let target = format!("/api/v1/configs/ns/gw-{n}?watch=true&node=node-{}", n % 10);
        clients.push(Watcher::open(address, &target).await);
    }
    eventually("subscribed", || store.census().subscribers == count).await;
    let mut times = Vec::new();
    for n in (0..count).step_by(count / 20) {
        let name = format!("ns/gw-{n}");
        let start = Instant::now();
        store.publish(id(&name), config(&name, ""));
        assert_eq!(name_of(&clients[n].payload().await), name);
        times.push(start.elapsed());
    }
    times.sort();
    let median = times[times.len() / 2];
    assert!(median < Duration::from_millis(10), "{times:?}");
    // Nobody else was told: these are all frames there were.
    let frames = u64::try_from(times.len()).expect("a number");
    eventually("counted", || store.census().frames_sent == frames).await;
}

#[tokio::test]
async fn garbage_before_and_after_the_upgrade_harms_nobody_else() {
    let store = ConfigStore::new();
    let (_server, address) = serve(&store);
    let mut well = Watcher::open(address, "/api/v1/configs?watch=true").await;
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut noise = || {
        // xorshift: the same bytes in every run.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    for round in 0..200 {
        let bytes: Vec<u8> = (0..=round % 16).flat_map(|_| noise()).collect();
        let mut stream = match round % 2 {
            0 => TcpStream::connect(address).await.expect("a connection"),
            _ => {
                Watcher::open(address, "/api/v1/configs?watch=true")
                    .await
                    .stream
            }
        };
        // The server may have hung up in the middle of it.
        let _ = stream.write_all(&bytes).await;
    }
    eventually("only one left", || store.census().subscribers == 1).await;
    store.publish(id("a/x"), config("a/x", ""));
    assert_eq!(name_of(&well.payload().await), "a/x");
}
