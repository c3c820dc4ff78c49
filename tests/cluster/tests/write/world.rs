//! A namespace with a Gateway in it, and a writer.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster_tests::kinds::{self, Kind};
use cluster_tests::{Cluster, Objects, User, Write, eventually};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stunner_api::NamespacedName;
use stunner_operator::write::{Batch, Feedback, LastGoodSecrets, Live, RouteApis, Setup, Writer};
use stunner_telemetry::metrics::Operator as Metrics;
use stunner_translate::{
    GatewayPlan, Object, ObjectKey, ObjectKind, Plan, RouteKind, RoutePlan, Unit,
};
use tokio::sync::mpsc;

use crate::objects::{GATEWAY, plan, workload};

pub const CONTROLLER: &str = "stunner.l7mp.io/gateway-operator";

pub struct World {
    pub cluster: &'static Cluster,
    pub objects: Objects,
    pub gateway: NamespacedName,
    pub uid: String,
    pub live: Arc<Live>,
    pub route_apis: Arc<RouteApis>,
    pub writer: Writer,
    feedback: mpsc::UnboundedReceiver<Feedback>,
    known: BTreeSet<ObjectKey>,
}

impl World {
    /// `namespace` is the test's own.
    pub async fn new(cluster: &'static Cluster, namespace: &str) -> Self {
        let objects = cluster.objects().await;
        objects
            .apply_object(
                &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
            )
            .await;
        let gateway = NamespacedName::new(namespace, GATEWAY);
        let uid = make_gateway(&objects, &gateway).await;
        let live = Arc::new(Live::new());
        let route_apis = Arc::new(RouteApis::new());
        route_apis.set(
            RouteKind::OfficialUdp,
            Some(kinds::OFFICIAL_UDP_ROUTE.resource()),
        );
        let (writer, feedback) = start(cluster, &live, &route_apis, namespace, CONTROLLER).await;
        World {
            cluster,
            objects,
            gateway,
            uid,
            live,
            route_apis,
            writer,
            feedback,
            known: BTreeSet::new(),
        }
    }

    /// A new writer that knows nothing but what the caches say.
    pub async fn restart(&mut self) {
        self.restart_as(CONTROLLER).await;
    }

    /// The same with another controller name.
    pub async fn restart_as(&mut self, controller: &str) {
        self.live = Arc::new(Live::new());
        self.known.clear();
        let namespace = &self.gateway.namespace;
        (self.writer, self.feedback) = start(
            self.cluster,
            &self.live,
            &self.route_apis,
            namespace,
            controller,
        )
        .await;
    }

    /// What the engine's watches do.
    pub async fn refresh(&mut self) {
        let mut seen = Vec::new();
        seen.extend(self.list(kinds::SERVICE, Object::Service).await);
        seen.extend(self.list(kinds::DEPLOYMENT, Object::Deployment).await);
        seen.extend(self.list(kinds::DAEMON_SET, Object::DaemonSet).await);
        seen.extend(self.list(kinds::CONFIG_MAP, Object::ConfigMap).await);
        seen.extend(self.list(kinds::GATEWAY, Object::Gateway).await);
        seen.extend(self.list(kinds::UDP_ROUTE, Object::UdpRoute).await);
        seen.extend(
            self.list(kinds::OFFICIAL_UDP_ROUTE, Object::OfficialUdpRoute)
                .await,
        );
        let keys: BTreeSet<_> = seen.iter().map(Object::key).collect();
        for gone in self.known.difference(&keys) {
            self.live.remove(gone);
        }
        for object in &seen {
            self.live.apply(object);
        }
        self.known = keys;
    }

    async fn list<T: DeserializeOwned>(
        &self,
        kind: Kind,
        object: fn(Arc<T>) -> Object,
    ) -> Vec<Object> {
        let all = self.objects.list(kind, &self.gateway.namespace).await;
        all.into_iter()
            .map(|value| object(Arc::new(serde_json::from_value(value).expect("an object"))))
            .collect()
    }

    /// Brings these objects about for the Gateway.
    pub async fn write(&mut self, workloads: &[&Value]) {
        let mut plan = plan(&self.uid);
        plan.workloads = workloads.iter().map(|value| workload(value)).collect();
        self.write_gateway(Some(plan)).await;
    }

    /// `None`: the Gateway is not ours, or gone.
    pub async fn write_gateway(&mut self, plan: Option<GatewayPlan>) {
        let mut whole = Plan::default();
        whole
            .gateways
            .extend(plan.map(|plan| (self.gateway.clone(), plan)));
        self.submit(whole, Unit::Gateway(self.gateway.clone()))
            .await;
    }

    pub async fn write_route(&mut self, kind: RouteKind, name: &str, plan: Option<RoutePlan>) {
        let name = NamespacedName::new(self.gateway.namespace.clone(), name);
        let mut whole = Plan::default();
        whole
            .routes
            .extend(plan.map(|plan| ((kind, name.clone()), plan)));
        self.submit(whole, Unit::Route(kind, name)).await;
    }

    pub async fn submit(&mut self, plan: Plan, unit: Unit) {
        self.refresh().await;
        self.resubmit(plan, unit).await;
    }

    /// With caches that have not seen anything since.
    pub async fn resubmit(&mut self, plan: Plan, unit: Unit) {
        self.writer.submit(Batch {
            plan: Arc::new(plan),
            asked: BTreeSet::from([unit]),
        });
        self.writer.idle().await;
    }

    /// What was sent about this namespace while `action` ran.
    pub async fn writes_during(&mut self, action: impl AsyncFnOnce(&mut Self)) -> Vec<Write> {
        let mark = self.cluster.mark();
        action(self).await;
        // The log has everything that was answered before this.
        let namespace = self.gateway.namespace.clone();
        self.objects
            .apply_object(&json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mark", "namespace": namespace},
            }))
            .await;
        let writes = eventually("the audit log catches up", async || {
            let writes = self.cluster.writes_since(mark);
            let is_complete = writes
                .iter()
                .any(|write| write.name == "mark" && write.namespace == namespace);
            is_complete.then_some(writes).ok_or_else(String::new)
        })
        .await;
        writes
            .into_iter()
            .filter(|write| write.user == User::Operator.name() && write.namespace == namespace)
            .collect()
    }

    pub async fn service(&self) -> Value {
        self.object(kinds::SERVICE, GATEWAY).await
    }

    pub async fn deployment(&self) -> Value {
        self.object(kinds::DEPLOYMENT, GATEWAY).await
    }

    pub async fn object(&self, kind: Kind, name: &str) -> Value {
        let found = self.objects.find(kind, &self.gateway.namespace, name);
        found.await.unwrap_or_else(|| panic!("no {}", kind.name))
    }

    /// Everything that the engine was told since the last call.
    pub fn feedback(&mut self) -> Vec<Feedback> {
        std::iter::from_fn(|| self.feedback.try_recv().ok()).collect()
    }

    /// Deletes the Gateway, also from the caches.
    pub async fn delete_gateway(&mut self) {
        self.objects
            .delete(kinds::GATEWAY, &self.gateway.namespace, GATEWAY)
            .await;
        self.live.remove(&ObjectKey {
            kind: ObjectKind::Gateway,
            name: self.gateway.clone(),
        });
    }

    pub async fn make_gateway(&mut self) {
        self.uid = make_gateway(&self.objects, &self.gateway).await;
    }
}

async fn make_gateway(objects: &Objects, gateway: &NamespacedName) -> String {
    let made = objects
        .apply_object(&json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": {"name": gateway.name, "namespace": gateway.namespace},
            "spec": {
                "gatewayClassName": "write",
                "listeners": [{"name": "udp", "protocol": "TURN-UDP", "port": 3478}],
            },
        }))
        .await;
    made["metadata"]["uid"].as_str().expect("a UID").to_owned()
}

async fn start(
    cluster: &Cluster,
    live: &Arc<Live>,
    route_apis: &Arc<RouteApis>,
    namespace: &str,
    controller: &str,
) -> (Writer, mpsc::UnboundedReceiver<Feedback>) {
    let client = cluster.client(User::Operator).await;
    let (feedback, inbox) = mpsc::unbounded_channel();
    let writer = Writer::start(Setup {
        client: client.clone(),
        controller_name: controller.to_owned(),
        instance: "test".to_owned(),
        live: live.clone(),
        route_apis: route_apis.clone(),
        last_good: Arc::new(LastGoodSecrets::new(client, namespace, controller)),
        metrics: Metrics::new("test"),
        feedback,
    });
    (writer, inbox)
}
