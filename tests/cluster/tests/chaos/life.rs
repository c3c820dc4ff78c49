//! One run of a story on a cluster of its own, with or without kills.

use std::process::Command;
use std::time::Duration;

use cluster_tests::{
    Cluster, GatewayApi, Mark, Objects, Operator, OperatorOptions, Write, eventually, kinds,
};
use interop_tests::process::Process;
use interop_tests::skip::Missing;
use interop_tests::stunnerd;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use crate::changes::{Change, Story};
use crate::end_state::{EndState, end_state};
use crate::random::Random;
use crate::world::{self, CONTROLLER, Key, NS, Ports, STEADY};

/// No write for this long means that the operator has come to rest.
const CALM: Duration = Duration::from_millis(1000);

/// When the operator dies, counted from the beginning of each change, and how long until the next change.
#[derive(Debug)]
pub struct Kills {
    kill: Vec<Option<Duration>>,
    pause: Vec<Duration>,
}

impl Kills {
    pub fn draw(random: &mut Random, changes: usize, count: usize) -> Self {
        let mut kill = vec![None; changes];
        while kill.iter().flatten().count() < count {
            let when = random.millis(350);
            kill[random.below(changes)] = Some(when);
        }
        // Mostly in quick succession; now and then long enough for the operator to get somewhere.
        let pause = (0..changes)
            .map(|_| {
                if random.chance(15) {
                    random.millis(1200)
                } else {
                    random.millis(200)
                }
            })
            .collect();
        Self { kill, pause }
    }
}

pub struct Life {
    // Dropped in this order: the operator before its API server.
    pub operator: Operator,
    pub objects: Objects,
    pub cluster: Cluster,
    beginning: Mark,
}

impl Life {
    /// A cluster with the foundations, the steady Gateway and a fresh operator.
    pub async fn begin(ports: Ports, foundations: &[(Key, Value)]) -> Result<Self, Missing> {
        let cluster = Cluster::start(GatewayApi::V1_6Standard).await?;
        let cluster = cluster.with_controller_manager().await;
        let beginning = cluster.mark();
        let objects = cluster.objects().await;
        for object in world::fixtures() {
            objects.apply_object(&object).await;
        }
        for (_, object) in foundations {
            objects.apply_object(object).await;
        }
        let route = world::steady_route(&mut Random::new(0));
        for object in [world::steady(ports, false), route] {
            objects.apply_object(&object).await;
        }
        let options = OperatorOptions::new(CONTROLLER).arg("--throttle-timeout=20ms");
        let operator = Operator::start(&cluster, options).await;
        let life = Self {
            operator,
            objects,
            beginning,
            cluster,
        };
        // Its inputs are stored as the last good ones before any of them may go.
        eventually("the steady Gateway is set up", async || {
            let service = life.objects.find(kinds::SERVICE, NS, STEADY).await;
            service.map(|_| ()).ok_or("no Service".to_owned())
        })
        .await;
        life.cluster.operator_is_calm(CALM).await;
        Ok(life)
    }

    /// A dataplane of the steady Gateway, fed by the operator.
    pub fn dataplane(&self) -> Process {
        let mut command = Command::new(stunnerd::binary());
        let origin = format!("http://127.0.0.1:{}", self.operator.cds_port());
        command
            .args(["--watch", "--config", &origin, "--admin-address", "off"])
            .args(["--id", &format!("{NS}/{STEADY}")])
            .env("STUNNER_ADDR", "127.0.0.1");
        Process::start("stunnerd", command).expect("start stunnerd")
    }

    /// Lives through the story; how many times the operator was killed.
    pub async fn live(&mut self, story: &Story, kills: Option<&Kills>) -> usize {
        let mut killed = 0;
        for (number, (_, change)) in story.changes.iter().enumerate() {
            let objects = &self.objects;
            let Some(kills) = kills else {
                perform(objects, change).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            let operator = &mut self.operator;
            let kill = async {
                let Some(when) = kills.kill[number] else {
                    return 0;
                };
                tokio::time::sleep(when).await;
                assert!(operator.ended().is_none(), "the operator ended by itself");
                operator.kill();
                operator.relaunch();
                1
            };
            killed += tokio::join!(kill, perform(objects, change)).0;
            tokio::time::sleep(kills.pause[number]).await;
        }
        self.operator.ready().await;
        killed
    }

    /// All writes since the beginning.
    pub fn writes(&self) -> Vec<Write> {
        self.cluster.writes_since(self.beginning)
    }

    pub async fn end_state(&self) -> Result<EndState, String> {
        end_state(&self.objects, &self.operator).await
    }
}

async fn perform(objects: &Objects, change: &Change) {
    match change {
        Change::Apply(object) => {
            objects.apply_object(object).await;
        }
        Change::Delete(key) => objects.delete(key.0, key.namespace(), key.1).await,
        Change::Ingress(gateway, address) => {
            set_ingress(objects, gateway, address.as_deref()).await;
        }
    }
}

/// What a load balancer controller would write, if there is a Service that wants it now.
async fn set_ingress(objects: &Objects, gateway: &str, address: Option<&str>) {
    let services: Api<Service> = Api::namespaced(objects.client(), NS);
    let live = services.get_opt(gateway).await.expect("read a Service");
    let wanted = live.and_then(|service| service.spec?.type_);
    if wanted.as_deref() != Some("LoadBalancer") {
        return;
    }
    let ingress = address.map_or(json!([]), |address| json!([{ "ip": address }]));
    let patch = json!({ "status": { "loadBalancer": { "ingress": ingress } } });
    let params = PatchParams::default();
    // The operator may delete it or change its type at the same moment; a controller would try again, and so do we,
    // at the end.
    let _ = services
        .patch_status(gateway, &params, &Patch::Merge(&patch))
        .await;
}

/// Waits until the operator rests and the load balancers have said their last word; how many writes it made in all.
pub async fn calm(life: &Life, story: &Story) -> usize {
    for _ in 0..2 {
        life.cluster.operator_is_calm(CALM).await;
        for gateway in world::GATEWAYS.into_iter().chain([STEADY]) {
            let address = story.ingress.get(gateway).map(String::as_str);
            set_ingress(&life.objects, gateway, address).await;
        }
    }
    life.cluster.operator_is_calm(CALM).await;
    life.cluster.operator_writes_since(life.beginning).len()
}
