//! Objects that suites with a class of their own begin with.

use serde_json::{Value, json};

/// The name by which an operator takes the class of [`own_class`].
pub fn controller(name: &str) -> String {
    format!("stunner.l7mp.io/{name}")
}

/// A namespace and, by the same name, a GatewayClass and a Dataplane. The class has a GatewayConfig with a static
/// credential. Health servers are off: those of several dataplanes on one machine would want one port.
pub fn own_class(name: &str, user: &str, password: &str) -> [Value; 4] {
    [
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }),
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": { "name": name },
            "spec": { "controllerName": controller(name), "parametersRef": {
                "group": "stunner.l7mp.io", "kind": "GatewayConfig", "name": "config", "namespace": name,
            } },
        }),
        json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "GatewayConfig",
            "metadata": { "name": "config", "namespace": name },
            "spec": { "userName": user, "password": password, "dataplane": name },
        }),
        json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "Dataplane", "metadata": { "name": name },
            "spec": { "disableHealthCheck": true },
        }),
    ]
}

/// A Gateway of that class with a UDP listener, `udp`.
pub fn gateway(class: &str, name: &str, port: u16) -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": { "name": name, "namespace": class },
        "spec": { "gatewayClassName": class, "listeners": [
            { "name": "udp", "protocol": "TURN-UDP", "port": port },
        ] },
    })
}
