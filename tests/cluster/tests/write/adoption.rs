//! Objects that the Go system left behind: written by plain requests, so that its field manager has them.

use cluster_tests::kinds::{self, Kind};
use cluster_tests::{Cluster, GatewayApi, need};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use stunner_translate::{ClassPlan, Plan, Unit};

use crate::objects::{deployment, metadata, service, workload};
use crate::world::World;

const GO: &str = "manager";

fn api(world: &World, kind: Kind) -> Api<DynamicObject> {
    let client = world.objects.client();
    Api::namespaced_with(client, &world.gateway.namespace, &kind.resource())
}

/// What the Go system does with a new object.
pub async fn create(world: &World, kind: Kind, object: &Value) {
    let params = PostParams {
        field_manager: Some(GO.to_owned()),
        ..PostParams::default()
    };
    let object = serde_json::from_value(object.clone()).expect("an object");
    let made = api(world, kind).create(&params, &object).await;
    made.expect("created");
}

/// What the Go system does with one that differs.
async fn patch(world: &World, kind: Kind, name: &str, patch: &Value) {
    let params = PatchParams {
        field_manager: Some(GO.to_owned()),
        ..PatchParams::default()
    };
    let done = api(world, kind)
        .patch(name, &params, &Patch::Merge(patch))
        .await;
    done.expect("patched");
}

#[tokio::test]
async fn a_service_is_taken_over_and_removals_work_from_then_on() {
    let test = "a_service_is_taken_over_and_removals_work_from_then_on";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-adopt-service").await;
    let mut desired = service(&world.gateway, &world.uid);
    let mut old = desired.clone();
    old["metadata"]["annotations"]["example.test/dropped"] = json!("1");
    old["metadata"]["annotations"]["example.test/kept"] = json!("1");
    old["spec"]["loadBalancerIP"] = json!("192.0.2.9");
    old["spec"]["loadBalancerClass"] = json!("example.test/lb");
    old["spec"]["ports"][0]["targetPort"] = json!(1);
    create(&world, kinds::SERVICE, &old).await;
    let before = world.service().await;
    let ports = before["spec"]["ports"].clone();
    patch(
        &world,
        kinds::SERVICE,
        "gw",
        &json!({"spec": {"ports": ports}}),
    )
    .await;

    desired["metadata"]["annotations"]["example.test/kept"] = json!("1");
    world.write(&[&desired]).await;
    let live = world.service().await;
    let annotations = &live["metadata"]["annotations"];
    assert_eq!(annotations.get("example.test/dropped"), None);
    assert_eq!(annotations["example.test/kept"], "1");
    assert_eq!(live["spec"].get("loadBalancerIP"), None);
    assert_eq!(live["spec"]["ports"][0]["targetPort"], 3478);
    for field in [
        "clusterIP",
        "clusterIPs",
        "ipFamilies",
        "ipFamilyPolicy",
        "loadBalancerClass",
    ] {
        assert_eq!(live["spec"][field], before["spec"][field], "{field}");
    }
    for port in 0..2 {
        let node_port = |service: &Value| service["spec"]["ports"][port]["nodePort"].clone();
        assert_eq!(node_port(&live), node_port(&before), "{port}");
    }
    assert_eq!(live["metadata"]["uid"], before["metadata"]["uid"]);

    // From now on it is like any other.
    let annotations = desired["metadata"]["annotations"].as_object_mut().unwrap();
    annotations.shift_remove("example.test/kept");
    desired["spec"]["ports"].as_array_mut().unwrap().pop();
    world.write(&[&desired]).await;
    let live = world.service().await;
    assert_eq!(
        live["metadata"]["annotations"].get("example.test/kept"),
        None
    );
    assert_eq!(live["spec"]["ports"].as_array().unwrap().len(), 1);
    let writes = world
        .writes_during(async |world| world.write(&[&desired]).await)
        .await;
    assert_eq!(writes, []);
}

#[tokio::test]
async fn a_deployment_is_taken_over_without_touching_its_scale() {
    let test = "a_deployment_is_taken_over_without_touching_its_scale";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-adopt-deployment").await;
    let desired = deployment(&world.gateway, &world.uid);
    let mut old = desired.clone();
    old["spec"]["replicas"] = json!(5);
    old["spec"]["template"]["metadata"]["annotations"]["example.test/dropped"] = json!("1");
    create(&world, kinds::DEPLOYMENT, &old).await;
    world.write(&[&desired]).await;
    let live = world.deployment().await;
    assert_eq!(live["spec"]["replicas"], 5);
    assert_eq!(
        live["metadata"]["annotations"]["stunner.l7mp.io/dataplane-replicas"],
        "2"
    );
    let annotations = &live["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(annotations.get("example.test/dropped"), None);
    let writes = world
        .writes_during(async |world| world.write(&[&desired]).await)
        .await;
    assert_eq!(writes, []);

    let mut changed = desired.clone();
    changed["spec"]["replicas"] = json!(3);
    world.write(&[&changed]).await;
    assert_eq!(world.deployment().await["spec"]["replicas"], 3);
}

/// An unchanged pod template means that no pod restarts.
#[tokio::test]
async fn taking_over_what_is_right_already_changes_no_pod_template() {
    let test = "taking_over_what_is_right_already_changes_no_pod_template";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-adopt-same").await;
    let desired = deployment(&world.gateway, &world.uid);
    create(&world, kinds::DEPLOYMENT, &desired).await;
    let before = world.deployment().await;
    world.write(&[&desired]).await;
    let live = world.deployment().await;
    assert_eq!(live["spec"], before["spec"]);
    assert_eq!(live["spec"]["replicas"], 2);
}

#[tokio::test]
async fn the_config_map_of_legacy_mode_is_cut_loose_from_its_gateway_config() {
    let test = "the_config_map_of_legacy_mode_is_cut_loose_from_its_gateway_config";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-adopt-legacy").await;
    let namespace = world.gateway.namespace.clone();
    let old = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "stunnerd-config", "namespace": namespace,
            "labels": {"stunner.l7mp.io/owned-by": "stunner"},
            "annotations": {"stunner.l7mp.io/related-gateway-name": "/class"},
            "ownerReferences": [{"apiVersion": "stunner.l7mp.io/v1", "kind": "GatewayConfig", "name": "c", "uid": "1"}],
        },
        "data": {"stunnerd.conf": "old"},
    });
    create(&world, kinds::CONFIG_MAP, &old).await;
    let mut desired = old.clone();
    desired["metadata"]
        .as_object_mut()
        .unwrap()
        .shift_remove("ownerReferences");
    desired["data"]["stunnerd.conf"] = json!("new");
    let write = async |world: &mut World| {
        let plan = ClassPlan {
            status: Default::default(),
            workloads: vec![workload(&desired)],
        };
        let mut whole = Plan::default();
        whole.classes.insert("write-legacy".to_owned(), plan);
        let unit = Unit::Class("write-legacy".to_owned());
        world.submit(whole, unit).await;
    };
    write(&mut world).await;
    let live = world.object(kinds::CONFIG_MAP, "stunnerd-config").await;
    assert_eq!(live["metadata"].get("ownerReferences"), None);
    assert_eq!(live["data"]["stunnerd.conf"], "new");
    let writes = world.writes_during(write).await;
    assert_eq!(writes, []);
}

/// Deleted and made anew at once: the Service waits for garbage collection and keeps its public address if it is spared.
#[tokio::test]
async fn the_objects_of_an_earlier_gateway_of_that_name_are_kept() {
    let test = "the_objects_of_an_earlier_gateway_of_that_name_are_kept";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-adopt-heir").await;
    let desired = service(&world.gateway, &world.uid);
    world.write(&[&desired]).await;
    let before = world.service().await;
    world.delete_gateway().await;
    world.make_gateway().await;
    let desired = service(&world.gateway, &world.uid);
    world.write(&[&desired]).await;
    let live = world.service().await;
    assert_eq!(live["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(
        live["metadata"]["ownerReferences"],
        metadata(&world.gateway, &world.uid)["ownerReferences"]
    );
}
