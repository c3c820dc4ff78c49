//! Every recorded request gets the recorded answer.

mod service;

use service::*;
use stunner_cds::server::{ConfigStore, ConfigText, NODE_ADDRESS_PLACEHOLDER};
use tokio::net::TcpStream;

struct Exchange {
    request: Vec<String>,
    status: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// Reads a recording: lines of the client begin with `> `, those of notes with `#`.
fn exchanges(name: &str) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    let text = fixture(name);
    let mut lines = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("> ") else {
            continue;
        };
        let mut request = vec![first.to_owned()];
        while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
            request.push(more[2..].to_owned());
        }
        lines.next();
        let status = lines.next().expect("a status").to_owned();
        let mut headers = Vec::new();
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").expect("a header");
            headers.push((name.to_owned(), value.to_owned()));
        }
        let body = lines.next().unwrap_or_default().to_owned();
        exchanges.push(Exchange {
            request,
            status,
            headers,
            body,
        });
    }
    assert!(!exchanges.is_empty(), "{name}");
    exchanges
}

/// The items of a recorded list, each as it stands.
fn items(list: &str) -> Vec<&str> {
    let inner = list.strip_prefix(r#"{"items":["#).expect("a list");
    let inner = inner.strip_suffix(r#"],"version":"v1"}"#).expect("a list");
    let starts: Vec<_> = inner
        .match_indices(r#"{"version":"v1","admin""#)
        .map(|(at, _)| at)
        .collect();
    let ends = starts.iter().skip(1).map(|next| next - 1);
    let ends = ends.chain([inner.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &inner[*start..end])
        .collect()
}

/// The recorded list with its items in the order of their ids.
fn sorted(list: &str) -> String {
    let mut items = items(list);
    items.sort_by_key(|item| id(&name_of(item)));
    format!(r#"{{"items":[{}],"version":"v1"}}"#, items.join(","))
}

fn recorded_store() -> ConfigStore {
    let store = ConfigStore::new();
    let all = &exchanges("configs-all.http")[0].body;
    for item in items(all) {
        let (id, config) = recorded(item);
        assert!(store.publish(id, config));
    }
    store
}

#[tokio::test]
async fn recorded_requests_get_the_recorded_answers() {
    let store = recorded_store();
    let (_server, address) = serve(&store);
    for recording in [
        "config-one.http",
        "config-one-node.http",
        "config-unknown.http",
        "configs-all.http",
        "configs-namespace.http",
        "configs-namespace-empty.http",
        "license.http",
        "errors.http",
        "watch-handshake.http",
    ] {
        for recorded in exchanges(recording) {
            let what = format!("{recording}: {}", recorded.request.join(" | "));
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            let request: Vec<_> = recorded.request.iter().map(String::as_str).collect();
            let answer = exchange(&mut stream, &request).await;
            assert_eq!(answer.status, recorded.status, "{what}");
            for (name, value) in &recorded.headers {
                match (name.as_str(), answer.header(name)) {
                    ("Content-Length", Some(length)) => {
                        assert_eq!(length, answer.body.len().to_string(), "{what}");
                    }
                    ("Date", Some(date)) => assert!(date.ends_with(" GMT"), "{what}: {date}"),
                    (_, found) => assert_eq!(found, Some(value.as_str()), "{what}: {name}"),
                }
            }
            // Nothing that was not recorded, except for the date that is part of every answer of ours.
            for (name, _) in &answer.headers {
                let known = |(key, _): &(String, String)| key.eq_ignore_ascii_case(name);
                assert!(
                    name == "Date"
                        || name == "Content-Length"
                        || recorded.headers.iter().any(known),
                    "{what}: {name}"
                );
            }
            match recorded.body.as_str() {
                "<own words>" => assert!(answer.body.len() > 10, "{what}"),
                "" | "(frames follow)" => assert_eq!(answer.body, "", "{what}"),
                list if list.starts_with(r#"{"items""#) => {
                    assert_eq!(answer.body, sorted(list) + "\n", "{what}");
                }
                body => assert_eq!(answer.body, format!("{body}\n"), "{what}"),
            }
        }
    }
}

#[tokio::test]
async fn the_requests_of_the_go_clients_are_answered() {
    let store = recorded_store();
    let (_server, address) = serve(&store);
    for (recording, code) in [
        ("clients/auth-service.http", 101),
        ("clients/stunnerctl-config-all.http", 200),
        ("clients/stunnerctl-config-default-namespace.http", 200),
        ("clients/stunnerctl-config-namespace.http", 200),
        ("clients/stunnerctl-config-node.http", 200),
        ("clients/stunnerctl-config-one.http", 200),
        ("clients/stunnerctl-config-watch-all.http", 101),
        ("clients/stunnerctl-config-watch-one.http", 101),
        ("clients/stunnerctl-license.http", 200),
        ("clients/stunnerd-default-id.http", 101),
        ("clients/turncat-k8s.http", 200),
        ("stunnerd-once.http", 200),
        ("stunnerd-once-node.http", 200),
        ("stunnerd-watch.http", 101),
        ("stunnerd-watch-node.http", 101),
    ] {
        let text = fixture(recording);
        let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let answer = exchange(&mut stream, &lines).await;
        assert_eq!(answer.code(), code, "{recording}: {answer:?}");
    }
}

#[test]
fn a_config_of_our_own_is_written_as_the_go_operator_writes_it() {
    let all = &exchanges("configs-all.http")[0].body;
    for text in items(all) {
        let parsed = stunner_config::parse(text, &|_| Some("10.1.2.3".to_owned()));
        let mut config = parsed.expect("a config").config;
        for listener in &mut config.listeners {
            // The operator does not know it; the dataplane puts it in.
            listener.address_text = "$STUNNER_ADDR".to_owned();
        }
        assert_eq!(ConfigText::from(&config).as_str(), text);
    }
}

#[tokio::test]
async fn the_licence_lists_the_features_it_is_given() {
    let options = stunner_cds::server::ServerOptions {
        features: vec!["UserQuota".to_owned(), "DaemonSet".to_owned()],
        ..Default::default()
    };
    let (_server, address) = serve_with(&ConfigStore::new(), options);
    assert_eq!(
        get(address, "/api/v1/license").await.body,
        "{\"enabledFeatures\":[\"UserQuota\",\"DaemonSet\"],\"subscriptionType\":\"free\",\"lastUpdated\":\"N/A\",\"lastError\":\"\"}\n"
    );
}

#[tokio::test]
async fn odd_requests_are_refused_and_harm_nothing() {
    let store = recorded_store();
    let (_server, address) = serve(&store);
    for (target, code) in [
        ("/api/v1/configs/%ff/x", 400),
        ("/api/v1/configs/stunner/udp-gateway?watch=maybe", 400),
        ("/api/v1/configs/stunner/udp-gateway?watch=1", 400),
        ("/api/v1/configs/stunner/udp-gateway/", 404),
        ("/api/v1/configs//udp-gateway", 404),
        ("/api/v1/configs/stunner%2Fudp-gateway", 200),
        ("/api/v1/configs/stunner/%3Cscript%3E", 404),
        ("/api/v1/configs/stunner/udp-gateway?node=%00", 200),
    ] {
        assert_eq!(get(address, target).await.code(), code, "{target}");
    }
    let answer = get(address, "/api/v1/configs/stunner/%3Cscript%3E").await;
    assert!(!answer.body.contains('<'), "{}", answer.body);
    assert_eq!(store.census().subscribers, 0);
}

#[tokio::test]
async fn a_list_is_the_same_bytes_whenever_it_is_asked_for() {
    let store = recorded_store();
    let (_server, address) = serve(&store);
    let first = get(address, "/api/v1/configs").await.body;
    // Taken away and put back in another order.
    let ids = store.ids();
    let list = first.trim_end();
    for id in &ids {
        assert!(store.remove(id));
    }
    assert_eq!(
        get(address, "/api/v1/configs").await.body,
        "{\"items\":[],\"version\":\"v1\"}\n"
    );
    for item in items(list).into_iter().rev() {
        let (id, config) = recorded(item);
        store.publish(id, config);
    }
    assert_eq!(get(address, "/api/v1/configs").await.body, first);
    assert_eq!(store.ids(), ids);
}

#[tokio::test]
async fn the_placeholder_is_replaced_for_a_single_config_only() {
    let store = ConfigStore::new();
    let text = fixture("node-patching.txt");
    let mut lines = text.lines();
    store.set_node_address("node-a", Some("203.0.113.50"));
    let mut checked = 0;
    while let Some(line) = lines.next() {
        let Some(target) = line.strip_prefix("> GET ") else {
            continue;
        };
        let body = lines.next().expect("a body");
        if store.ids().is_empty() {
            assert!(body.contains(NODE_ADDRESS_PLACEHOLDER));
            let (id, config) = recorded(body);
            store.publish(id, config);
        }
        let (_server, address) = serve(&store);
        let answer = get(address, target).await;
        assert_eq!(answer.body, format!("{body}\n"), "{target}");
        checked += 1;
    }
    assert_eq!(checked, 4);
}
