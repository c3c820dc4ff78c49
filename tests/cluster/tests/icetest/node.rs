//! A node and a load balancer for the test's namespace: pods become processes, Services get an address.
//!
//! The address is one of this machine that is not loopback, which no endpoint may have.

use std::collections::HashMap;
use std::net::IpAddr;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use cluster_tests::{Cluster, Kubelet, Objects, kinds};
use interop_tests::binary;
use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::stunnerd;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::stunnerctl::NAME;

const NODE: &str = "icetest-node";
/// The icetester's, as the pod has it.
const PORT: u16 = 8089;

pub struct Node {
    kubelet: Kubelet,
    objects: Objects,
    address: String,
    /// Where the icetester listens.
    whip: u16,
    /// Where dataplanes get their configs.
    cds: u16,
    processes: HashMap<String, Process>,
}

impl Node {
    pub async fn start(cluster: &Cluster, address: IpAddr, cds: u16) -> Self {
        let whip = free_port();
        Node {
            kubelet: Kubelet::start(cluster, NODE, &[(PORT, whip)]).await,
            objects: cluster.objects().await,
            address: address.to_string(),
            whip,
            cds,
            processes: HashMap::new(),
        }
    }

    /// Does what nodes and load balancers do, for as long as it is polled.
    pub async fn run(&mut self) {
        loop {
            for service in self.objects.list(kinds::SERVICE, NAME).await {
                self.expose(&service).await;
            }
            for pod in self.objects.list(kinds::POD, NAME).await {
                self.admit(&pod).await;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn expose(&self, service: &Value) {
        let is_open = service["spec"]["type"] == "LoadBalancer";
        let has_address = service["status"]["loadBalancer"]["ingress"][0].is_object();
        if is_open && !has_address {
            let name = service["metadata"]["name"].as_str().unwrap_or_default();
            let ingress = json!([{ "ip": self.address }]);
            self.objects.set_ingress(NAME, name, ingress).await;
        }
    }

    async fn admit(&mut self, pod: &Value) {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        if pod["metadata"]["deletionTimestamp"].is_string() || self.processes.contains_key(name) {
            return;
        }
        let gateway = &pod["metadata"]["labels"]["stunner.l7mp.io/related-gateway-name"];
        let process = match gateway.as_str() {
            Some(gateway) => self.dataplane(gateway),
            None => self.icetester().await,
        };
        self.processes.insert(name.to_owned(), process);
        self.bind(name).await;
        self.kubelet
            .set_ready(&pod["metadata"], &self.address, true)
            .await;
    }

    /// What a scheduler does.
    async fn bind(&self, pod: &str) {
        let pods: Api<k8s_openapi::api::core::v1::Pod> =
            Api::namespaced(self.objects.client(), NAME);
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": { "name": pod, "namespace": NAME },
            "target": { "apiVersion": "v1", "kind": "Node", "name": NODE },
        });
        let bound = pods
            .create_subresource::<_, Value>("binding", pod, &PostParams::default(), &binding)
            .await;
        if let Err(error) = bound {
            // A pod that has just been deleted is no matter.
            println!("cannot bind {pod}: {error}");
        }
    }

    fn dataplane(&self, gateway: &str) -> Process {
        let mut command = Command::new(stunnerd::binary());
        command
            .args([
                "--watch",
                "--config",
                &format!("http://127.0.0.1:{}", self.cds),
            ])
            .args(["--log", "all:INFO", "--admin-address", "off"])
            .env("STUNNER_NAMESPACE", NAME)
            .env("STUNNER_NAME", gateway)
            .env("STUNNER_ADDR", &self.address);
        Process::start("stunnerd", command).expect("start a dataplane")
    }

    /// With the token that the pod would get from its Secret.
    async fn icetester(&self) -> Process {
        let secret = self.objects.find(kinds::SECRET, NAME, "icetester").await;
        let secret = secret.expect("the icetester's Secret is made before its pod");
        let token = secret["data"]["BEARER_TOKEN"].as_str().unwrap_or_default();
        let token = base64::engine::general_purpose::STANDARD.decode(token);
        let token = String::from_utf8(token.expect("base64")).expect("text");
        let mut command = Command::new(binary::icetester());
        command
            .args([
                "--addr",
                &format!("127.0.0.1:{}", self.whip),
                "--log",
                "all:INFO",
            ])
            .env("BEARER_TOKEN", token)
            .env("STUNNER_ICETESTER_INSECURE", "true");
        Process::start("icetester", command).expect("start the icetester")
    }
}
