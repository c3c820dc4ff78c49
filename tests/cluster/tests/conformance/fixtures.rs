//! The objects that the cases start from.

use cluster_tests::Objects;
use serde_json::{Value, json};

pub const NS: &str = "testnamespace";
pub const CONTROLLER: &str = "stunner.l7mp.io/conformance";
pub const POD_IPS: [&str; 4] = ["1.2.3.4", "1.2.3.5", "1.2.3.6", "1.2.3.7"];
/// Name of the cluster that [`udp_route`] renders.
pub const ROUTE: &str = "testnamespace/udproute-ok";

/// Annotations and labels, in one place for all cases.
pub const SERVICE_TYPE: &str = "stunner.l7mp.io/service-type";
pub const OWNED_BY: &str = "stunner.l7mp.io/owned-by";
pub const RELATED_GATEWAY: &str = "stunner.l7mp.io/related-gateway-name";

pub fn namespace() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": NS, "labels": { "testlabel": "testvalue" } },
    })
}

pub fn gateway_class() -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
        "metadata": { "name": "gatewayclass-ok" },
        "spec": {
            "controllerName": CONTROLLER,
            "parametersRef": {
                "group": "stunner.l7mp.io", "kind": "GatewayConfig",
                "name": "gatewayconfig-ok", "namespace": NS,
            },
        },
    })
}

pub fn gateway_config() -> Value {
    json!({
        "apiVersion": "stunner.l7mp.io/v1", "kind": "GatewayConfig",
        "metadata": { "name": "gatewayconfig-ok", "namespace": NS },
        "spec": {
            "realm": "testrealm", "authType": "static",
            "userName": "testuser", "password": "testpass", "logLevel": "testloglevel",
        },
    })
}

pub fn gateway(name: &str, listeners: Value) -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": { "name": name, "namespace": NS },
        "spec": { "gatewayClassName": "gatewayclass-ok", "listeners": listeners },
    })
}

pub fn listener(name: &str, protocol: &str, port: u16) -> Value {
    json!({ "name": name, "protocol": protocol, "port": port })
}

/// A listener with the certificate of `testsecret-ok`.
pub fn tls_listener(name: &str, protocol: &str, port: u16) -> Value {
    let mut listener = listener(name, protocol, port);
    listener["tls"] =
        json!({ "mode": "Terminate", "certificateRefs": [{ "name": "testsecret-ok" }] });
    listener
}

pub fn udp() -> Value {
    listener("gateway-1-listener-udp", "TURN-UDP", 1)
}

pub fn tcp() -> Value {
    listener("gateway-1-listener-tcp", "TURN-TCP", 2)
}

pub fn dtls(port: u16) -> Value {
    tls_listener("gateway-1-listener-dtls", "TURN-DTLS", port)
}

/// `gateway-1` with a UDP listener on port 1 and a TCP listener on port 2.
pub fn gateway_1() -> Value {
    let mut gateway = gateway("gateway-1", json!([udp(), tcp()]));
    gateway["metadata"]["labels"] = json!({ "dummy-label": "dummy-value" });
    gateway
}

pub fn udp_route() -> Value {
    json!({
        "apiVersion": "stunner.l7mp.io/v1", "kind": "UDPRoute",
        "metadata": { "name": "udproute-ok", "namespace": NS },
        "spec": {
            "parentRefs": [{ "name": "gateway-1", "sectionName": "gateway-1-listener-udp" }],
            "rules": [{ "backendRefs": [{ "name": "testservice-ok" }] }],
        },
    })
}

pub fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "testservice-ok", "namespace": NS },
        "spec": {
            "type": "LoadBalancer",
            "ports": [
                { "name": "udp-ok", "port": 1, "protocol": "UDP" },
                { "name": "tcp-ok", "port": 2, "protocol": "TCP" },
            ],
        },
    })
}

pub fn endpoint_slice() -> Value {
    let endpoint = |address: &str, ready: bool, serving: bool, terminating: bool| {
        json!({
            "addresses": [address],
            "conditions": { "ready": ready, "serving": serving, "terminating": terminating },
        })
    };
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": "testendpointslice-ok", "namespace": NS,
            "labels": { "kubernetes.io/service-name": "testservice-ok" },
        },
        "addressType": "IPv4",
        "endpoints": [
            endpoint("1.2.3.4", true, true, false),
            endpoint("1.2.3.5", true, true, false),
            endpoint("1.2.3.6", false, false, true),
            endpoint("1.2.3.7", false, true, false),
        ],
    })
}

pub fn endpoints() -> Value {
    let ips = |list: &[&str]| {
        list.iter()
            .map(|ip| json!({ "ip": ip }))
            .collect::<Vec<_>>()
    };
    json!({
        "apiVersion": "v1", "kind": "Endpoints",
        "metadata": { "name": "testservice-ok", "namespace": NS },
        "subsets": [{
            "addresses": ips(&["1.2.3.4", "1.2.3.5", "1.2.3.7"]),
            "notReadyAddresses": ips(&["1.2.3.6"]),
            "ports": [{ "port": 1, "protocol": "UDP" }],
        }],
    })
}

pub fn auth_secret() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "testauthsecret-ok", "namespace": NS },
        "stringData": {
            "username": "ext-testuser", "password": "ext-testpass", "secret": "ext-secret",
        },
    })
}

pub fn static_service() -> Value {
    json!({
        "apiVersion": "stunner.l7mp.io/v1", "kind": "StaticService",
        "metadata": { "name": "teststaticservice-ok", "namespace": NS },
        "spec": { "prefixes": ["10.11.12.13", "10.11.12.14", "10.11.12.15"] },
    })
}

pub fn static_backend() -> Value {
    json!({ "group": "stunner.l7mp.io", "kind": "StaticService", "name": "teststaticservice-ok" })
}

pub fn dataplane(name: &str) -> Value {
    json!({
        "apiVersion": "stunner.l7mp.io/v1", "kind": "Dataplane",
        "metadata": { "name": name },
        "spec": {
            "replicas": 3,
            "image": "testimage-1", "imagePullPolicy": "Always",
            "command": ["testcommand-1"], "args": ["arg-1", "arg-2"],
            "terminationGracePeriodSeconds": 60,
            "resources": { "limits": { "memory": "10M" }, "requests": { "cpu": "250m" } },
            "hostNetwork": true,
        },
    })
}

/// What a cluster has before any Gateway: namespace, class, config and the backend Service.
pub async fn load_base(objects: &Objects) {
    for object in [namespace(), gateway_class(), gateway_config(), service()] {
        objects.apply_object(&object).await;
    }
}
