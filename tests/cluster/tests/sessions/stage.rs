//! A Gateway with a route and backends, an operator, and pods that are processes of this machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use cluster_tests::{Cluster, Kubelet, Objects, Operator, OperatorOptions, User, eventually};
use interop_tests::binary::find;
use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::stunnerd;
use serde_json::{Value, json};

pub const USER: &str = "ann";
pub const PASSWORD: &str = "hush-password";

fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| find("STUNNERCTL_BIN", "stunnerctl", "stunnerctl"))
}

/// What a run came to.
#[derive(Debug)]
pub struct Told {
    pub code: Option<i32>,
    pub data: String,
    pub notes: String,
}

impl Told {
    #[track_caller]
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    #[track_caller]
    pub fn says(&self, part: &str) {
        let said = format!("{}{}", self.data, self.notes);
        assert!(said.contains(part), "`{part}` is missing: {self:#?}");
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

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
        for object in manifests(name, turn) {
            objects.apply_object(&object).await;
        }
        let options = OperatorOptions::new(&format!("stunner.l7mp.io/{name}"));
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
    pub async fn ctl(&self, arguments: &[&str]) -> Told {
        let mut command = Command::new("timeout");
        command
            .arg("60")
            .arg(binary())
            .args(arguments)
            .args(["-n", self.name, "--kubeconfig"])
            .arg(&self.kubeconfig)
            .stdin(Stdio::null());
        let run = tokio::task::spawn_blocking(move || command.output());
        let Output {
            status,
            stdout,
            stderr,
        } = run.await.expect("a thread").expect("run stunnerctl");
        Told {
            code: status.code(),
            data: String::from_utf8_lossy(&stdout).into_owned(),
            notes: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }
}

/// The Gateway `edge` with a route to the StaticService `media`, and a Service that no route names.
fn manifests(name: &str, turn: u16) -> Vec<Value> {
    let ours = "stunner.l7mp.io/v1";
    let gateway_api = "gateway.networking.k8s.io/v1";
    let metadata = |object: &str| json!({ "name": object, "namespace": name });
    vec![
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }),
        json!({
            "apiVersion": gateway_api, "kind": "GatewayClass", "metadata": { "name": name },
            "spec": { "controllerName": format!("stunner.l7mp.io/{name}"), "parametersRef": {
                "group": "stunner.l7mp.io", "kind": "GatewayConfig", "name": "config", "namespace": name,
            } },
        }),
        json!({
            "apiVersion": ours, "kind": "GatewayConfig", "metadata": metadata("config"),
            "spec": { "userName": USER, "password": PASSWORD, "dataplane": name,
                      "metricsEndpoint": format!("http://127.0.0.1:{}/metrics", free_port()) },
        }),
        json!({
            "apiVersion": ours, "kind": "Dataplane", "metadata": { "name": name },
            "spec": { "disableHealthCheck": true },
        }),
        json!({
            "apiVersion": gateway_api, "kind": "Gateway", "metadata": metadata("edge"),
            "spec": { "gatewayClassName": name, "listeners": [
                { "name": "udp", "protocol": "TURN-UDP", "port": turn },
            ] },
        }),
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
