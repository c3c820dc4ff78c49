//! What the config discovery service is asked, and what is made of its answers.

mod support;

use std::time::Duration;

use stunner_cds::CdsServer;
use stunner_cds::server::ConfigStore;
use stunner_cluster::{Cds, CdsFlags, ClusterError, ConfigWatch, Scope, WatchEvent};
use stunner_http::BindAddress;

use support::{answer_once, discovery, hasty, id, loopback, publish};

fn direct(address: impl ToString) -> Cds {
    Cds::direct(&address.to_string(), &CdsFlags::default()).expect("an address")
}

async fn next(watch: &mut ConfigWatch) -> WatchEvent {
    let next = tokio::time::timeout(Duration::from_secs(10), watch.next()).await;
    next.expect("an event in time").expect("an endless watch")
}

/// The next event that is not about the connection.
async fn next_news(watch: &mut ConfigWatch) -> WatchEvent {
    loop {
        match next(watch).await {
            WatchEvent::Down { .. } => {}
            news => return news,
        }
    }
}

fn listed(event: WatchEvent) -> Vec<String> {
    match event {
        WatchEvent::List(list) => list.into_iter().map(|found| found.id).collect(),
        other => panic!("no list: {other:?}"),
    }
}

#[tokio::test]
async fn lists_are_sorted_and_one_is_told_from_none() {
    let store = ConfigStore::new();
    for name in ["stunner/b", "stunner/a", "a-b/z", "a/z"] {
        publish(&store, name, 3478);
    }
    let (_service, address) = discovery(&store, &loopback());
    let cds = direct(address);
    let names = |list: Vec<stunner_cluster::Discovered>| -> Vec<String> {
        list.into_iter().map(|found| found.id).collect()
    };
    // By namespace first: `/` sorts before letters and after `-`.
    assert_eq!(
        names(cds.all().await.expect("a list")),
        ["a/z", "a-b/z", "stunner/a", "stunner/b"]
    );
    let some = cds.namespace("stunner").await.expect("a list");
    assert_eq!(names(some), ["stunner/a", "stunner/b"]);
    assert!(cds.namespace("none").await.expect("a list").is_empty());

    let one = cds.one(&id("stunner/a"), None).await.expect("a config");
    let config = one.config.as_ref().expect("it is read");
    assert_eq!(config.listeners[0].port, 3478);
    assert_eq!(one.value["listeners"][0]["address"], "$STUNNER_ADDR");
    assert!(one.text.starts_with('{') && one.text.contains("hunter2"));
    assert!(!format!("{one:?}").contains("hunter2"));

    let none = cds.one(&id("stunner/none"), None).await.expect_err("none");
    assert!(
        matches!(none, ClusterError::NotFound { .. }) && none.is_not_found(),
        "{none}"
    );
    assert_eq!(none.to_string(), "config of Gateway stunner/none not found");
    assert!(none.hint().is_some());
    let scope = Scope::One(id("stunner/none"));
    assert!(cds.list(&scope, None).await.expect("a list").is_empty());
    let license = cds.license().await.expect("a license");
    assert_eq!(license["subscriptionType"], "free");
}

#[tokio::test]
async fn the_requests_are_those_of_the_go_tools() {
    const NOTHING: &str =
        "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{\"items\":0}";
    let line = |head: String| head.lines().next().unwrap_or_default().to_owned();
    for (scope, node, expected) in [
        (Scope::All, None, "GET /api/v1/configs HTTP/1.1"),
        (
            Scope::Namespace("default".to_owned()),
            None,
            "GET /api/v1/configs/default HTTP/1.1",
        ),
        (
            Scope::One(id("stunner/udp-gateway")),
            None,
            "GET /api/v1/configs/stunner/udp-gateway HTTP/1.1",
        ),
        (
            Scope::One(id("stunner/udp-gateway")),
            Some("node-a"),
            "GET /api/v1/configs/stunner/udp-gateway?node=node-a HTTP/1.1",
        ),
    ] {
        let (address, asked) = answer_once(NOTHING).await;
        let _ = direct(address).by("stunnerctl").list(&scope, node).await;
        let head = asked.await.expect("a request");
        assert!(head.contains(&format!("host: {address}\r\n")), "{head}");
        assert!(head.contains("user-agent: stunnerctl/"), "{head}");
        assert_eq!(line(head), expected);
    }
    let (address, asked) = answer_once(NOTHING).await;
    let _ = direct(address).license().await;
    let head = asked.await.expect("a request");
    assert_eq!(line(head), "GET /api/v1/license HTTP/1.1");

    for (scope, node, expected) in [
        (Scope::All, None, "GET /api/v1/configs?watch=true HTTP/1.1"),
        (
            Scope::One(id("stunner/udp-gateway")),
            Some("node-a".to_owned()),
            "GET /api/v1/configs/stunner/udp-gateway?node=node-a&watch=true HTTP/1.1",
        ),
    ] {
        let (address, asked) = answer_once(NOTHING).await;
        let _watch = direct(address).watch(scope, node);
        let head = asked.await.expect("a request");
        // The service refuses an Origin that is not its own host.
        assert!(
            head.contains(&format!("Origin: http://{address}\r\n")),
            "{head}"
        );
        assert_eq!(line(head), expected);
    }
}

#[tokio::test]
async fn a_recorded_list_of_the_go_operator_is_read() {
    let (address, _asked) = answer_once(
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"items\":[{\"version\":\"v1\",\"admin\":{\"name\":\"stunner/udp-gateway\",\
         \"loglevel\":\"all:INFO\",\"healthcheck_endpoint\":\"http://:8086\",\"offload_engine\":\"None\"},\"auth\":{\"type\":\"static\",\
         \"realm\":\"stunner.l7mp.io\",\"credentials\":{\"password\":\"fixture-pass\",\"username\":\"fixture-user\"}},\"listeners\":\
         [{\"name\":\"stunner/udp-gateway/udp-listener\",\"protocol\":\"TURN-UDP\",\"address\":\"$STUNNER_ADDR\",\"port\":3478,\
         \"routes\":[\"stunner/media\"]}],\"clusters\":[{\"name\":\"stunner/media\",\"type\":\"STATIC\",\"protocol\":\"udp\",\
         \"endpoints\":[\"10.0.0.1\"]}]}],\"version\":\"v1\"}",
    )
    .await;
    let all = direct(address).all().await.expect("a list");
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].id, "stunner/udp-gateway");
    assert_eq!(all[0].config_id(), Some(id("stunner/udp-gateway")));
    assert!(all[0].config.is_ok());
}

#[tokio::test]
async fn a_list_without_elements_may_be_null() {
    let (address, _asked) = answer_once(
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"version\":\"v1\",\"items\":null}",
    )
    .await;
    assert!(direct(address).all().await.expect("a list").is_empty());
    let (address, _asked) = answer_once("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<html>").await;
    let refused = direct(address).all().await.expect_err("no list");
    assert!(
        matches!(refused, ClusterError::Malformed { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn a_service_that_is_not_there_is_told_with_its_address() {
    let refused = direct("127.0.0.1:1").all().await.expect_err("nobody");
    assert_eq!(refused.to_string(), "cannot connect to `127.0.0.1:1`");
    assert!(
        refused
            .hint()
            .expect("a hint")
            .contains("discovery service")
    );
    let nonsense = Cds::direct("http://u:p@host", &CdsFlags::default()).expect_err("no address");
    assert!(!nonsense.to_string().contains("u:p"));
}

#[tokio::test]
async fn a_watch_begins_with_all_there_is_and_tells_changes_and_deletions() {
    let store = ConfigStore::new();
    publish(&store, "stunner/a", 1);
    publish(&store, "other/b", 1);
    let (_service, address) = discovery(&store, &loopback());
    let mut watch = direct(address).watch(Scope::Namespace("stunner".to_owned()), None);
    assert_eq!(listed(next(&mut watch).await), ["stunner/a"]);

    publish(&store, "other/b", 2);
    publish(&store, "stunner/c", 7);
    match next(&mut watch).await {
        WatchEvent::Changed(found) => {
            assert_eq!(found.id, "stunner/c");
            assert_eq!(found.value["listeners"][0]["port"], 7);
        }
        other => panic!("{other:?}"),
    }
    store.remove(&id("stunner/a"));
    match next(&mut watch).await {
        WatchEvent::Deleted(id) => assert_eq!(id, "stunner/a"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_deleted_during_an_outage_is_missing_in_the_list_after_it() {
    let store = ConfigStore::new();
    publish(&store, "stunner/a", 1);
    publish(&store, "stunner/b", 1);
    let (service, address) = discovery(&store, &loopback());
    let server = CdsServer::parse(&address.to_string(), 1).expect("a server");
    let mut watch = Cds::at(server, hasty()).watch(Scope::All, None);
    assert_eq!(listed(next(&mut watch).await), ["stunner/a", "stunner/b"]);

    service.stop().await;
    match next(&mut watch).await {
        WatchEvent::Down { why, .. } => assert!(!why.is_empty()),
        other => panic!("{other:?}"),
    }
    store.remove(&id("stunner/a"));
    publish(&store, "stunner/c", 1);
    let (_service, _) = discovery(&store, &BindAddress::from(address));
    assert_eq!(
        listed(next_news(&mut watch).await),
        ["stunner/b", "stunner/c"]
    );
    publish(&store, "stunner/c", 2);
    assert!(
        matches!(next(&mut watch).await, WatchEvent::Changed(found) if found.id == "stunner/c")
    );
}

#[tokio::test]
async fn a_watch_of_one_that_does_not_exist_waits_for_it() {
    let store = ConfigStore::new();
    let (_service, address) = discovery(&store, &loopback());
    let mut watch = direct(address).watch(Scope::One(id("stunner/later")), None);
    assert!(listed(next(&mut watch).await).is_empty());
    publish(&store, "stunner/later", 9);
    assert!(
        matches!(next(&mut watch).await, WatchEvent::Changed(found) if found.id == "stunner/later")
    );
}

#[tokio::test]
async fn a_watch_that_is_dropped_leaves_the_service() {
    let store = ConfigStore::new();
    let (_service, address) = discovery(&store, &loopback());
    let mut watch = direct(address).watch(Scope::All, None);
    next(&mut watch).await;
    assert_eq!(store.census().subscribers, 1);
    drop(watch);
    for _ in 0..200 {
        if store.census().subscribers == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("still subscribed");
}

/// Waits grow from attempt to attempt, but not from outage to outage: one that is back after a while is found as soon as
/// one that was away for a moment. Without that, the last of these outages would take minutes.
#[tokio::test]
async fn every_outage_of_a_service_that_gave_its_list_begins_with_a_short_wait() {
    let store = ConfigStore::new();
    publish(&store, "stunner/a", 1);
    let (mut service, address) = discovery(&store, &loopback());
    let server = CdsServer::parse(&address.to_string(), 1).expect("a server");
    let mut patient = hasty();
    patient.timing.backoff_max = Duration::from_secs(3600);
    let mut watch = Cds::at(server, patient).watch(Scope::All, None);
    listed(next(&mut watch).await);
    for _ in 0..16 {
        service.stop().await;
        assert!(matches!(next(&mut watch).await, WatchEvent::Down { .. }));
        (service, _) = discovery(&store, &BindAddress::from(address));
        listed(next_news(&mut watch).await);
    }
}

/// The waits of the tools do not grow beyond what a person who watches puts up with.
#[tokio::test]
async fn a_service_that_was_away_for_many_attempts_is_found_again() {
    let store = ConfigStore::new();
    publish(&store, "stunner/a", 1);
    let (service, address) = discovery(&store, &loopback());
    let mut watch = direct(address).watch(Scope::All, None);
    next(&mut watch).await;
    service.stop().await;
    for _ in 0..4 {
        assert!(matches!(next(&mut watch).await, WatchEvent::Down { .. }));
    }
    let (_service, _) = discovery(&store, &BindAddress::from(address));
    listed(next_news(&mut watch).await);
}
