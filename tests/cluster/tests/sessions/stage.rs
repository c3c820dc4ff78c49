//! A Gateway with a route and backends, an operator, and pods that are processes of this machine.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use cluster_tests::{
    Cluster, Kubelet, Objects, Operator, OperatorOptions, User, eventually, manifests,
};
use interop_tests::binary;
use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::ended::{Ended, run_to_end};
use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::stunnerd;
use serde_json::{Value, json};

pub const USER: &str = "ann";
pub const PASSWORD: &str = "hush-password";

/// A namespace of this name with the Gateway `edge`.
pub struct Stage {
    // Dropped in this order: what asks before what is asked.
    processes: Vec<Process>,
    kubelets: Vec<Kubelet>,
    pub operator: Operator,
    pub objects: Objects,
    pub name: &'static str,
    kubeconfig: PathBuf,
    turn: u16,
}

impl Stage {
    pub async fn set(cluster: &Cluster, name: &'static str) -> Stage {
        let objects = cluster.objects().await;
        let turn = free_port();
        for object in objects_of(name, turn) {
            objects.apply_object(&object).await;
        }
        let options = OperatorOptions::new(&manifests::controller(name));
        Stage {
            processes: Vec::new(),
            kubelets: Vec::new(),
            operator: Operator::start(cluster, options).await,
            objects,
            name,
            kubeconfig: cluster.kubeconfig(User::Admin),
            turn,
        }
    }

    /// A pod of the Gateway: a dataplane that gets its configuration from the operator.
    pub async fn dataplane(&mut self, cluster: &Cluster, pod: &str) {
        let origin = format!("http://127.0.0.1:{}", self.operator.cds_port());
        self.start(cluster, pod, &origin).await;
    }

    /// A pod of the Gateway that has stayed behind: its configuration knows of no route.
    pub async fn straggler(&mut self, cluster: &Cluster, pod: &str) {
        let name = self.name;
        let config = json!({
            "version": "v1",
            "admin": { "name": format!("{name}/edge"), "healthcheck_endpoint": "" },
            "auth": { "type": "static", "credentials": { "username": USER, "password": PASSWORD } },
            "listeners": [{ "name": format!("{name}/edge/udp"), "protocol": "TURN-UDP",
                            "address": "127.0.0.1", "port": free_port() }],
            "clusters": [],
        });
        let file = cluster.folder().join(format!("{name}-{pod}.json"));
        std::fs::write(&file, config.to_string()).expect("a file");
        self.start(cluster, pod, file.to_str().expect("a path"))
            .await;
    }

    async fn start(&mut self, cluster: &Cluster, pod: &str, origin: &str) {
        let name = self.name;
        let admin = free_port();
        let kubelet = Kubelet::start(cluster, &format!("{name}-{pod}"), &[(8087, admin)]).await;
        let metadata = json!({ "name": pod, "namespace": name, "labels": {
            "app": "stunner",
            "stunner.l7mp.io/related-gateway-namespace": name,
            "stunner.l7mp.io/related-gateway-name": "edge",
        } });
        kubelet.pod(&metadata, "10.244.0.7").await;
        self.kubelets.push(kubelet);
        let mut command = Command::new(stunnerd::binary());
        command
            .args(["--watch", "--config", origin])
            .args(["--log", "all:INFO"])
            .args(["--admin-address", &format!("127.0.0.1:{admin}")])
            .env("STUNNER_NAMESPACE", name)
            .env("STUNNER_NAME", "edge")
            .env("STUNNER_ADDR", "127.0.0.1");
        let process = Process::start("stunnerd", command).expect("start a dataplane");
        self.processes.push(process);
    }

    /// The operator's own pod, so that config discovery is found.
    pub async fn discovery(&mut self, cluster: &Cluster) {
        let name = self.name;
        let ports = [(13478, self.operator.cds_port())];
        let kubelet = Kubelet::start(cluster, &format!("{name}-operator"), &ports).await;
        let metadata = json!({ "name": "operator", "namespace": name, "labels": {
            "stunner.l7mp.io/config-discovery-service": "enabled",
        } });
        kubelet.pod(&metadata, "10.244.0.1").await;
        self.kubelets.push(kubelet);
    }

    pub async fn client(&self) -> TurnClient {
        let server = SocketAddr::from(([127, 0, 0, 1], self.turn));
        eventually("an allocation", async || {
            let mut client = TurnClient::connect(Transport::Udp, server, "")
                .with_credentials(Credentials::new(USER, PASSWORD));
            let allocated = client.allocate();
            allocated.map_err(|refusal| format!("{refusal:?}"))?;
            Ok(client)
        })
        .await
    }

    /// `stunnerctl COMMAND -n NAMESPACE …`, run to its end.
    pub async fn ctl(&self, arguments: &[&str]) -> Ended {
        let mut command = Command::new("timeout");
        command
            .arg("60")
            .arg(binary::stunnerctl())
            .args(arguments)
            .args(["-n", self.name, "--kubeconfig"])
            .arg(&self.kubeconfig);
        let run = tokio::task::spawn_blocking(move || run_to_end(&mut command, ""));
        run.await.expect("a thread")
    }
}

/// The Gateway `edge` with a route to the StaticService `media`, and a Service that no route names.
fn objects_of(name: &str, turn: u16) -> Vec<Value> {
    let ours = "stunner.l7mp.io/v1";
    let metadata = |object: &str| json!({ "name": object, "namespace": name });
    let [namespace, class, mut config, dataplane] = manifests::own_class(name, USER, PASSWORD);
    let metrics = format!("http://127.0.0.1:{}/metrics", free_port());
    config["spec"]["metricsEndpoint"] = metrics.into();
    vec![
        namespace,
        class,
        config,
        dataplane,
        manifests::gateway(name, "edge", turn),
        json!({
            "apiVersion": ours, "kind": "UDPRoute", "metadata": metadata("calls"),
            "spec": {
                "parentRefs": [{ "name": "edge" }],
                "rules": [{ "backendRefs": [
                    { "group": "stunner.l7mp.io", "kind": "StaticService", "name": "media" },
                ] }],
            },
        }),
        json!({
            "apiVersion": ours, "kind": "StaticService", "metadata": metadata("media"),
            "spec": { "prefixes": ["127.0.0.1", "10.1.0.0/16"] },
        }),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata("mixer"),
            "spec": { "clusterIP": "None", "ports": [{ "port": 5000, "protocol": "UDP" }] },
        }),
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": { "name": "mixer-1", "namespace": name,
                          "labels": { "kubernetes.io/service-name": "mixer" } },
            "endpoints": [{ "addresses": ["10.2.0.7"] }],
        }),
    ]
}
