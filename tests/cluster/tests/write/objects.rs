//! Plans for a Gateway `gw`, as translation makes them.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stunner_api::NamespacedName;
use stunner_api::gateway::GatewayStatus;
use stunner_translate::{GatewayPlan, Workload};

pub const GATEWAY: &str = "gw";

pub fn plan(uid: &str) -> GatewayPlan {
    GatewayPlan {
        uid: uid.to_owned(),
        config: None,
        workloads: Vec::new(),
        retired: Vec::new(),
        status: None,
        last_good: None,
    }
}

pub fn metadata(gateway: &NamespacedName, uid: &str) -> Value {
    json!({
        "name": gateway.name,
        "namespace": gateway.namespace,
        "labels": {
            "stunner.l7mp.io/owned-by": "stunner",
            "stunner.l7mp.io/related-gateway-name": gateway.name,
            "stunner.l7mp.io/related-gateway-namespace": gateway.namespace,
        },
        "annotations": {"stunner.l7mp.io/related-gateway-name": gateway.to_string()},
        "ownerReferences": [{
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "name": gateway.name, "uid": uid,
        }],
    })
}

pub fn selector(gateway: &NamespacedName) -> Value {
    json!({
        "app": "stunner",
        "stunner.l7mp.io/related-gateway-name": gateway.name,
        "stunner.l7mp.io/related-gateway-namespace": gateway.namespace,
    })
}

pub fn service(gateway: &NamespacedName, uid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": metadata(gateway, uid),
        "spec": {
            "type": "LoadBalancer",
            "selector": selector(gateway),
            "sessionAffinity": "ClientIP",
            "ports": [
                {"name": "udp", "port": 3478, "protocol": "UDP", "targetPort": 3478},
                {"name": "tcp", "port": 3478, "protocol": "TCP", "targetPort": 3478},
            ],
        },
    })
}

pub fn deployment(gateway: &NamespacedName, uid: &str) -> Value {
    let field = |path: &str| json!({"fieldRef": {"fieldPath": path}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": metadata(gateway, uid),
        "spec": {
            "replicas": 2,
            "selector": {"matchExpressions": [
                {"key": "app", "operator": "In", "values": ["stunner"]},
                {"key": "stunner.l7mp.io/related-gateway-name", "operator": "In", "values": [gateway.name]},
            ]},
            "template": {
                "metadata": {
                    "labels": selector(gateway),
                    "annotations": {"stunner.l7mp.io/related-gateway-name": gateway.to_string()},
                },
                "spec": {
                    "terminationGracePeriodSeconds": 30,
                    "hostNetwork": false,
                    "securityContext": {
                        "runAsNonRoot": true,
                        "sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}],
                    },
                    "tolerations": [{"key": "media", "operator": "Exists", "effect": "NoSchedule"}],
                    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "media", "operator": "Exists"}]}],
                    }}},
                    "topologySpreadConstraints": [{
                        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": {"app": "stunner"}},
                    }],
                    "imagePullSecrets": [{"name": "pull"}],
                    "volumes": [{"name": "config-discovery", "projected": {"sources": [
                        {"serviceAccountToken": {"audience": "a", "path": "token"}},
                        {"configMap": {"name": "gw-config-discovery", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    ]}}],
                    "containers": [{
                        "name": "stunner-daemon",
                        "image": "l7mp/stunnerd:1",
                        "command": ["stunnerd"],
                        "args": ["-w", "--udp-thread-num=16"],
                        "env": [
                            {"name": "STUNNER_ADDR", "valueFrom": field("status.podIP")},
                            {"name": "STUNNER_NAME", "value": gateway.name},
                            {"name": "EMPTY", "value": ""},
                        ],
                        "ports": [{"name": "metrics-port", "containerPort": 8080, "protocol": "TCP"}],
                        "resources": {"limits": {"cpu": "2000m", "memory": "0.5Gi"}, "requests": {"cpu": "0.5"}},
                        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                        "livenessProbe": {
                            "httpGet": {"path": "/live", "port": 8086, "scheme": "HTTP"},
                            "periodSeconds": 15, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3,
                        },
                        "volumeMounts": [{
                            "name": "config-discovery", "mountPath": "/var/run/secrets/stunner.l7mp.io", "readOnly": true,
                        }],
                    }],
                },
            },
        },
    })
}

pub fn config_map(gateway: &NamespacedName, uid: &str) -> Value {
    let mut metadata = metadata(gateway, uid);
    metadata["name"] = json!(format!("{}-config-discovery", gateway.name));
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": "PEM"}})
}

fn read<T: DeserializeOwned>(value: &Value) -> Box<T> {
    Box::new(serde_json::from_value(value.clone()).expect("an object of that kind"))
}

/// The typed form of an object, by its `kind`.
pub fn workload(value: &Value) -> Workload {
    match value["kind"].as_str() {
        Some("Service") => Workload::Service(read(value)),
        Some("Deployment") => Workload::Deployment(read(value)),
        Some("DaemonSet") => Workload::DaemonSet(read(value)),
        Some("ConfigMap") => Workload::ConfigMap(read(value)),
        other => panic!("not a workload: {other:?}"),
    }
}

pub fn gateway_status(value: Value) -> GatewayStatus {
    serde_json::from_value(value).expect("a status")
}
