//! A namespace with the pods of a config discovery service, which is a server of this process.

use std::net::{Ipv4Addr, SocketAddr};

use cluster_tests::{Cluster, Kubelet, Objects, User};
use interop_tests::ports::free_port;
use serde_json::{Value, json};
use stunner_cds::ConfigId;
use stunner_cds::server::{ConfigStore, RunningServer, Server, ServerOptions};
use stunner_cluster::{CdsFlags, Kubectl};
use stunner_http::BindAddress;

/// Pods have addresses, which nobody here connects to.
pub const ADDRESS: &str = "192.0.2.7";

/// The flags of somebody with all rights.
pub fn admin(cluster: &Cluster) -> Kubectl {
    Kubectl {
        kubeconfig: Some(cluster.kubeconfig(User::Admin)),
        ..Kubectl::default()
    }
}

/// The flags of somebody with a token.
pub fn with_token(cluster: &Cluster, token: &str) -> Kubectl {
    Kubectl {
        token: Some(token.to_owned()),
        ..admin(cluster)
    }
}

pub fn id(text: &str) -> ConfigId {
    ConfigId::parse(text).expect("an id")
}

pub fn config(id: &str, port: u16) -> Value {
    json!({
        "version": "v1", "admin": { "name": id },
        "auth": { "type": "static", "credentials": { "username": "u", "password": "p" } },
        "listeners": [{ "name": format!("{id}/udp"), "protocol": "TURN-UDP", "address": "127.0.0.1", "port": port,
                        "routes": ["stunner/media"] }],
        "clusters": [{ "name": "stunner/media", "type": "STATIC", "endpoints": ["10.0.0.0/8"] }],
    })
}

/// What an operator's pod is called, labelled and owned by.
pub fn operator_pod(namespace: &str, name: &str, deployment: &str, hash: &str) -> Value {
    json!({
        "name": name, "namespace": namespace,
        "labels": { "stunner.l7mp.io/config-discovery-service": "enabled", "pod-template-hash": hash },
        "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{deployment}-{hash}"),
                              "uid": format!("00000000-0000-0000-0000-{hash:0>12}"), "controller": true }],
    })
}

pub struct World {
    pub namespace: String,
    pub objects: Objects,
    pub kubelet: Kubelet,
    pub store: ConfigStore,
    pub service: Option<RunningServer>,
    address: SocketAddr,
}

impl World {
    /// `ports` are further ones of its pods.
    pub async fn new(cluster: &Cluster, namespace: &str, ports: &[(u16, u16)]) -> World {
        let objects = cluster.objects().await;
        let object =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        objects.apply_object(&object).await;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let ports = [&[(13478, address.port())], ports].concat();
        let mut world = World {
            namespace: namespace.to_owned(),
            objects,
            kubelet: Kubelet::start(cluster, namespace, &ports).await,
            store: ConfigStore::new(),
            service: None,
            address,
        };
        world.serve();
        world
    }

    /// Starts the service, again after it was stopped.
    pub fn serve(&mut self) {
        let bound = Server::bind(&BindAddress::from(self.address)).expect("a port");
        let running = bound.serve(self.store.clone(), ServerOptions::default());
        self.service = Some(running.expect("a service"));
    }

    /// Where the service is without a port-forward.
    pub fn service_url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn publish(&self, name: &str, port: u16) {
        self.store.publish(id(name), &config(name, port));
    }

    /// Other tests have services of their own in the same cluster.
    pub fn cds_flags(&self) -> CdsFlags {
        CdsFlags {
            namespace: Some(self.namespace.clone()),
            ..CdsFlags::default()
        }
    }
}
