//! The recorded subscriptions, frame by frame.

mod service;

use std::collections::HashMap;

use serde_json::Value;
use service::*;
use stunner_cds::server::ConfigStore;
use tokio::net::TcpStream;

const DELETION_MARK: &str = "dummy-password";

/// The frames of a recording by the step of the story they belong to.
fn story(name: &str) -> Vec<(String, Vec<Frame>)> {
    let mut steps: Vec<(String, Vec<Frame>)> = Vec::new();
    let text = fixture(name);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            steps.push((title.to_owned(), Vec::new()));
        } else if let Some(header) = line.strip_prefix("header ")
            && let Some((bytes, _)) = header.split_once(" (")
            && bytes != "-"
        {
            let frame = Frame {
                header: bytes.to_owned(),
                payload: lines.next().expect("a payload").to_owned(),
            };
            steps.last_mut().expect("a step").1.push(frame);
        }
    }
    steps
}

/// A config without the order of its lists, in which the recorded operator was not steady.
fn essence(text: &str) -> String {
    fn sort(value: &mut Value) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(sort);
                items.sort_by_key(Value::to_string);
            }
            Value::Object(map) => map.values_mut().for_each(sort),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(text).expect("JSON");
    sort(&mut value);
    value.to_string()
}

/// Leaves out the frames that tell nothing new: the recorded operator sent configs again that had not changed.
fn without_repetitions(story: Vec<(String, Vec<Frame>)>) -> Vec<(String, Vec<Frame>)> {
    let mut last: HashMap<String, String> = HashMap::new();
    let mut fresh = |frame: &Frame| {
        if !frame.payload.starts_with('{') {
            return true;
        }
        let essence = essence(&frame.payload);
        last.insert(name_of(&frame.payload), essence.clone()) != Some(essence)
    };
    story
        .into_iter()
        .map(|(step, frames)| {
            (
                step,
                frames.into_iter().filter(|frame| fresh(frame)).collect(),
            )
        })
        .collect()
}

const STORIES: [(&str, &str); 5] = [
    ("watch-all.txt", "/api/v1/configs?watch=true"),
    ("watch-namespace.txt", "/api/v1/configs/stunner?watch=true"),
    (
        "watch-one.txt",
        "/api/v1/configs/stunner/udp-gateway?watch=true",
    ),
    (
        "watch-one-node.txt",
        "/api/v1/configs/stunner/udp-gateway?watch=true&node=node-a",
    ),
    (
        "watch-missing.txt",
        "/api/v1/configs/stunner/appears-later?watch=true",
    ),
];

fn covers(target: &str, name: &str) -> bool {
    let path = target.split('?').next().expect("a path");
    match path.strip_prefix("/api/v1/configs/") {
        Some(scope) => name == scope || name.starts_with(&format!("{scope}/")),
        None => true,
    }
}

fn apply(store: &ConfigStore, payload: &str) {
    let changed = match payload.contains(DELETION_MARK) {
        true => store.remove(&id(&name_of(payload))),
        false => {
            let (id, config) = recorded(payload);
            store.publish(id, config)
        }
    };
    assert!(changed, "{payload}");
}

/// The story of `watch-all.txt` tells what happens; each of five clients must see what its own recording says.
#[tokio::test]
async fn five_recorded_subscriptions_over_one_story() {
    let store = ConfigStore::new();
    let all = without_repetitions(story("watch-all.txt"));
    for frame in &all[0].1 {
        apply(&store, &frame.payload);
    }
    let (server, address) = serve(&store);
    let mut server = Some(server);
    let mut clients: Vec<Watcher<TcpStream>> = Vec::new();
    for (_, target) in STORIES {
        clients.push(Watcher::open(address, target).await);
    }
    let mut seen: Vec<HashMap<String, Vec<Frame>>> = vec![HashMap::new(); clients.len()];
    for (step, frames) in &all {
        for frame in frames {
            if !frame.payload.starts_with('{') {
                continue;
            }
            if step != "on subscribe" {
                apply(&store, &frame.payload);
            }
            for (index, (_, target)) in STORIES.iter().enumerate() {
                if covers(target, &name_of(&frame.payload)) {
                    let got = clients[index].frame().await.expect("a frame");
                    seen[index].entry(step.clone()).or_default().push(got);
                }
            }
        }
        match step.as_str() {
            step if step.starts_with("client pings") => {
                for (index, said) in [(2, &b"anything"[..]), (3, b"")] {
                    clients[index].send(0x9, said).await;
                    let pong = clients[index].frame().await.expect("a pong");
                    seen[index].entry(step.to_owned()).or_default().push(pong);
                }
            }
            step if step.starts_with("client sends a text frame") => {
                clients[2].send(0x1, b"hello").await;
            }
            step if step.starts_with("Gateway stunner/udp-gateway is deleted") => {
                let answer = get(address, "/api/v1/configs/stunner/udp-gateway").await;
                let recorded = fixture("watch-one.txt");
                assert_eq!(answer.code(), 404);
                assert!(recorded.contains(answer.body.trim_end()));
            }
            "the operator gets SIGTERM" => {
                let running = server.take().expect("once");
                let stopping = tokio::spawn(running.stop());
                for (index, client) in clients.iter_mut().enumerate() {
                    let close = client.frame().await.expect("a close frame");
                    seen[index].entry(step.clone()).or_default().push(close);
                    assert_eq!(client.frame().await, None, "the end of the connection");
                }
                drop(std::mem::take(&mut clients));
                stopping.await.expect("stopped");
            }
            _ => {}
        }
    }
    for (index, (name, _)) in STORIES.iter().enumerate() {
        for (step, mut expected) in without_repetitions(story(name)) {
            let mut got = seen[index].remove(&step).unwrap_or_default();
            // Among the frames of one step the recordings have no order.
            expected.sort();
            got.sort();
            assert_eq!(got, expected, "{name}: {step}");
        }
        assert!(seen[index].is_empty(), "{name}");
    }
    assert_eq!(store.census().subscribers, 0);
}

#[tokio::test]
async fn subscribers_of_a_node_follow_its_address_and_others_do_not_hear_of_it() {
    let text = fixture("node-patching.txt");
    let mut events: Vec<(String, String, Option<Frame>)> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some((event, target)) = line
            .strip_prefix("## ")
            .and_then(|line| line.split_once(": watch of "))
        {
            let frame = lines.next().and_then(|line| {
                let header = line.strip_prefix("header ")?.split_once(" (")?.0;
                Some(Frame {
                    header: header.to_owned(),
                    payload: lines.next()?.to_owned(),
                })
            });
            events.push((event.to_owned(), target.replacen('&', "?", 1), frame));
        }
    }
    let store = ConfigStore::new();
    store.set_node_address("node-a", Some("203.0.113.50"));
    // A subscriber without a node sees the config as it is stored.
    let stored = |event: &str| {
        let of_event = events.iter().find(|(name, _, _)| name == event);
        of_event.and_then(|(_, _, frame)| frame.clone())
    };
    apply(&store, &stored("on subscribe").expect("a config").payload);
    let (_server, address) = serve(&store);
    let mut clients: HashMap<String, Watcher<TcpStream>> = HashMap::new();
    let mut last_event = "on subscribe".to_owned();
    for (event, target, frame) in &events {
        if *event != last_event {
            last_event.clone_from(event);
            match event.as_str() {
                "node-a's address changes to 203.0.113.51" => {
                    store.set_node_address("node-a", Some("203.0.113.51"));
                    store.set_node_address("node-a", Some("203.0.113.51"));
                }
                _ => apply(&store, &stored(event).expect("a config").payload),
            }
        }
        if !clients.contains_key(target) {
            let separator = if target.contains('?') { '&' } else { '?' };
            let watch = format!("{target}{separator}watch=true");
            clients.insert(target.clone(), Watcher::open(address, &watch).await);
        }
        let client = clients.get_mut(target).expect("a client");
        match frame {
            Some(frame) => assert_eq!(
                client.frame().await.as_ref(),
                Some(frame),
                "{event}: {target}"
            ),
            None => client.expect_silence().await,
        }
    }
    assert_eq!(events.len(), 16);
}

#[tokio::test]
async fn a_node_that_loses_its_address_falls_back_and_a_config_without_placeholder_is_left_alone() {
    let store = ConfigStore::new();
    let with = |address: &str| serde_json::json!({ "admin": { "name": "a/x" }, "listeners": [{ "address": address }] });
    store.publish(id("a/x"), &with("__node_address_placeholder"));
    store.publish(id("a/y"), &with("10.0.0.1"));
    let (_server, address) = serve(&store);
    let mut patched = Watcher::open(address, "/api/v1/configs/a/x?watch=true&node=n").await;
    let mut plain = Watcher::open(address, "/api/v1/configs/a/y?watch=true&node=n").await;
    assert!(patched.payload().await.contains("$STUNNER_ADDR"));
    assert!(plain.payload().await.contains("10.0.0.1"));
    // The address that stands for none anyway: nothing changes.
    store.set_node_address("n", Some("$STUNNER_ADDR"));
    patched.expect_silence().await;
    store.set_node_address("n", Some("2001:db8::1"));
    assert!(patched.payload().await.contains("2001:db8::1"));
    store.set_node_address("n", None);
    assert!(patched.payload().await.contains("$STUNNER_ADDR"));
    plain.expect_silence().await;
}

#[tokio::test]
async fn an_unchanged_config_is_not_sent_again() {
    let store = ConfigStore::new();
    let (_server, address) = serve(&store);
    let mut client = Watcher::open(address, "/api/v1/configs?watch=true").await;
    assert!(store.publish(id("a/x"), config("a/x", "1")));
    client.payload().await;
    assert!(!store.publish(id("a/x"), config("a/x", "1")));
    assert!(!store.remove(&id("a/y")));
    client.expect_silence().await;
    assert_eq!(store.census().frames_sent, 1);
}
