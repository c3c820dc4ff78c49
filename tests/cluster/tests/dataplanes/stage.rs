//! A cluster with two Gateways, an operator, and what a dataplane on this machine needs.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, Objects, Operator, OperatorOptions, eventually};
use interop_tests::client::{Credentials, Link, TurnClient};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::skip::Missing;
use serde_json::{Value, json};

pub const NS: &str = "media";
pub const GATEWAY: &str = "edge";
pub const CHANNEL: u16 = 0x4000;
const CONTROLLER: &str = "stunner.l7mp.io/dataplanes";

pub struct Stage {
    // Dropped in this order: the operator before its API server.
    pub operator: Operator,
    pub objects: Objects,
    pub cluster: Cluster,
    udp: u16,
    tcp: u16,
}

impl Stage {
    pub async fn set() -> Result<Self, Missing> {
        let cluster = Cluster::start(GatewayApi::V1_6Standard).await?;
        let objects = cluster.objects().await;
        let (udp, tcp) = (free_port(), free_port());
        for object in world(udp, tcp) {
            objects.apply_object(&object).await;
        }
        let operator = Operator::start(&cluster, OperatorOptions::new(CONTROLLER)).await;
        let stage = Self {
            operator,
            objects,
            cluster,
            udp,
            tcp,
        };
        stage.admitted("127.0.0.1").await;
        Ok(stage)
    }

    /// Routes the Gateway to a StaticService.
    pub async fn route_to(&self, backend: &str) {
        self.objects.apply_object(&route(backend)).await;
    }

    /// The config of the Gateway admits `address` and nothing else.
    pub async fn admitted(&self, address: &str) {
        let cds = self.operator.cds();
        eventually(&format!("{address} is admitted"), async || {
            let config = cds.config(NS, GATEWAY)?;
            let endpoints = &config["clusters"][0]["endpoints"];
            (*endpoints == json!([address]))
                .then_some(())
                .ok_or_else(|| config.to_string())
        })
        .await;
    }

    pub fn address(&self, transport: Transport) -> SocketAddr {
        let port = if transport.is_stream() {
            self.tcp
        } else {
            self.udp
        };
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    pub fn client(&self, transport: Transport) -> Result<TurnClient, String> {
        let link = Link::connect(transport, self.address(transport), "");
        let client = TurnClient::new(link.map_err(|error| format!("{error:?}"))?);
        Ok(client.with_credentials(Credentials::new("user", "pass")))
    }

    /// A session over `transport` that relays to `peer`, as soon as the dataplane lets it.
    pub async fn session(&self, transport: Transport, peer: &UdpEcho) -> TurnClient {
        eventually(
            &format!("{transport:?} through the dataplane"),
            async || {
                let mut client = self.client(transport)?;
                client
                    .allocate()
                    .map_err(|refusal| format!("{refusal:?}"))?;
                let bound = client.bind(CHANNEL, peer.address());
                bound.map_err(|refusal| format!("{refusal:?}"))?;
                // The Go dataplane holds back a stream frame of eight bytes or less until more follow.
                let relays = client.echoes(CHANNEL, b"a frame that is long enough");
                relays.then_some(client).ok_or_else(|| "no echo".to_owned())
            },
        )
        .await
    }

    /// Starts a dataplane as the Deployment of the Gateway would.
    pub fn dataplane(&self, program: &Path, origin: &str, env: &[(&str, &Path)]) -> Process {
        let mut command = Command::new(program);
        command
            .args(["--watch", "--config", origin])
            .args(["--log", "all:INFO"])
            .env("STUNNER_NAMESPACE", NS)
            .env("STUNNER_NAME", GATEWAY)
            .env("STUNNER_ADDR", "127.0.0.1")
            .envs(env.iter().copied());
        if program == interop_tests::stunnerd::binary() {
            command.args(["--admin-address", "off"]);
        }
        Process::start(&program.display().to_string(), command).expect("start the dataplane")
    }
}

/// Waits until `peer` is refused to new sessions over `transport`.
pub async fn refused(stage: &Stage, transport: Transport, peer: &UdpEcho) {
    eventually("a peer is no longer admitted", async || {
        let mut client = stage.client(transport)?;
        client
            .allocate()
            .map_err(|refusal| format!("{refusal:?}"))?;
        match client.bind(CHANNEL, peer.address()) {
            Ok(()) => Err("still admitted".to_owned()),
            // 403 (RFC 8656 12.2); the Go dataplane says 401.
            Err(refusal) if matches!(refusal.code(), Some(401 | 403)) => Ok(()),
            Err(refusal) => Err(format!("{refusal:?}")),
        }
    })
    .await;
}

/// How long a dataplane has to follow a change before its sessions are asked again.
pub const SETTLE: Duration = Duration::from_millis(300);

fn world(udp: u16, tcp: u16) -> Vec<Value> {
    let static_service = |name: &str, address: &str| {
        json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "StaticService",
            "metadata": { "name": name, "namespace": NS },
            "spec": { "prefixes": [address] },
        })
    };
    let gateway = |name: &str, udp: u16, tcp: u16| {
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": {
                "name": name, "namespace": NS,
                "annotations": { "stunner.l7mp.io/enable-mixed-protocol-lb": "true" },
            },
            "spec": { "gatewayClassName": "dataplanes", "listeners": [
                { "name": "udp", "protocol": "TURN-UDP", "port": udp },
                { "name": "tcp", "protocol": "TURN-TCP", "port": tcp },
            ] },
        })
    };
    vec![
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NS } }),
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
            "metadata": { "name": "dataplanes" },
            "spec": { "controllerName": CONTROLLER, "parametersRef": {
                "group": "stunner.l7mp.io", "kind": "GatewayConfig", "name": "config", "namespace": NS,
            } },
        }),
        json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "GatewayConfig",
            "metadata": { "name": "config", "namespace": NS },
            // Rendered as `relay_port_range`, which the Go dataplane does not know.
            "spec": { "realm": "stunner.test", "userName": "user", "password": "pass",
                      "minPort": 32_768, "maxPort": 60_999 },
        }),
        // Port 8086 may belong to somebody else on this machine.
        json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "Dataplane",
            "metadata": { "name": "default" },
            "spec": { "disableHealthCheck": true },
        }),
        static_service("first", "127.0.0.1"),
        static_service("second", "127.0.0.2"),
        route("first"),
        gateway(GATEWAY, udp, tcp),
        gateway("other", 3478, 3478),
    ]
}

fn route(backend: &str) -> Value {
    json!({
        "apiVersion": "stunner.l7mp.io/v1", "kind": "UDPRoute",
        "metadata": { "name": "route", "namespace": NS },
        "spec": {
            "parentRefs": [{ "name": GATEWAY }],
            "rules": [{ "backendRefs": [
                { "group": "stunner.l7mp.io", "kind": "StaticService", "name": backend },
            ] }],
        },
    })
}
