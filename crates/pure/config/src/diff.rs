//! What changed between two configs, by meaning.
//!
//! The order of listeners, routes and endpoints means nothing, and neither does a certificate on a listener that has
//! no use for one. The names of changes say what they may do to sessions, so that whoever applies them need not
//! compare fields.

use std::collections::HashMap;
use std::fmt;

use crate::model::{Cluster, Config, HttpEndpoint, Listener};

/// Everything that differs. Empty when the configs mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Sorted by name.
    pub listeners: Vec<ListenerChange>,
    /// Sorted by name.
    pub clusters: Vec<ClusterChange>,
    /// Who may reach whom is different: clusters or routes changed.
    pub policy: bool,
    /// Realm, authentication type or credentials changed.
    pub auth: bool,
    /// The new log specification.
    pub log_level: Option<String>,
    pub quota: bool,
    pub health: Option<EndpointChange>,
    pub metrics: Option<EndpointChange>,
    pub relay_ports: bool,
    pub offload: bool,
    /// The new name.
    pub name: Option<String>,
    /// Fields that the dataplane only carries: licence, credential lifetime.
    pub carried: bool,
}

/// A change of one listener. One listener can have several.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListenerChange {
    Added {
        name: String,
    },
    Removed {
        name: String,
    },
    /// Another port: a new socket.
    Moved {
        name: String,
    },
    /// Another protocol. `keeps_socket`: the same transport and port, so the kernel has only one socket for both.
    Protocol {
        name: String,
        keeps_socket: bool,
    },
    /// Other relayed addresses.
    RelayAddress {
        name: String,
    },
    /// Another certificate or key of a listener that stays TLS or DTLS.
    Certificate {
        name: String,
    },
    Routes {
        name: String,
    },
    PublicAddress {
        name: String,
    },
}

impl ListenerChange {
    pub fn name(&self) -> &str {
        match self {
            ListenerChange::Added { name }
            | ListenerChange::Removed { name }
            | ListenerChange::Moved { name }
            | ListenerChange::Protocol { name, .. }
            | ListenerChange::RelayAddress { name }
            | ListenerChange::Certificate { name }
            | ListenerChange::Routes { name }
            | ListenerChange::PublicAddress { name } => name,
        }
    }

    fn verb(&self) -> &'static str {
        match self {
            ListenerChange::Added { .. } => "added",
            ListenerChange::Removed { .. } => "removed",
            ListenerChange::Moved { .. } => "port",
            ListenerChange::Protocol { .. } => "protocol",
            ListenerChange::RelayAddress { .. } => "address",
            ListenerChange::Certificate { .. } => "certificate",
            ListenerChange::Routes { .. } => "routes",
            ListenerChange::PublicAddress { .. } => "public address",
        }
    }
}

/// A change of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClusterChange {
    Added { name: String },
    Removed { name: String },
    Changed { name: String },
}

impl ClusterChange {
    pub fn name(&self) -> &str {
        match self {
            ClusterChange::Added { name }
            | ClusterChange::Removed { name }
            | ClusterChange::Changed { name } => name,
        }
    }

    fn verb(&self) -> &'static str {
        match self {
            ClusterChange::Added { .. } => "added",
            ClusterChange::Removed { .. } => "removed",
            ClusterChange::Changed { .. } => "changed",
        }
    }
}

/// An HTTP server that starts, stops or moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointChange {
    pub from: Option<HttpEndpoint>,
    pub to: Option<HttpEndpoint>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }
}

/// What it takes to get from `old` to `new`.
pub fn diff(old: &Config, new: &Config) -> Changes {
    let listeners = listener_changes(&old.listeners, &new.listeners);
    let clusters = cluster_changes(&old.clusters, &new.clusters);
    let reroutes = |change: &ListenerChange| matches!(change, ListenerChange::Routes { .. });
    let (a, b) = (&old.admin, &new.admin);
    let changed = |from: &String, to: &String| (from != to).then(|| to.clone());
    Changes {
        policy: !clusters.is_empty() || listeners.iter().any(reroutes),
        listeners,
        clusters,
        auth: old.auth.method != new.auth.method || old.auth.realm != new.auth.realm,
        log_level: changed(&a.loglevel, &b.loglevel),
        quota: a.user_quota != b.user_quota,
        health: endpoint_change(&a.healthcheck_endpoint, &b.healthcheck_endpoint, false),
        metrics: endpoint_change(&a.metrics_endpoint, &b.metrics_endpoint, true),
        relay_ports: a.relay_port_range != b.relay_port_range,
        offload: a.offload_engine != b.offload_engine
            || a.offload_interfaces != b.offload_interfaces,
        name: changed(&a.name, &b.name),
        carried: a.license != b.license || old.auth.lifetime != new.auth.lifetime,
    }
}

fn endpoint_change(
    from: &Option<HttpEndpoint>,
    to: &Option<HttpEndpoint>,
    path_matters: bool,
) -> Option<EndpointChange> {
    let meaning = |endpoint: &Option<HttpEndpoint>| {
        endpoint.clone().map(|it| {
            (
                it.host,
                it.port,
                if path_matters { it.path } else { String::new() },
            )
        })
    };
    (meaning(from) != meaning(to)).then(|| EndpointChange {
        from: from.clone(),
        to: to.clone(),
    })
}

fn listener_changes(old: &[Listener], new: &[Listener]) -> Vec<ListenerChange> {
    let old_by_name: HashMap<&str, &Listener> =
        old.iter().map(|it| (it.name.as_str(), it)).collect();
    let new_by_name: HashMap<&str, &Listener> =
        new.iter().map(|it| (it.name.as_str(), it)).collect();
    let mut changes = Vec::new();
    for listener in old
        .iter()
        .filter(|it| !new_by_name.contains_key(it.name.as_str()))
    {
        changes.push(ListenerChange::Removed {
            name: listener.name.clone(),
        });
    }
    for listener in new {
        match old_by_name.get(listener.name.as_str()) {
            None => changes.push(ListenerChange::Added {
                name: listener.name.clone(),
            }),
            Some(before) => one_listener(before, listener, &mut changes),
        }
    }
    changes.sort_by(|a, b| a.name().cmp(b.name()).then_with(|| a.cmp(b)));
    changes
}

fn one_listener(old: &Listener, new: &Listener, changes: &mut Vec<ListenerChange>) {
    let name = || new.name.clone();
    if old.port != new.port {
        changes.push(ListenerChange::Moved { name: name() });
    }
    if old.protocol != new.protocol {
        let keeps_socket = old.port == new.port && old.protocol.socket() == new.protocol.socket();
        changes.push(ListenerChange::Protocol {
            name: name(),
            keeps_socket,
        });
    }
    if old.addresses != new.addresses {
        changes.push(ListenerChange::RelayAddress { name: name() });
    }
    let both_secure = old.protocol.is_secure() && new.protocol.is_secure();
    if both_secure && (old.cert != new.cert || old.key != new.key) {
        changes.push(ListenerChange::Certificate { name: name() });
    }
    if old.routes != new.routes {
        changes.push(ListenerChange::Routes { name: name() });
    }
    if old.public_address != new.public_address || old.public_port != new.public_port {
        changes.push(ListenerChange::PublicAddress { name: name() });
    }
}

fn cluster_changes(old: &[Cluster], new: &[Cluster]) -> Vec<ClusterChange> {
    let old_by_name: HashMap<&str, &Cluster> =
        old.iter().map(|it| (it.name.as_str(), it)).collect();
    let new_by_name: HashMap<&str, &Cluster> =
        new.iter().map(|it| (it.name.as_str(), it)).collect();
    let mut changes = Vec::new();
    for cluster in old
        .iter()
        .filter(|it| !new_by_name.contains_key(it.name.as_str()))
    {
        changes.push(ClusterChange::Removed {
            name: cluster.name.clone(),
        });
    }
    for cluster in new {
        match old_by_name.get(cluster.name.as_str()) {
            None => changes.push(ClusterChange::Added {
                name: cluster.name.clone(),
            }),
            // Endpoints are kept sorted, so plain equality is equality of meaning.
            Some(before) if *before != cluster => changes.push(ClusterChange::Changed {
                name: cluster.name.clone(),
            }),
            Some(_) => {}
        }
    }
    changes.sort_by(|a, b| a.name().cmp(b.name()));
    changes
}

/// One line for the log: `listener a: port, routes; cluster b: added; credentials; log level all:DEBUG`.
impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut items: Vec<String> = Vec::new();
        for chunk in self.listeners.chunk_by(|a, b| a.name() == b.name()) {
            let verbs: Vec<_> = chunk.iter().map(ListenerChange::verb).collect();
            items.push(format!(
                "listener {}: {}",
                chunk[0].name(),
                verbs.join(", ")
            ));
        }
        items.extend(
            self.clusters
                .iter()
                .map(|change| format!("cluster {}: {}", change.name(), change.verb())),
        );
        let moves = |what: &str, change: &EndpointChange| match &change.to {
            Some(to) => format!("{what} endpoint {to}"),
            None => format!("{what} endpoint off"),
        };
        items.extend(self.name.as_ref().map(|name| format!("name {name}")));
        items.extend(self.auth.then(|| "authentication".to_owned()));
        items.extend(
            self.log_level
                .as_ref()
                .map(|spec| format!("log level {spec}")),
        );
        items.extend(self.quota.then(|| "quota".to_owned()));
        items.extend(self.health.as_ref().map(|change| moves("health", change)));
        items.extend(self.metrics.as_ref().map(|change| moves("metrics", change)));
        items.extend(self.relay_ports.then(|| "relay port range".to_owned()));
        items.extend(self.offload.then(|| "offload".to_owned()));
        items.extend(
            self.carried
                .then(|| "licence or credential lifetime".to_owned()),
        );
        if items.is_empty() {
            items.push("no change".to_owned());
        }
        f.write_str(&items.join("; "))
    }
}
