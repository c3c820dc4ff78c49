//! A namespace with a class of its own, and an operator for it.

use cluster_tests::{Cluster, Objects, Operator, OperatorOptions, eventually, kinds, manifests};
use serde_json::json;

pub const SECRET: &str = "hush-secret";

pub struct Site {
    pub operator: Operator,
    pub objects: Objects,
    pub name: &'static str,
}

impl Site {
    pub async fn set(cluster: &Cluster, name: &'static str) -> Site {
        let objects = cluster.objects().await;
        for mut object in manifests::own_class(name, "", "") {
            if object["kind"] == "GatewayConfig" {
                object["spec"] =
                    json!({ "authType": "ephemeral", "sharedSecret": SECRET, "dataplane": name });
            }
            objects.apply_object(&object).await;
        }
        let options = OperatorOptions::new(&manifests::controller(name));
        Site {
            operator: Operator::start(cluster, options).await,
            objects,
            name,
        }
    }

    /// A Gateway with one UDP listener, and the address that a load balancer gives it.
    pub async fn gateway(&self, gateway: &str, address: &str) {
        let name = self.name;
        let object = manifests::gateway(name, gateway, 3478);
        self.objects.apply_object(&object).await;
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

/// How a client reaches a Gateway of [`Site::gateway`].
pub fn url(address: &str) -> String {
    format!("turn:{address}:3478?transport=udp")
}
