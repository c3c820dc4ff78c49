//! What is taken back, and what never is.

use std::sync::Arc;

use cluster_tests::{Cluster, GatewayApi, User, kinds, need};
use serde_json::{Value, json};
use stunner_operator::write::LastGoodSecrets;
use stunner_translate::{LastGood, ObjectKey, ObjectKind, WorkloadKind};

use crate::objects::{config_map, deployment, plan, service, workload};
use crate::world::{CONTROLLER, World};

async fn full(cluster: &'static Cluster, namespace: &str) -> World {
    let mut world = World::new(cluster, namespace).await;
    let service = service(&world.gateway, &world.uid);
    let deployment = deployment(&world.gateway, &world.uid);
    let config_map = config_map(&world.gateway, &world.uid);
    world.write(&[&service, &deployment, &config_map]).await;
    world
}

async fn ours(world: &World) -> Vec<String> {
    let mut names = Vec::new();
    for kind in [
        kinds::SERVICE,
        kinds::DEPLOYMENT,
        kinds::DAEMON_SET,
        kinds::CONFIG_MAP,
    ] {
        for object in world.objects.list(kind, &world.gateway.namespace).await {
            if object["metadata"]["labels"]["stunner.l7mp.io/owned-by"] == "stunner" {
                names.push(format!("{} {}", kind.name, object["metadata"]["name"]));
            }
        }
    }
    names
}

#[tokio::test]
async fn the_objects_of_a_gateway_that_is_gone_go_with_it() {
    let test = "the_objects_of_a_gateway_that_is_gone_go_with_it";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = full(cluster, "write-gone").await;
    assert_eq!(ours(&world).await.len(), 3);
    world.delete_gateway().await;
    world.write_gateway(None).await;
    assert_eq!(ours(&world).await, [""; 0]);
}

#[tokio::test]
async fn the_objects_of_a_gateway_that_moved_to_another_class_go() {
    let test = "the_objects_of_a_gateway_that_moved_to_another_class_go";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = full(cluster, "write-moved").await;
    world.write_gateway(None).await;
    assert_eq!(ours(&world).await, [""; 0]);
}

/// After a restart only the last good inputs tell that the Gateway was ours.
#[tokio::test]
async fn a_gateway_that_moved_while_nobody_looked_is_known_by_its_last_good_inputs() {
    let test = "a_gateway_that_moved_while_nobody_looked_is_known_by_its_last_good_inputs";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-moved-unseen").await;
    let mut plan = plan(&world.uid);
    plan.workloads = vec![workload(&service(&world.gateway, &world.uid))];
    plan.last_good = Some(last_good(&world.uid, "one"));
    world.write_gateway(Some(plan)).await;
    world.restart().await;
    world.write_gateway(None).await;
    assert_eq!(ours(&world).await, [""; 0]);
    assert_eq!(secrets(&world).await, [json!(null); 0]);
}

#[tokio::test]
async fn the_objects_of_another_operator_of_our_kind_are_left_alone() {
    let test = "the_objects_of_another_operator_of_our_kind_are_left_alone";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-other-operator").await;
    let mut plan = plan(&world.uid);
    plan.workloads = vec![workload(&service(&world.gateway, &world.uid))];
    plan.last_good = Some(last_good(&world.uid, "one"));
    world.write_gateway(Some(plan)).await;
    world.restart_as("example.test/another-operator").await;
    world.write_gateway(None).await;
    assert_eq!(ours(&world).await.len(), 1);
    assert_eq!(secrets(&world).await.len(), 1);
}

#[tokio::test]
async fn nothing_goes_while_only_our_cache_has_lost_the_gateway() {
    let test = "nothing_goes_while_only_our_cache_has_lost_the_gateway";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = full(cluster, "write-lost").await;
    world.refresh().await;
    world.live.remove(&ObjectKey {
        kind: ObjectKind::Gateway,
        name: world.gateway.clone(),
    });
    let unit = stunner_translate::Unit::Gateway(world.gateway.clone());
    world
        .resubmit(stunner_translate::Plan::default(), unit)
        .await;
    assert_eq!(ours(&world).await.len(), 3);
}

#[tokio::test]
async fn a_retired_kind_goes_and_a_foreign_object_of_that_kind_stays() {
    let test = "a_retired_kind_goes_and_a_foreign_object_of_that_kind_stays";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = full(cluster, "write-retired").await;
    let mut daemon_set = deployment(&world.gateway, &world.uid);
    daemon_set["kind"] = json!("DaemonSet");
    daemon_set["metadata"] = json!({"name": "gw", "namespace": world.gateway.namespace});
    daemon_set["spec"]
        .as_object_mut()
        .unwrap()
        .shift_remove("replicas");
    world.objects.apply_object(&daemon_set).await;
    let mut plan = plan(&world.uid);
    plan.workloads = vec![workload(&service(&world.gateway, &world.uid))];
    plan.retired = vec![WorkloadKind::Deployment, WorkloadKind::DaemonSet];
    world.write_gateway(Some(plan)).await;
    let mut left = ours(&world).await;
    left.sort();
    assert_eq!(
        left,
        [r#"ConfigMap "gw-config-discovery""#, r#"Service "gw""#]
    );
    world.object(kinds::DAEMON_SET, "gw").await;
}

fn last_good(uid: &str, password: &str) -> LastGood {
    serde_json::from_value(json!({
        "gatewayUid": uid,
        "class": "write",
        "config": {
            "namespace": "ns", "name": "config",
            "spec": {"realm": "stunner.l7mp.io", "authType": "static", "userName": "user", "password": password},
        },
    }))
    .expect("last good inputs")
}

async fn secrets(world: &World) -> Vec<Value> {
    world
        .objects
        .list(kinds::SECRET, &world.gateway.namespace)
        .await
}

#[tokio::test]
async fn last_good_inputs_are_stored_once_and_go_with_the_gateway() {
    let test = "last_good_inputs_are_stored_once_and_go_with_the_gateway";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-last-good").await;
    let mut plan = plan(&world.uid);
    plan.last_good = Some(last_good(&world.uid, "one"));
    world.write_gateway(Some(plan.clone())).await;
    let stored = secrets(&world).await;
    assert_eq!(stored.len(), 1);
    assert_eq!(
        stored[0]["metadata"]["labels"]["stunner.l7mp.io/last-good"],
        "true"
    );

    world.restart().await;
    let writes = world
        .writes_during(async |world| world.write_gateway(Some(plan.clone())).await)
        .await;
    assert_eq!(writes, []);
    let client = cluster.client(User::Operator).await;
    let store = LastGoodSecrets::new(client, world.gateway.namespace.clone(), CONTROLLER);
    let loaded = store.load().await.unwrap();
    assert_eq!(
        loaded.get(&world.gateway).map(Arc::as_ref),
        plan.last_good.as_ref()
    );

    plan.last_good = Some(last_good(&world.uid, "two"));
    world.write_gateway(Some(plan.clone())).await;
    let loaded = store.load().await.unwrap();
    assert_eq!(
        loaded.get(&world.gateway).map(Arc::as_ref),
        plan.last_good.as_ref()
    );

    world.delete_gateway().await;
    world.write_gateway(None).await;
    assert_eq!(secrets(&world).await, [json!(null); 0]);
}

/// The Gateway went while no operator was there to see it.
#[tokio::test]
async fn last_good_inputs_of_a_gateway_that_went_unseen_are_cleared_away() {
    let test = "last_good_inputs_of_a_gateway_that_went_unseen_are_cleared_away";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-last-good-orphan").await;
    let mut plan = plan(&world.uid);
    plan.last_good = Some(last_good(&world.uid, "one"));
    world.write_gateway(Some(plan)).await;
    assert_eq!(secrets(&world).await.len(), 1);
    world.delete_gateway().await;
    world.restart().await;
    world.writer.idle().await;
    assert_eq!(secrets(&world).await, [json!(null); 0]);
}
