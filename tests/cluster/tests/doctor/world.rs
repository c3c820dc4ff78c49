//! A namespace where everything is well: a class of its own, a Gateway on this machine, a route to a Service with an
//! endpoint, a pod that is ready. Pods are objects only, and the load balancer is what the test writes.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use cluster_tests::manifests::{self, controller};
use cluster_tests::{
    Cluster, Kubelet, Objects, Operator, OperatorOptions, User, eventually, eventually_within,
    kinds,
};
use interop_tests::binary;
use interop_tests::ended::{Ended, run_to_end};
use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::stunnerd;
use serde_json::{Value, json};

/// Credentials that must not be printed.
pub const USER: &str = "hush-user";
pub const PASSWORD: &str = "hush-password";

/// Several operators start at once, and the program under test takes its time for what does not answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// All lines about a hop.
pub fn lines<'a>(walk: &'a Value, hop: &str) -> Vec<&'a Value> {
    let findings = walk["findings"].as_array().into_iter().flatten();
    findings.filter(|finding| finding["hop"] == hop).collect()
}

pub struct World {
    pub name: String,
    pub objects: Objects,
    pub operator: Operator,
    /// The listener's port.
    pub turn: u16,
    kubeconfig: PathBuf,
}

impl World {
    /// Everything well, as far as Kubernetes knows. `change` may bend the objects before they are made.
    pub async fn new(cluster: &Cluster, name: &str, change: impl Fn(&mut Value)) -> World {
        let operator = Operator::start(cluster, OperatorOptions::new(&controller(name))).await;
        let world = World {
            name: name.to_owned(),
            objects: cluster.objects().await,
            operator,
            turn: free_port(),
            kubeconfig: cluster.kubeconfig(User::Admin),
        };
        for mut object in world.manifests() {
            change(&mut object);
            // Taken out of the world.
            if !object.is_null() {
                world.apply(&object).await;
            }
        }
        world.pod(true).await;
        world
    }

    fn manifests(&self) -> Vec<Value> {
        let name = &self.name;
        let behind = [
            manifests::gateway(name, "edge", self.turn),
            json!({
                "apiVersion": "stunner.l7mp.io/v1", "kind": "UDPRoute",
                "metadata": { "name": "media", "namespace": name },
                "spec": { "parentRefs": [{ "name": "edge" }], "rules": [{ "backendRefs": [{ "name": "media" }] }] },
            }),
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": { "name": "media", "namespace": name },
                "spec": { "clusterIP": "None", "ports": [{ "port": 5000, "protocol": "UDP" }] },
            }),
            json!({
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                "metadata": { "name": "media-1", "namespace": name,
                              "labels": { "kubernetes.io/service-name": "media" } },
                "endpoints": [{ "addresses": ["10.0.0.7"] }],
            }),
        ];
        let class = manifests::own_class(name, USER, PASSWORD);
        class.into_iter().chain(behind).collect()
    }

    pub async fn apply(&self, object: &Value) {
        self.objects.apply_object(object).await;
    }

    /// The pod of the Gateway, on a node whose kubelet is not there.
    pub async fn pod(&self, ready: bool) {
        let name = &self.name;
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "edge-1", "namespace": name, "labels": {
                "app": "stunner",
                "stunner.l7mp.io/related-gateway-namespace": name,
                "stunner.l7mp.io/related-gateway-name": "edge",
            } },
            "spec": { "nodeName": name,
                      "containers": [{ "name": "stunnerd", "image": "example.test/stunnerd:1" }] },
        }))
        .await;
        let (state, message) = match ready {
            true => ("True", ""),
            false => ("False", "containers with unready status: [stunnerd]"),
        };
        let status = json!({
            "phase": "Running", "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }],
            "conditions": [{ "type": "Ready", "status": state, "reason": "ContainersNotReady", "message": message }],
        });
        self.objects
            .merge_status(kinds::POD, name, "edge-1", status)
            .await;
    }

    /// What a load balancer controller does, once there is a Service.
    pub async fn balanced(&self, ingress: Value) {
        eventually("a Service for the Gateway", async || {
            let service = self.objects.find(kinds::SERVICE, &self.name, "edge").await;
            service.map(drop).ok_or_else(|| "none".to_owned())
        })
        .await;
        self.objects.set_ingress(&self.name, "edge", ingress).await;
    }

    pub async fn balanced_here(&self) {
        self.balanced(json!([{ "ip": "127.0.0.1" }])).await;
    }

    /// A dataplane of the Gateway on this machine.
    pub fn dataplane(&self) -> Process {
        let origin = format!("http://127.0.0.1:{}", self.operator.cds_port());
        let mut command = Command::new(stunnerd::binary());
        command
            .args(["--watch", "--config", &origin])
            .args(["--admin-address", "off"])
            .env("STUNNER_NAMESPACE", &self.name)
            .env("STUNNER_NAME", "edge")
            .env("STUNNER_ADDR", "127.0.0.1");
        Process::start("stunnerd", command).expect("start the dataplane")
    }

    /// A kubelet that forwards this port of pods to that one of this machine.
    pub async fn kubelet(&self, cluster: &Cluster, pod_port: u16, port: u16) -> Kubelet {
        Kubelet::start(cluster, &self.name, &[(pod_port, port)]).await
    }

    fn command(&self) -> Command {
        let mut command = Command::new(binary::stunnerctl());
        command
            .arg("doctor")
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--controller-name", &controller(&self.name)])
            .args(["--timeout", "1s"])
            .arg(format!(
                "--cds-server-address=127.0.0.1:{}",
                self.operator.cds_port()
            ));
        command
    }

    /// Runs the doctor on the Gateway.
    pub fn doctor(&self, args: &[&str]) -> Ended {
        let mut command = self.command();
        command.arg(format!("{}/edge", self.name)).args(args);
        run_to_end(&mut command, "")
    }

    /// Without a Gateway on the command line.
    pub fn doctor_of_all(&self, args: &[&str]) -> Ended {
        run_to_end(self.command().args(args), "")
    }

    /// Waits until the first dead hop is this one, as the operator does its work in its own time. Returns the walk.
    pub async fn dies_at(&self, hop: &str, args: &[&str]) -> Value {
        let args = [args, &["-o", "json"]].concat();
        let what = format!("the walk ends at `{hop}`");
        let walk = eventually_within(PATIENCE, &what, async || {
            let said = self.doctor(&args);
            assert!(!said.stdout.contains(PASSWORD), "{said:?}");
            let walk = said.json();
            match walk["deadHop"] == hop && said.code == Some(1) {
                true => Ok(walk),
                false => Err(format!("{said:?}")),
            }
        })
        .await;
        let dead = lines(&walk, hop);
        let dead = dead.iter().find(|finding| finding["verdict"] == "dead");
        let hint = dead.and_then(|finding| finding["hint"].as_str());
        assert!(hint.is_some_and(|hint| !hint.is_empty()), "{walk:#}");
        walk
    }

    /// Waits until nothing is dead, and the hops on the way that the operator is slow to report are well.
    pub async fn is_well(&self, args: &[&str]) -> Value {
        let args = [args, &["-o", "json"]].concat();
        eventually_within(PATIENCE, "no hop is dead", async || {
            let said = self.doctor(&args);
            let walk = said.json();
            let is_reported = lines(&walk, "gateway")
                .iter()
                .all(|it| it["verdict"] == "ok");
            match said.code == Some(0) && is_reported && !lines(&walk, "allocate").is_empty() {
                true => Ok(walk),
                false => Err(format!("{said:?}")),
            }
        })
        .await
    }
}

/// What is said about the first dead hop.
#[track_caller]
pub fn expect(walk: &Value, word: &str) {
    let hop = walk["deadHop"].as_str().expect("a dead hop");
    let dead = lines(walk, hop);
    let dead = dead.iter().find(|finding| finding["verdict"] == "dead");
    let said = dead.expect("a dead finding").to_string();
    assert!(said.contains(word), "`{word}` is not in {said}");
}

/// Answers every request with this document, as the status page of a dataplane would.
pub fn status_page(document: &Value) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let body = document.to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    port
}
