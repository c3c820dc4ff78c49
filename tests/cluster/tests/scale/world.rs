//! A world of many Gateways, each with its own routes, backends and endpoints.

use std::time::{Duration, Instant};

use cluster_tests::kinds::{self, Kind};
use cluster_tests::{Cluster, Objects, eventually_within};
use futures_util::{StreamExt as _, stream};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

pub const CONTROLLER: &str = "stunner.l7mp.io/scale";
pub const ROUTES: usize = 5;
pub const ENDPOINTS: usize = 4;
/// Requests under way at a time.
const CONCURRENCY: usize = 24;
/// The operator has come to rest when it has written nothing for this long.
const CALM: Duration = Duration::from_millis(1500);
/// For a thousand Gateways with all that belongs to them.
const PATIENCE: Duration = Duration::from_secs(1200);

pub fn namespace(gateway: usize) -> String {
    format!("scale-{}", gateway / 100)
}

pub fn name(gateway: usize) -> String {
    format!("gateway-{gateway}")
}

fn backend(gateway: usize, route: usize) -> String {
    format!("media-{gateway}-{route}")
}

/// What all Gateways share.
pub async fn lay_foundations(objects: &Objects) {
    for object in [
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "scale" } }),
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
            "metadata": { "name": "scale" },
            "spec": { "controllerName": CONTROLLER, "parametersRef": {
                "group": "stunner.l7mp.io", "kind": "GatewayConfig", "name": "config", "namespace": "scale",
            } },
        }),
        json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "GatewayConfig",
            "metadata": { "name": "config", "namespace": "scale" },
            "spec": {
                "userName": "user", "password": "pass",
                // An address for each of them, without a load balancer.
                "loadBalancerServiceAnnotations": { "stunner.l7mp.io/service-type": "ClusterIP" },
            },
        }),
        json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "Dataplane",
            "metadata": { "name": "default" }, "spec": { "replicas": 1 },
        }),
    ] {
        objects.apply_object(&object).await;
    }
}

/// Adds the Gateways from `from` to `to` with all that belongs to them, and waits until the operator is done with them.
pub async fn grow(cluster: &Cluster, objects: &Objects, from: usize, to: usize) {
    let begun = Instant::now();
    for number in (from..to).filter(|number| number % 100 == 0 || *number == from) {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace(number) },
        });
        objects.apply_object(&namespace).await;
    }
    let mark = cluster.mark();
    let done = std::sync::atomic::AtomicUsize::new(0);
    let total = (to - from) * (1 + 3 * ROUTES);
    stream::iter((from..to).flat_map(objects_of))
        .for_each_concurrent(CONCURRENCY, async |(kind, object)| {
            create(objects, kind, &object).await;
            let done = 1 + done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if done.is_multiple_of(2000) {
                eprintln!("{done} of {total} objects after {:?}", begun.elapsed());
            }
        })
        .await;
    let created = begun.elapsed();
    are_programmed(objects, to).await;
    rest(cluster).await;
    let writes = cluster.operator_writes_since(mark).len();
    eprintln!(
        "{to} Gateways: {total} objects created in {created:.1?}; the operator at rest after {:.1?} and {writes} writes",
        begun.elapsed()
    );
}

/// Waits until the operator has nothing more to write.
pub async fn rest(cluster: &Cluster) {
    cluster.operator_is_calm_within(PATIENCE, CALM).await;
}

/// Waits until the operator has done for each of so many Gateways what it has to.
async fn are_programmed(objects: &Objects, gateways: usize) {
    eventually_within(PATIENCE, "all Gateways are programmed", async || {
        let mut programmed = 0;
        for namespace in (0..gateways).step_by(100).map(namespace) {
            let listed = objects.list(kinds::GATEWAY, &namespace).await;
            let is_programmed = |gateway: &&Value| {
                let conditions = gateway["status"]["conditions"].as_array();
                let mut conditions = conditions.into_iter().flatten();
                conditions.any(|one| one["type"] == "Programmed" && one["status"] == "True")
            };
            programmed += listed.iter().filter(is_programmed).count();
        }
        match programmed >= gateways {
            true => Ok(()),
            false => Err(format!("{programmed} of {gateways}")),
        }
    })
    .await;
}

async fn create(objects: &Objects, kind: Kind, object: &Value) {
    let api = api(objects, kind, object["metadata"]["namespace"].as_str());
    let object = serde_json::from_value::<DynamicObject>(object.clone()).expect("an object");
    if let Err(error) = api.create(&PostParams::default(), &object).await {
        panic!("create {} {:?}: {error}", kind.name, object.metadata.name);
    }
}

fn api(objects: &Objects, kind: Kind, namespace: Option<&str>) -> Api<DynamicObject> {
    let namespace = namespace.unwrap_or_default();
    Api::namespaced_with(objects.client(), namespace, &kind.resource())
}

fn objects_of(gateway: usize) -> Vec<(Kind, Value)> {
    let mut objects = Vec::new();
    for route in 0..ROUTES {
        objects.push((kinds::SERVICE, service(gateway, route)));
        objects.push((kinds::ENDPOINT_SLICE, slice(gateway, route)));
        objects.push((kinds::UDP_ROUTE, udp_route(gateway, route)));
    }
    let spec = json!({ "gatewayClassName": "scale", "listeners": [
        { "name": "udp", "protocol": "TURN-UDP", "port": 3478 },
    ] });
    objects.push((
        kinds::GATEWAY,
        object(kinds::GATEWAY, gateway, &name(gateway), "spec", spec),
    ));
    objects
}

fn object(kind: Kind, gateway: usize, name: &str, key: &str, value: Value) -> Value {
    json!({
        "apiVersion": kind.api_version(), "kind": kind.name,
        "metadata": { "name": name, "namespace": namespace(gateway) },
        key: value,
    })
}

fn service(gateway: usize, route: usize) -> Value {
    let spec = json!({ "ports": [{ "name": "media", "port": 5000, "protocol": "UDP" }] });
    object(
        kinds::SERVICE,
        gateway,
        &backend(gateway, route),
        "spec",
        spec,
    )
}

fn udp_route(gateway: usize, route: usize) -> Value {
    let spec = json!({
        "parentRefs": [{ "name": name(gateway) }],
        "rules": [{ "backendRefs": [{ "name": backend(gateway, route) }] }],
    });
    object(
        kinds::UDP_ROUTE,
        gateway,
        &backend(gateway, route),
        "spec",
        spec,
    )
}

fn slice(gateway: usize, route: usize) -> Value {
    let number = gateway * ROUTES + route;
    let addresses = (0..ENDPOINTS)
        .map(|endpoint| {
            format!(
                "10.{}.{}.{}",
                128 + number / 200 % 100,
                number % 200,
                1 + endpoint
            )
        })
        .collect::<Vec<_>>();
    let name = backend(gateway, route);
    let mut slice = object(
        kinds::ENDPOINT_SLICE,
        gateway,
        &name,
        "endpoints",
        endpoints(&addresses),
    );
    slice["addressType"] = "IPv4".into();
    slice["ports"] = json!([{ "name": "media", "port": 5000, "protocol": "UDP" }]);
    slice["metadata"]["labels"] = json!({ "kubernetes.io/service-name": name });
    slice
}

fn endpoints(addresses: &[String]) -> Value {
    let ready = json!({ "ready": true, "serving": true, "terminating": false });
    addresses
        .iter()
        .map(|address| json!({ "addresses": [address], "conditions": ready }))
        .collect()
}

/// Replaces the endpoints of one backend by others, `address` among them.
pub async fn move_endpoints(objects: &Objects, gateway: usize, route: usize, address: &str) {
    let mut addresses = vec![address.to_owned()];
    addresses.extend((1..ENDPOINTS).map(|endpoint| format!("10.250.0.{endpoint}")));
    let patch = json!({ "endpoints": endpoints(&addresses) });
    api(objects, kinds::ENDPOINT_SLICE, Some(&namespace(gateway)))
        .patch(
            &backend(gateway, route),
            &PatchParams::default(),
            &Patch::Merge(&patch),
        )
        .await
        .expect("patch an EndpointSlice");
}
