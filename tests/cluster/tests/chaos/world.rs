//! The objects that the changes are about, as a user would write them.

use cluster_tests::kinds::{self, Kind};
use serde_json::{Value, json};

use crate::random::Random;

pub const NS: &str = "chaos";
pub const CONTROLLER: &str = "stunner.l7mp.io/chaos";
/// The Gateway whose dataplane carries sessions all the while.
pub const STEADY: &str = "steady";
pub const GATEWAYS: [&str; 5] = ["north", "east", "south", "west", "centre"];
pub const ROUTES: [&str; 6] = ["audio", "video", "data", "games", "chat", "files"];
pub const STATIC_SERVICES: [&str; 3] = ["office", "partner", "lab"];
pub const SERVICES: [&str; 4] = ["sfu", "mcu", "bridge", "echo"];

/// Ports of the steady Gateway on this machine; the third belongs to a listener that comes and goes.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    pub udp: u16,
    pub tcp: u16,
    pub extra: u16,
}

/// One object by kind and name; everything with a namespace lives in [`NS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub Kind, pub &'static str);

impl Key {
    pub fn namespace(self) -> &'static str {
        if self.0.namespaced { NS } else { "" }
    }
}

pub fn object(kind: Kind, name: &str, rest: Value) -> Value {
    let mut object = json!({
        "apiVersion": kind.api_version(), "kind": kind.name, "metadata": { "name": name },
    });
    if kind.namespaced {
        object["metadata"]["namespace"] = NS.into();
    }
    for (key, value) in rest.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    object
}

/// What the steady Gateway stands on, and what others refer to; all of it can vanish.
pub fn foundations(certificate: (&str, &str)) -> Vec<(Key, Value)> {
    let config = |secret: &str, dataplane: &str| {
        json!({ "spec": {
            "realm": "stunner.test", "authRef": { "name": secret }, "dataplane": dataplane,
        } })
    };
    let secret = |user: &str| {
        json!({ "type": "Opaque", "stringData": {
            "type": "static", "username": user, "password": format!("{user}-pass"),
        } })
    };
    let tls = json!({ "type": "kubernetes.io/tls", "stringData": {
        "tls.crt": certificate.0, "tls.key": certificate.1,
    } });
    let listed = [
        (kinds::SECRET, "auth", secret("user")),
        (kinds::SECRET, "auth-two", secret("other")),
        (kinds::SECRET, "certificate", tls),
        (kinds::GATEWAY_CONFIG, "config", config("auth", "standard")),
        (
            kinds::GATEWAY_CONFIG,
            "config-two",
            config("auth-two", "lean"),
        ),
        // Not called `default`: a new Gateway would not wait for its return but get the built-in one meanwhile.
        // Port 8086 may belong to somebody else on this machine.
        (
            kinds::DATAPLANE,
            "standard",
            json!({ "spec": { "replicas": 2, "disableHealthCheck": true } }),
        ),
        (
            kinds::DATAPLANE,
            "lean",
            json!({ "spec": { "replicas": 1, "image": "example.org/stunnerd:1" } }),
        ),
    ];
    listed
        .into_iter()
        .map(|(kind, name, rest)| (Key(kind, name), object(kind, name, rest)))
        .collect()
}

/// What is there from the beginning and stays: namespace, classes, backend Services.
pub fn fixtures() -> Vec<Value> {
    let class = |name: &str, config: &str| {
        object(
            kinds::GATEWAY_CLASS,
            name,
            json!({ "spec": { "controllerName": CONTROLLER, "parametersRef": {
                "group": "stunner.l7mp.io", "kind": "GatewayConfig", "name": config, "namespace": NS,
            } } }),
        )
    };
    let mut fixtures = vec![
        object(kinds::NAMESPACE, NS, json!({})),
        class("chaos", "config"),
        class("chaos-two", "config-two"),
        object(
            kinds::STATIC_SERVICE,
            "loopback",
            json!({ "spec": { "prefixes": ["127.0.0.1"] } }),
        ),
    ];
    for (number, name) in SERVICES.iter().enumerate() {
        fixtures.push(object(
            kinds::SERVICE,
            name,
            json!({ "spec": {
                "clusterIP": format!("10.96.77.{}", number + 1),
                "ports": [{ "name": "media", "port": 5000, "protocol": "UDP" }],
            } }),
        ));
    }
    fixtures
}

pub fn steady(ports: Ports, with_extra: bool) -> Value {
    let mut listeners = vec![
        json!({ "name": "udp", "protocol": "TURN-UDP", "port": ports.udp }),
        json!({ "name": "tcp", "protocol": "TURN-TCP", "port": ports.tcp }),
    ];
    if with_extra {
        listeners.push(json!({ "name": "extra", "protocol": "TURN-UDP", "port": ports.extra }));
    }
    let mut gateway = gateway(STEADY, "chaos", json!(listeners));
    gateway["metadata"]["annotations"] =
        json!({ "stunner.l7mp.io/enable-mixed-protocol-lb": "true" });
    gateway
}

pub fn gateway(name: &str, class: &str, listeners: Value) -> Value {
    object(
        kinds::GATEWAY,
        name,
        json!({ "spec": { "gatewayClassName": class, "listeners": listeners } }),
    )
}

/// A Gateway with one to three listeners, one of which may want the certificate.
pub fn any_gateway(name: &str, random: &mut Random) -> Value {
    let mut listeners = Vec::new();
    for number in 0..=random.below(3) {
        let protocol = random.pick(&["TURN-UDP", "TURN-TCP", "TURN-TLS", "TURN-DTLS"]);
        let mut listener = json!({
            "name": format!("listener-{number}"), "protocol": protocol,
            "port": 3478 + 10 * number + random.below(5),
        });
        if protocol.ends_with("TLS") {
            listener["tls"] = json!({ "certificateRefs": [{ "name": "certificate" }] });
        }
        if random.chance(30) {
            listener["allowedRoutes"] = json!({ "namespaces": {
                "from": "Selector", "selector": { "matchLabels": { "tier": "media" } },
            } });
        }
        listeners.push(listener);
    }
    // Each has its class for good: another class may mean another pod template, and rightly so.
    let class = if name == "centre" {
        "chaos-two"
    } else {
        "chaos"
    };
    gateway(name, class, json!(listeners))
}

/// A route with parents and backends of any kind, some of which may not exist.
pub fn any_route(name: &str, random: &mut Random) -> Value {
    let mut parents = vec![json!({ "name": random.pick(&GATEWAYS) })];
    if random.chance(30) {
        parents
            .push(json!({ "name": STEADY, "sectionName": random.pick(&["udp", "tcp", "extra"]) }));
    }
    let mut backends = Vec::new();
    for _ in 0..=random.below(3) {
        backends.push(any_backend(random));
    }
    route(name, &parents, &backends)
}

/// Keeps what the sessions need; the rest changes.
pub fn steady_route(random: &mut Random) -> Value {
    let mut backends = vec![static_backend("loopback")];
    for _ in 0..random.below(3) {
        backends.insert(random.below(backends.len() + 1), any_backend(random));
    }
    route(STEADY, &[json!({ "name": STEADY })], &backends)
}

fn route(name: &str, parents: &[Value], backends: &[Value]) -> Value {
    object(
        kinds::UDP_ROUTE,
        name,
        json!({ "spec": { "parentRefs": parents, "rules": [{ "backendRefs": backends }] } }),
    )
}

fn static_backend(name: &str) -> Value {
    json!({ "group": "stunner.l7mp.io", "kind": "StaticService", "name": name })
}

fn any_backend(random: &mut Random) -> Value {
    if random.chance(40) {
        return static_backend(random.pick(&STATIC_SERVICES));
    }
    let mut backend = json!({ "name": random.pick(&SERVICES) });
    if random.chance(30) {
        backend["port"] = 5000.into();
        backend["endPort"] = (5000 + random.below(100)).into();
    }
    backend
}

pub fn any_static_service(name: &str, random: &mut Random) -> Value {
    let prefixes = (0..=random.below(3))
        .map(|_| format!("192.0.2.{}", random.below(250)))
        .collect::<Vec<_>>();
    object(
        kinds::STATIC_SERVICE,
        name,
        json!({ "spec": { "prefixes": prefixes } }),
    )
}

pub fn any_slice(name: &str, random: &mut Random) -> Value {
    let endpoints = (0..random.below(5))
        .map(|number| {
            let ready = random.chance(70);
            json!({
                "addresses": [format!("10.244.{number}.{}", 1 + random.below(250))],
                "conditions": { "ready": ready, "serving": ready, "terminating": !ready },
            })
        })
        .collect::<Vec<_>>();
    let mut slice = object(
        kinds::ENDPOINT_SLICE,
        name,
        json!({
            "addressType": "IPv4", "endpoints": endpoints,
            "ports": [{ "name": "media", "port": 5000, "protocol": "UDP" }],
        }),
    );
    slice["metadata"]["labels"] = json!({ "kubernetes.io/service-name": name });
    slice
}
