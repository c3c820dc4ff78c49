//! A node whose pods are processes of this machine.

use std::net::{IpAddr, UdpSocket};
use std::process::Command;

use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::skip::Missing;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::kinds;
use crate::objects::Objects;

/// A Node with the part of a kubelet that answers port-forwards. The ports of all its pods are mapped to ports of
/// loopback.
#[derive(Debug)]
pub struct Kubelet {
    node: String,
    objects: Objects,
    _process: Process,
}

impl Kubelet {
    /// `ports` are pairs of a pod's port and the one of this machine that stands for it; others are refused, as where
    /// nothing listens.
    pub async fn start(cluster: &Cluster, node: &str, ports: &[(u16, u16)]) -> Kubelet {
        let listen = free_port();
        let ports: Vec<String> = ports
            .iter()
            .map(|(pod, local)| format!("{pod}={local}"))
            .collect();
        let mut command = Command::new(cluster.programs().join("port-forwarder"));
        command
            .args(["-listen", &format!("127.0.0.1:{listen}")])
            .args(["-ports", &ports.join(",")]);
        let process = Process::start("port-forwarder", command);
        let objects = cluster.objects().await;
        let object = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } });
        objects.apply_object(&object).await;
        let status = json!({
            "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": listen } },
        });
        objects.merge_status(kinds::NODE, "", node, status).await;
        Kubelet {
            node: node.to_owned(),
            objects,
            _process: process.expect("start the kubelet's part"),
        }
    }

    /// A pod of this node that runs and is ready. `metadata` has at least a name and a namespace.
    pub async fn pod(&self, metadata: &Value, address: &str) {
        self.objects
            .apply_object(&json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
                "spec": { "nodeName": self.node,
                          "containers": [{ "name": "main", "image": "example.test/image:1" }] },
            }))
            .await;
        self.set_ready(metadata, address, true).await;
    }

    /// Whether the pod is ready from now on.
    pub async fn set_ready(&self, metadata: &Value, address: &str, ready: bool) {
        let text = |key: &str| metadata[key].as_str().expect("a name and a namespace");
        let status = json!({
            "phase": "Running", "podIP": address, "podIPs": [{ "ip": address }],
            "conditions": [{ "type": "Ready", "status": if ready { "True" } else { "False" } }],
        });
        let (namespace, name) = (text("namespace"), text("name"));
        self.objects
            .merge_status(kinds::POD, namespace, name, status)
            .await;
    }
}

/// An address of this machine that others could reach, for pods whose address must not be loopback. Nothing is sent.
pub fn own_address() -> Result<IpAddr, Missing> {
    let found = || {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect("198.51.100.1:9")?;
        socket.local_addr()
    };
    match found() {
        Ok(address) if !address.ip().is_loopback() => Ok(address.ip()),
        Ok(_) => Err(Missing::new("an address beside loopback", "there is none")),
        Err(error) => Err(Missing::new(
            "an address beside loopback",
            error.to_string(),
        )),
    }
}
