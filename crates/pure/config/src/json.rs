//! The configuration as text: the discovery service's JSON, and a line for the log.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::model::{ApiVersion, AuthMethod, Cluster, Config, Listener, defaults::MASK};

impl Config {
    /// The config as the discovery service carries it: fields in its order, empty ones left out, **secrets in clear**.
    ///
    /// Reads back as an equal config; where values may contain `$`, with
    /// [`ParseOptions::expand_env`](crate::ParseOptions) off.
    pub fn to_json(&self) -> Value {
        let mut root = Map::new();
        put(&mut root, "version", ApiVersion::V1.as_str());
        root.insert("admin".to_owned(), self.admin_json());
        root.insert("auth".to_owned(), self.auth_json());
        put_list(
            &mut root,
            "listeners",
            self.listeners.iter().map(listener_json).collect(),
        );
        put_list(
            &mut root,
            "clusters",
            self.clusters.iter().map(cluster_json).collect(),
        );
        Value::Object(root)
    }

    fn admin_json(&self) -> Value {
        let admin = &self.admin;
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
        // Written even when empty: leaving it out would mean the default.
        let health = admin
            .healthcheck_endpoint
            .as_ref()
            .map_or("", |endpoint| &endpoint.text);
        map.insert("healthcheck_endpoint".to_owned(), json!(health));
        if admin.user_quota > 0 {
            map.insert("user_quota".to_owned(), json!(admin.user_quota));
        }
        put(&mut map, "offload_engine", admin.offload_engine.as_str());
        put_list(
            &mut map,
            "offload_interfaces",
            admin
                .offload_interfaces
                .iter()
                .map(|name| json!(name))
                .collect(),
        );
        if let Some(license) = &admin.license {
            map.insert(
                "license_config".to_owned(),
                json!({ "key": license.key, "hmac": license.hmac }),
            );
        }
        if let Some(range) = admin.relay_port_range {
            put(&mut map, "relay_port_range", &range.to_string());
        }
        Value::Object(map)
    }

    fn auth_json(&self) -> Value {
        let credentials = match &self.auth.method {
            AuthMethod::Static { username, password } => {
                json!({ "password": password, "username": username })
            }
            AuthMethod::Ephemeral { secret } => json!({ "secret": secret }),
            AuthMethod::None => json!({}),
        };
        let mut map = Map::new();
        put(&mut map, "type", self.auth.method.as_str());
        put(&mut map, "realm", &self.auth.realm);
        map.insert("credentials".to_owned(), credentials);
        if let Some(seconds) = self.auth.lifetime {
            map.insert("lifetime".to_owned(), json!(seconds));
        }
        Value::Object(map)
    }
}

fn listener_json(listener: &Listener) -> Value {
    let mut map = listener_fields(listener);
    let pem = [
        ("cert", listener.cert.as_ref().map(|pem| pem.as_bytes())),
        ("key", listener.key.as_ref().map(|pem| pem.as_bytes())),
    ];
    for (key, bytes) in pem {
        put(
            &mut map,
            key,
            &bytes
                .map(|bytes| STANDARD.encode(bytes))
                .unwrap_or_default(),
        );
    }
    put_list(
        &mut map,
        "routes",
        listener.routes.iter().map(|route| json!(route)).collect(),
    );
    Value::Object(map)
}

/// The fields of a listener before `cert`, shared with the status document.
pub(crate) fn listener_fields(listener: &Listener) -> Map<String, Value> {
    let mut map = Map::new();
    put(&mut map, "name", &listener.name);
    put(&mut map, "protocol", listener.protocol.as_str());
    put(&mut map, "public_address", &listener.public_address);
    if listener.public_port > 0 {
        map.insert("public_port".to_owned(), json!(listener.public_port));
    }
    put(&mut map, "address", &listener.address_text);
    map.insert("port".to_owned(), json!(listener.port));
    map
}

fn cluster_json(cluster: &Cluster) -> Value {
    Value::Object(cluster_fields(cluster))
}

/// The fields of a cluster, shared with the status document.
pub(crate) fn cluster_fields(cluster: &Cluster) -> Map<String, Value> {
    let mut map = Map::new();
    put(&mut map, "name", &cluster.name);
    put(&mut map, "type", cluster.kind.as_str());
    put(&mut map, "protocol", cluster.protocol.as_str());
    put_list(
        &mut map,
        "endpoints",
        cluster
            .endpoint_texts()
            .into_iter()
            .map(Value::String)
            .collect(),
    );
    map
}

pub(crate) fn put(map: &mut Map<String, Value>, key: &str, value: &str) {
    if !value.is_empty() {
        map.insert(key.to_owned(), json!(value));
    }
}

pub(crate) fn put_list(map: &mut Map<String, Value>, key: &str, items: Vec<Value>) {
    if !items.is_empty() {
        map.insert(key.to_owned(), Value::Array(items));
    }
}

/// One line for the log, without secrets.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_off = |endpoint: &Option<crate::HttpEndpoint>| match endpoint {
            Some(endpoint) => endpoint.text.clone(),
            None => "off".to_owned(),
        };
        write!(
            f,
            "name={} loglevel={} health={} metrics={}",
            self.admin.name,
            self.admin.loglevel,
            or_off(&self.admin.healthcheck_endpoint),
            or_off(&self.admin.metrics_endpoint),
        )?;
        if self.admin.user_quota > 0 {
            write!(f, " quota={}", self.admin.user_quota)?;
        }
        if let Some(range) = self.admin.relay_port_range {
            write!(f, " relay-ports={range}")?;
        }
        write!(
            f,
            " auth={} realm={} listeners=[",
            self.auth.method.as_str(),
            self.auth.realm
        )?;
        for (index, listener) in self.listeners.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(
                f,
                "{separator}{} {} {}",
                listener.name, listener.protocol, listener.address_text
            )?;
            write!(f, ":{}", listener.port)?;
            if listener.key.is_some() {
                write!(f, " key={MASK}")?;
            }
            write!(f, " -> {}", listener.routes.join("+"))?;
        }
        f.write_str("] clusters=[")?;
        // A cluster can have thousands of endpoints; a log line has room for a few.
        const SHOWN: usize = 8;
        for (index, cluster) in self.clusters.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let endpoints = cluster.endpoint_texts();
            write!(
                f,
                "{separator}{} {} {} ",
                cluster.name,
                cluster.kind.as_str(),
                cluster.protocol
            )?;
            write!(
                f,
                "{}",
                endpoints
                    .iter()
                    .take(SHOWN)
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(" ")
            )?;
            if endpoints.len() > SHOWN {
                write!(f, " and {} more", endpoints.len() - SHOWN)?;
            }
        }
        f.write_str("]")
    }
}
