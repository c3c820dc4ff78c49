//! The ports of a Service: the one list of which every element is ours.
//!
//! A port that somebody else added, or holds on to because they once edited a field of it, would keep a listener
//! reachable that is gone, and no apply of ours could take it away.

use serde_json::{Map, Value, json};

/// Whether the live Service has a port that is not asked for.
pub(super) fn has_excess(desired: &Value, live: &Value) -> bool {
    desired["kind"] == "Service"
        && ports(live)
            .iter()
            .any(|live| ports(desired).iter().all(|port| key(port) != key(live)))
}

/// A merge patch that leaves only the ports that are asked for; the API server keeps node ports by port name.
pub(super) fn replace(desired: &Value, live: &Value) -> Value {
    let mut metadata = Map::new();
    if let Some(version) = live.pointer("/metadata/resourceVersion") {
        metadata.insert("resourceVersion".to_owned(), version.clone());
    }
    json!({"metadata": metadata, "spec": {"ports": ports(desired)}})
}

fn ports(service: &Value) -> &[Value] {
    let ports = service.pointer("/spec/ports").and_then(Value::as_array);
    ports.map_or(&[], Vec::as_slice)
}

fn key(port: &Value) -> (Option<i64>, &str) {
    let protocol = port.get("protocol").and_then(Value::as_str);
    (
        port.get("port").and_then(Value::as_i64),
        protocol.unwrap_or("TCP"),
    )
}
