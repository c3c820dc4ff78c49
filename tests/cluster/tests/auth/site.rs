//! A namespace with a class of its own, and an operator for it.

use cluster_tests::{Cluster, Objects, Operator, OperatorOptions, eventually, kinds};
use serde_json::{Value, json};

pub const SECRET: &str = "hush-secret";

pub struct Site {
    pub operator: Operator,
    pub objects: Objects,
    pub name: &'static str,
}

impl Site {
    pub async fn set(cluster: &Cluster, name: &'static str) -> Site {
        let objects = cluster.objects().await;
        for object in manifests(name) {
            objects.apply_object(&object).await;
        }
        let options = OperatorOptions::new(&format!("stunner.l7mp.io/{name}"));
        Site {
            operator: Operator::start(cluster, options).await,
            objects,
            name,
        }
    }

    /// A Gateway with one UDP listener, and the address that a load balancer gives it.
    pub async fn gateway(&self, gateway: &str, address: &str) {
        let name = self.name;
        self.objects
            .apply_object(&json!({
                "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
                "metadata": { "name": gateway, "namespace": name },
                "spec": { "gatewayClassName": name, "listeners": [
                    { "name": "udp", "protocol": "TURN-UDP", "port": 3478 },
                ] },
            }))
            .await;
        eventually("the Service of the Gateway", async || {
            let service = self.objects.find(kinds::SERVICE, name, gateway).await;
            service.ok_or("there is none".to_owned())
        })
        .await;
        let ingress = json!([{ "ip": address }]);
        self.objects.set_ingress(name, gateway, ingress).await;
    }

    pub async fn delete(&self, gateway: &str) {
        self.objects
            .delete(kinds::GATEWAY, self.name, gateway)
            .await;
    }
}

fn manifests(name: &str) -> [Value; 4] {
    let ours = "stunner.l7mp.io/v1";
    [
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }),
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
            "metadata": { "name": name },
            "spec": { "controllerName": format!("stunner.l7mp.io/{name}"), "parametersRef": {
                "group": "stunner.l7mp.io", "kind": "GatewayConfig", "name": "config", "namespace": name,
            } },
        }),
        json!({
            "apiVersion": ours, "kind": "GatewayConfig",
            "metadata": { "name": "config", "namespace": name },
            "spec": { "authType": "ephemeral", "sharedSecret": SECRET, "dataplane": name },
        }),
        json!({
            "apiVersion": ours, "kind": "Dataplane", "metadata": { "name": name },
            "spec": { "replicas": 1 },
        }),
    ]
}

/// How a client reaches a Gateway of [`Site::gateway`].
pub fn url(address: &str) -> String {
    format!("turn:{address}:3478?transport=udp")
}
