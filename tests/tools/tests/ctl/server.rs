//! One server that stands in for all that `stunnerctl` asks: config discovery, a dataplane's health server, the auth
//! service, and an API server with pods of a kind.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

pub struct Server {
    pub address: String,
}

impl Server {
    pub fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = listener.local_addr().expect("an address").to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream));
            }
        });
        Server { address }
    }
}

fn serve(stream: TcpStream) {
    let Ok(mut writer) = stream.try_clone() else {
        return;
    };
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
        let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap_or(0) > 2 {
            line.clear();
        }
        let (code, body) = answer(&target);
        let body = match body {
            Value::String(text) => text,
            json => json.to_string(),
        };
        let written = write!(
            writer,
            "HTTP/1.1 {code} Said\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if written.is_err() {
            return;
        }
    }
}

fn configs() -> Vec<Value> {
    serde_json::from_str(include_str!("configs.json")).expect("configs")
}

fn answer(target: &str) -> (u16, Value) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let named = |prefix: &str| -> Vec<Value> {
        let is_meant = |config: &Value| {
            let name = config["admin"]["name"].as_str().unwrap_or_default();
            name.starts_with(prefix)
        };
        configs().into_iter().filter(is_meant).collect()
    };
    let list = |items: Vec<Value>| (200, json!({"items": items, "version": "v1"}));
    match parts.as_slice() {
        ["api", "v1", "configs"] => list(configs()),
        ["api", "v1", "configs", namespace] => list(named(&format!("{namespace}/"))),
        ["api", "v1", "configs", namespace, name] => {
            match named(&format!("{namespace}/{name}")).pop() {
                Some(config) => (200, config),
                None => (404, json!({"code": 404, "message": "no such config"})),
            }
        }
        ["api", "v1", "license"] => (
            200,
            json!({"enabledFeatures": ["STUNServer", "UserQuota"], "subscriptionType": "free", "lastUpdated": "N/A", "lastError": ""}),
        ),
        ["status"] => (200, status("stunner/udp-gateway")),
        // A process with several Gateways, such as `stunner run`.
        ["several", "status"] => (200, json!([status("stunner/one"), status("stunner/two")])),
        ["ice"] | [""] if query.contains("gateway=no-such") => {
            (404, json!({"error": "no gateway matches", "hint": ""}))
        }
        // What was asked for, to be seen in the transcript.
        ["ice"] | [""] => (
            200,
            json!({"iceServers": [{"urls": ["turn:198.51.100.10:3478?transport=udp"], "username": "fixture-user", "credential": "fixture-pass"}], "asked": target}),
        ),
        ["page", ..] => (
            200,
            json!(
                "<!DOCTYPE html>\n<html><head><title>A page of somebody else</title></head></html>"
            ),
        ),
        ["forbidden", ..] => (
            403,
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
                "message": "pods is forbidden: User \"eve\" cannot list resource \"pods\" in API group \"\" at the cluster scope"}),
        ),
        ["empty", ..] => (200, pods(&[])),
        ["twice", ..] => (
            200,
            pods(&[
                ("stunner-system", "operator-1", "operator"),
                ("test", "operator-2", "operator"),
            ]),
        ),
        _ => (404, json!({"code": 404, "message": "no such path"})),
    }
}

fn status(name: &str) -> Value {
    let traffic = |packets: u64| json!({"pkts": packets, "bytes": packets * 100, "timestamp": 0});
    json!({
        "version": "v1",
        "admin": {"name": name, "loglevel": "all:INFO", "healthcheck_endpoint": "http://:8086"},
        "auth": {"type": "static", "realm": "stunner.l7mp.io", "credentials": {"password": "<SECRET>", "username": "<SECRET>"}},
        "listeners": [{"name": format!("{name}/udp"), "protocol": "TURN-UDP", "public_address": "198.51.100.10",
            "public_port": 3478, "address": "10.244.0.7", "port": 3478, "routes": ["stunner/media", "stunner/gone"],
            "stats": {"rx": traffic(15), "tx": traffic(12)}}],
        "clusters": [{"name": "stunner/media", "type": "STATIC", "protocol": "UDP", "endpoints": []}],
        "allocationCount": 4,
        "status": "READY",
    })
}

fn pods(pods: &[(&str, &str, &str)]) -> Value {
    let items: Vec<Value> = pods
        .iter()
        .map(|(namespace, name, owner)| {
            json!({
                "metadata": {"namespace": namespace, "name": name,
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": owner, "uid": "1", "controller": true}]},
                "spec": {"containers": []},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            })
        })
        .collect();
    json!({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items})
}
