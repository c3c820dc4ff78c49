//! The status document: the running config as anybody may see it, with counters beside it.
//!
//! Field names and their order are those of the Go dataplane. Unlike there, credentials, certificates and keys are
//! masked: load balancers publish the port this is served on.

use serde_json::{Map, Value, json};

use crate::json::{cluster_fields, listener_fields, put, put_list};
use crate::model::{ApiVersion, AuthMethod, Config, defaults::MASK};

/// Packets and bytes in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    pub packets: u64,
    pub bytes: u64,
    /// When the counters were read, in UNIX seconds; 0 if never.
    pub timestamp: u64,
}

/// Counters of a listener or a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrafficStats {
    pub rx: Traffic,
    pub tx: Traffic,
}

/// What the running process adds to its config.
pub struct Runtime<'a> {
    pub allocation_count: u64,
    /// `READY`, `NOT-READY` or `TERMINATING`.
    pub status: &'a str,
    /// Said after the offload setting, such as why it has no effect.
    pub offload_note: Option<&'a str>,
    /// Counters of a listener by name.
    pub listener_stats: &'a dyn Fn(&str) -> TrafficStats,
    /// Counters of a cluster by name.
    pub cluster_stats: &'a dyn Fn(&str) -> TrafficStats,
}

impl std::fmt::Debug for Runtime<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime")
            .field("allocation_count", &self.allocation_count)
            .field("status", &self.status)
            .field("offload_note", &self.offload_note)
            .finish_non_exhaustive()
    }
}

impl Config {
    /// The status document of a config that does not run: every counter is zero.
    pub fn status_document(&self) -> Value {
        let none = |_: &str| TrafficStats::default();
        let runtime = Runtime {
            allocation_count: 0,
            status: "",
            offload_note: None,
            listener_stats: &none,
            cluster_stats: &none,
        };
        self.status_document_with(&runtime)
    }

    /// The status document with live counters. Listeners and clusters are sorted by name.
    pub fn status_document_with(&self, runtime: &Runtime<'_>) -> Value {
        let mut listeners: Vec<_> = self.listeners.iter().collect();
        listeners.sort_by(|a, b| a.name.cmp(&b.name));
        let listeners = listeners.into_iter().map(|listener| {
            let mut map = listener_fields(listener);
            put(
                &mut map,
                "cert",
                if listener.cert.is_some() { MASK } else { "" },
            );
            put(
                &mut map,
                "key",
                if listener.key.is_some() { MASK } else { "" },
            );
            put_list(
                &mut map,
                "routes",
                listener.routes.iter().map(|route| json!(route)).collect(),
            );
            with_stats(map, (runtime.listener_stats)(&listener.name))
        });
        let mut clusters: Vec<_> = self.clusters.iter().collect();
        clusters.sort_by(|a, b| a.name.cmp(&b.name));
        let clusters = clusters.into_iter().map(|cluster| {
            with_stats(
                cluster_fields(cluster),
                (runtime.cluster_stats)(&cluster.name),
            )
        });
        json!({
            "version": ApiVersion::V1.as_str(),
            "admin": self.admin_status(runtime.offload_note),
            "auth": self.auth_status(),
            "listeners": listeners.collect::<Vec<_>>(),
            "clusters": clusters.collect::<Vec<_>>(),
            "allocationCount": runtime.allocation_count,
            "status": runtime.status,
        })
    }

    fn admin_status(&self, offload_note: Option<&str>) -> Value {
        let admin = &self.admin;
        let interfaces = match admin.offload_interfaces.as_slice() {
            [] => "all".to_owned(),
            names => names.join(","),
        };
        let mut offload = format!("{}[{interfaces}]", admin.offload_engine.as_str());
        if let Some(note) = offload_note {
            offload.push_str(&format!(" ({note})"));
        }
        let mut map = Map::new();
        put(&mut map, "name", &admin.name);
        put(&mut map, "loglevel", &admin.loglevel);
        put(
            &mut map,
            "metrics_endpoint",
            admin
                .metrics_endpoint
                .as_ref()
                .map_or("", |endpoint| &endpoint.text),
        );
        let health = admin
            .healthcheck_endpoint
            .as_ref()
            .map_or("", |endpoint| &endpoint.text);
        map.insert("healthcheck_endpoint".to_owned(), json!(health));
        put(&mut map, "quota", &admin.user_quota.to_string());
        put(&mut map, "offload", &offload);
        put(&mut map, "licensing_info", "{tier:free}");
        if let Some(range) = admin.relay_port_range {
            put(&mut map, "relay_port_range", &range.to_string());
        }
        Value::Object(map)
    }

    fn auth_status(&self) -> Value {
        let credentials = match &self.auth.method {
            AuthMethod::Static { .. } => json!({ "password": MASK, "username": MASK }),
            AuthMethod::Ephemeral { .. } => json!({ "secret": MASK }),
            AuthMethod::None => json!({}),
        };
        json!({ "type": self.auth.method.as_str(), "realm": self.auth.realm, "credentials": credentials })
    }
}

fn with_stats(mut map: Map<String, Value>, stats: TrafficStats) -> Value {
    let direction = |traffic: Traffic| json!({ "pkts": traffic.packets, "bytes": traffic.bytes, "timestamp": traffic.timestamp });
    map.insert(
        "stats".to_owned(),
        json!({ "rx": direction(stats.rx), "tx": direction(stats.tx) }),
    );
    Value::Object(map)
}
