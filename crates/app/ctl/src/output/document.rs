//! Configs and status documents of dataplanes, for people. Both have the same shape, and neither shows a secret here.

use std::fmt::Write;

use serde_json::Value;
use stunner_api::names::NODE_ADDRESS_PLACEHOLDER;
use stunner_client::{ServerTransport, ServerUri};

use super::numbers;

/// A few lines about a config or a status document.
pub(crate) fn summary(document: &Value) -> String {
    let mut text = format!("Gateway: {}\n", name(document));
    let admin = &document["admin"];
    if let Some(status) = document["status"]
        .as_str()
        .filter(|status| !status.is_empty())
    {
        let _ = writeln!(text, "  Status: {status}");
    }
    if let Some(count) = document["allocationCount"].as_u64() {
        let _ = writeln!(text, "  Allocations: {count}");
    }
    let _ = writeln!(text, "  Authentication: {}", authentication(document));
    for (title, key) in [
        ("Log level", "loglevel"),
        ("Metrics", "metrics_endpoint"),
        ("Health", "healthcheck_endpoint"),
    ] {
        if let Some(value) = admin[key].as_str().filter(|value| !value.is_empty()) {
            let _ = writeln!(text, "  {title}: {value}");
        }
    }
    for listener in list(document, "listeners") {
        describe_listener(listener, document, &mut text);
    }
    if list(document, "listeners").is_empty() {
        text.push_str("  No listener: clients cannot connect\n");
    }
    text
}

/// The same on one line.
pub(crate) fn line(document: &Value) -> String {
    let mut text = format!("{}: {}", name(document), authentication(document));
    if let Some(count) = document["allocationCount"].as_u64() {
        let _ = write!(text, "; {count} allocations");
    }
    for listener in list(document, "listeners") {
        let at = client_uri(listener).unwrap_or_else(|| "no public address".to_owned());
        let routes = texts(listener, "routes");
        let _ = write!(text, "; {} {at}", short(listener, document));
        match routes.is_empty() {
            true => text.push_str(" to nobody"),
            false => {
                let _ = write!(text, " to {}", routes.join(", "));
            }
        }
    }
    text.push('\n');
    text
}

fn name(document: &Value) -> &str {
    match document["admin"]["name"].as_str() {
        Some(name) if !name.is_empty() => name,
        _ => "(without a name)",
    }
}

fn authentication(document: &Value) -> String {
    let auth = &document["auth"];
    let realm = auth["realm"].as_str().filter(|realm| !realm.is_empty());
    let realm = realm
        .map(|realm| format!(", realm {realm}"))
        .unwrap_or_default();
    match auth["type"].as_str().unwrap_or_default() {
        "none" => "none, only STUN is served".to_owned(),
        "static" | "plaintext" => format!("static{realm}, user name and password hidden"),
        "ephemeral" | "timewindowed" | "longterm" => {
            format!("ephemeral{realm}, shared secret hidden")
        }
        other => format!("{other}{realm}"),
    }
}

fn describe_listener(listener: &Value, document: &Value, text: &mut String) {
    let protocol = listener["protocol"].as_str().unwrap_or("TURN-UDP");
    let _ = writeln!(
        text,
        "  Listener {} ({protocol})",
        short(listener, document)
    );
    let _ = match client_uri(listener) {
        Some(uri) => writeln!(text, "    Clients: {uri}"),
        None => writeln!(text, "    Clients: no public address is known"),
    };
    let at = match listener["address"].as_str() {
        None | Some("") => "any address".to_owned(),
        Some("$STUNNER_ADDR" | "${STUNNER_ADDR}") => "the pod's address".to_owned(),
        Some(NODE_ADDRESS_PLACEHOLDER) => "the node's address".to_owned(),
        Some(address) => address.to_owned(),
    };
    let port = listener["port"].as_u64().unwrap_or(3478);
    let _ = writeln!(text, "    Serves: port {port}, relays from {at}");
    if let Some(traffic) = traffic(&listener["stats"]) {
        let _ = writeln!(text, "    Traffic: {traffic}");
    }
    let routes = texts(listener, "routes");
    if routes.is_empty() {
        text.push_str("    Routes: none, no peer is admitted\n");
        return;
    }
    text.push_str("    Routes:\n");
    for route in routes {
        let clusters = list(document, "clusters");
        let cluster = clusters.iter().find(|cluster| cluster["name"] == route);
        let endpoints = match cluster {
            None => "unknown, no peer is admitted".to_owned(),
            Some(cluster) => match texts(cluster, "endpoints").as_slice() {
                [] => "no endpoints, no peer is admitted".to_owned(),
                endpoints => endpoints.join(", "),
            },
        };
        let _ = writeln!(text, "      {route}: {endpoints}");
    }
}

/// What a client is told: the URI of the public address, where there is one.
fn client_uri(listener: &Value) -> Option<String> {
    let host = listener["public_address"]
        .as_str()
        .filter(|host| !host.is_empty())?;
    let port = [&listener["public_port"], &listener["port"]]
        .into_iter()
        .filter_map(|port| u16::try_from(port.as_u64()?).ok())
        .find(|port| *port > 0);
    let protocol = listener["protocol"].as_str().unwrap_or_default();
    let uri = ServerUri {
        host: host.trim_matches(['[', ']']).to_owned(),
        port: port.unwrap_or(3478),
        transport: transport(protocol).unwrap_or(ServerTransport::Udp),
        credentials: None,
    };
    Some(uri.to_string())
}

/// What a listener of this protocol speaks, in whatever case and with or without `TURN-`.
pub(crate) fn transport(protocol: &str) -> Option<ServerTransport> {
    match protocol.to_ascii_uppercase().trim_start_matches("TURN-") {
        "UDP" => Some(ServerTransport::Udp),
        "TCP" => Some(ServerTransport::Tcp),
        "TLS" => Some(ServerTransport::Tls),
        "DTLS" => Some(ServerTransport::Dtls),
        _ => None,
    }
}

/// What went through, unless nothing did.
fn traffic(stats: &Value) -> Option<String> {
    let number = |way: &str, key: &str| stats[way][key].as_u64().unwrap_or(0);
    let way = |way: &str| {
        let bytes = numbers::scaled(number(way, "bytes") as f64);
        format!("{} packets ({bytes}B)", number(way, "pkts"))
    };
    let some = ["rx", "tx"].iter().any(|way| number(way, "pkts") > 0);
    some.then(|| format!("{} received, {} sent", way("rx"), way("tx")))
}

/// The listener without the name of its gateway, which stands above it.
fn short<'v>(listener: &'v Value, document: &Value) -> &'v str {
    let full = listener["name"].as_str().unwrap_or_default();
    full.strip_prefix(name(document))
        .and_then(|rest| rest.strip_prefix('/'))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(full)
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn texts<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    list(value, key).iter().filter_map(Value::as_str).collect()
}
