//! HTTP servers that speak for several dataplanes.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use serde_json::{Value, json};
use stunner_dataplane::embed::{
    Dataplanes, Host, Instance, admin_router, health_router, metrics_router,
};
use stunner_dataplane::http::{BindAddress, Dataplane, HttpServer, Running};
use stunner_turn::client::Event;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::world::{
    PATIENCE, TurnClient, config, config_value, echo, free_port, parse, serve, start, until,
};

/// A list that may change while servers show it.
#[derive(Default, Clone)]
struct List(Arc<Mutex<Vec<Instance>>>);

impl List {
    fn add(&self, instance: &Instance) {
        self.0.lock().unwrap().push(instance.clone());
    }

    fn take(&self) -> Vec<Instance> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn dataplanes(&self) -> Dataplanes {
        let list = self.clone();
        Arc::new(move || -> Vec<Arc<dyn Dataplane>> {
            let instances = list.0.lock().unwrap();
            instances.iter().map(Instance::dataplane).collect()
        })
    }
}

fn listen(router: Router) -> (Running, SocketAddr) {
    let loopback = BindAddress::Socket((Ipv4Addr::LOCALHOST, 0).into());
    let bound = HttpServer::bind(&loopback).unwrap();
    let address = bound.local_addr().unwrap();
    (bound.serve(router).unwrap(), address)
}

async fn ask(address: SocketAddr, method: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

async fn ask_json(address: SocketAddr, method: &str, path: &str) -> (u16, Value) {
    let (status, body) = ask(address, method, path).await;
    (status, serde_json::from_str(&body).unwrap())
}

#[tokio::test]
async fn probes_speak_for_all_and_name_the_one_that_is_not_ready() {
    let (host, list) = (Host::new(), List::default());
    let (_server, address) = listen(health_router(list.dataplanes()));
    let (status, answer) = ask_json(address, "GET", "/ready").await;
    assert_eq!(status, 503, "there is none: {answer}");

    let (second, _) = serve(&host, "ns/b").await;
    list.add(&second);
    assert_eq!(ask(address, "GET", "/ready").await.0, 200);
    let first = start(&host, "ns/a");
    list.add(&first);
    let (status, answer) = ask_json(address, "GET", "/ready").await;
    assert_eq!(status, 503);
    assert_eq!(answer["message"], "ns/a: no configuration yet");
    let config = config("ns/a", &[free_port()]);
    first.apply(config).await.unwrap();
    assert_eq!(ask(address, "GET", "/ready").await.0, 200);
    assert_eq!(ask(address, "GET", "/live").await.0, 200);

    let (_, status) = ask_json(address, "GET", "/status").await;
    let names: Vec<_> = status
        .as_array()
        .unwrap()
        .iter()
        .map(|document| document["admin"]["name"].clone())
        .collect();
    assert_eq!(names, ["ns/a", "ns/b"], "{status}");
}

/// Every sample of an exposition by its series; panics where it is not well formed.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut families = Vec::new();
    for line in text.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            let family = family.split(' ').next().unwrap().to_owned();
            assert!(!families.contains(&family), "{family} twice");
            families.push(family);
        } else if !line.starts_with('#') {
            let (series, value) = line.rsplit_once(' ').unwrap();
            assert!(series.starts_with(families.last().unwrap()), "{line}");
            let before = samples.insert(series.to_owned(), value.parse().unwrap());
            assert_eq!(before, None, "{series} twice");
        }
    }
    samples
}

fn sum(samples: &BTreeMap<String, f64>, family: &str) -> f64 {
    let matches = |series: &str| series.split('{').next() == Some(family);
    samples
        .iter()
        .filter(|(series, _)| matches(series))
        .map(|(_, value)| value)
        .sum()
}

#[tokio::test]
async fn metrics_add_up_and_counters_outlive_their_dataplane() {
    let (host, list) = (Host::new(), List::default());
    let (first, first_port) = serve(&host, "ns/a").await;
    let (second, second_port) = serve(&host, "ns/b").await;
    list.add(&first);
    list.add(&second);
    let (_server, address) = listen(metrics_router(list.dataplanes()));
    let _clients = [
        TurnClient::allocate(first_port).await,
        TurnClient::allocate(second_port).await,
        TurnClient::allocate(second_port).await,
    ];
    let scrape = async || samples(&ask(address, "GET", "/metrics").await.1);
    // Shards publish what they counted a few times a second.
    until("the requests and what came of them", async || {
        let all = scrape().await;
        sum(&all, "stunner_requests_total") >= 6.0
            && sum(&all, "stunner_allocations_active") == 3.0
            && sum(&all, "stunner_allocations_total") == 3.0
            && sum(&all, "stunner_listener_connections") == 2.0
    })
    .await;
    let all = scrape().await;
    assert_eq!(sum(&all, "stunner_build_info"), 1.0);
    let own = samples(&first.dataplane().metrics());
    let limit = sum(&own, "process_max_fds");
    assert_eq!(sum(&all, "process_max_fds"), limit);
    for instance in [&first, &second] {
        let own = samples(&instance.dataplane().metrics());
        for (series, value) in own.iter().filter(|(series, _)| series.contains("_bucket")) {
            assert!(all[series] >= *value, "{series}");
        }
    }

    for instance in list.take() {
        instance.stop().await;
    }
    let past = scrape().await;
    assert_eq!(sum(&past, "stunner_allocations_total"), 3.0);
    assert_eq!(sum(&past, "stunner_allocations_active"), 0.0);
    assert_eq!(sum(&past, "stunner_shards"), 0.0);
}

#[tokio::test]
async fn the_admin_api_speaks_for_all() {
    let (host, list) = (Host::new(), List::default());
    let (first, first_port) = serve(&host, "ns/a").await;
    list.add(&first);
    let (_server, address) = listen(admin_router(list.dataplanes()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("GET /api/v1/events HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut events = BufReader::new(stream).lines();
    // The answer begins once the stream is set up.
    assert!(events.next_line().await.unwrap().unwrap().contains("200"));

    let (second, second_port) = serve(&host, "ns/b").await;
    list.add(&second);
    // Changes of its config are told as soon as the events have found the new one.
    let mut changed = config_value("ns/b", &[second_port]);
    let mut number = 0;
    until("events of the new one", async || {
        number += 1;
        let another = format!("127.0.1.{number}");
        changed["clusters"][0]["endpoints"] = json!(["127.0.0.1", another]);
        second.apply(parse(&changed)).await.unwrap();
        let line = timeout(Duration::from_millis(200), events.next_line()).await;
        matches!(line, Ok(Ok(Some(line))) if line.contains("\"ns/b\""))
    })
    .await;
    let peer = echo().await;
    let mut alice = TurnClient::allocate(first_port).await;
    let mut bob = TurnClient::allocate(second_port).await;
    let denied = |port| SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), port));
    assert!(matches!(
        alice.bind_channel(denied(1)).await,
        Event::Error { code: 403, .. }
    ));
    assert!(matches!(
        bob.bind_channel(denied(2)).await,
        Event::Error { code: 403, .. }
    ));
    bob.bind_channel(peer).await;

    let (_, sessions) = ask_json(address, "GET", "/api/v1/sessions").await;
    assert_eq!(sessions["total"], 2, "{sessions}");
    let sessions = sessions["sessions"].as_array().unwrap();
    let of_bob = sessions
        .iter()
        .find(|session| session["listener"] == "ns/b/udp0")
        .unwrap();
    let id = of_bob["id"].as_str().unwrap();
    assert_ne!(sessions[0]["id"], sessions[1]["id"]);

    let (_, denials) = ask_json(address, "GET", "/api/v1/denials").await;
    let listeners: Vec<_> = denials["denials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|denial| denial["listener"].clone())
        .collect();
    assert_eq!(listeners, ["ns/b/udp0", "ns/a/udp0"], "the newest first");

    let explain = |listener: &str| format!("/api/v1/explain?listener={listener}&peer={peer}");
    let (status, answer) = ask_json(address, "GET", &explain("ns/b/udp0")).await;
    assert_eq!((status, &answer["admitted"]), (200, &Value::Bool(true)));
    let (status, answer) = ask_json(address, "GET", &explain("ns/c/udp0")).await;
    assert_eq!(status, 400);
    assert!(
        answer.to_string().contains("ns/a/udp0, ns/b/udp0"),
        "{answer}"
    );

    assert!(bob.echoes(peer).await);
    let path = format!("/api/v1/sessions/{id}");
    assert_eq!(ask(address, "DELETE", &path).await.0, 200);
    assert_eq!(ask(address, "DELETE", &path).await.0, 404);
    assert!(!bob.echoes(peer).await);
    assert_eq!(second.active_allocations().await, Some(0));
    assert_eq!(first.active_allocations().await, Some(1));

    let mut told = Vec::new();
    while told
        .last()
        .is_none_or(|event: &Value| event["type"] != "session_ended")
    {
        let line = timeout(PATIENCE, events.next_line()).await;
        let line = line.expect("news").unwrap().expect("more events");
        if line.starts_with('{') {
            told.push(serde_json::from_str(&line).unwrap());
        }
    }
    let started: Vec<_> = told
        .iter()
        .filter(|event| event["type"] == "session_started")
        .map(|event| event["gateway"].clone())
        .collect();
    assert_eq!(started, ["ns/a", "ns/b"]);
    assert_eq!(told.last().unwrap()["id"], id);
}
