//! The number of replicas: set once, then left to whoever scales.

use cluster_tests::{Cluster, GatewayApi, kinds, need};
use serde_json::json;

use crate::objects::deployment;
use crate::world::World;

const RECORD: &str = "stunner.l7mp.io/dataplane-replicas";

#[tokio::test]
async fn a_scaler_keeps_its_number_until_the_dataplanes_changes() {
    let test = "a_scaler_keeps_its_number_until_the_dataplanes_changes";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-scaling").await;
    let mut desired = deployment(&world.gateway, &world.uid);
    world.write(&[&desired]).await;
    let live = world.deployment().await;
    assert_eq!(live["spec"]["replicas"], 2);
    assert_eq!(live["metadata"]["annotations"][RECORD], "2");

    let namespace = world.gateway.namespace.clone();
    let scaled = json!({"spec": {"replicas": 7}});
    world
        .objects
        .merge(kinds::DEPLOYMENT, &namespace, "gw", scaled)
        .await;
    desired["spec"]["template"]["spec"]["containers"][0]["image"] = json!("l7mp/stunnerd:2");
    world.write(&[&desired]).await;
    assert_eq!(world.deployment().await["spec"]["replicas"], 7);

    desired["spec"]["replicas"] = json!(3);
    world.write(&[&desired]).await;
    let live = world.deployment().await;
    assert_eq!(live["spec"]["replicas"], 3);
    assert_eq!(live["metadata"]["annotations"][RECORD], "3");

    desired["spec"]
        .as_object_mut()
        .unwrap()
        .shift_remove("replicas");
    world.write(&[&desired]).await;
    assert_eq!(world.deployment().await["spec"]["replicas"], 1);
}

#[tokio::test]
async fn none_at_all_is_a_number_too() {
    let test = "none_at_all_is_a_number_too";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-scaling-zero").await;
    let mut desired = deployment(&world.gateway, &world.uid);
    desired["spec"]["replicas"] = json!(0);
    world.write(&[&desired]).await;
    assert_eq!(world.deployment().await["spec"]["replicas"], 0);
}

/// The operator was stopped between its two requests.
#[tokio::test]
async fn a_deployment_that_was_made_by_half_gets_its_number() {
    let test = "a_deployment_that_was_made_by_half_gets_its_number";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-scaling-half").await;
    let desired = deployment(&world.gateway, &world.uid);
    let mut half = desired.clone();
    half["spec"]
        .as_object_mut()
        .unwrap()
        .shift_remove("replicas");
    let client = world.objects.client();
    let deployments: kube::Api<k8s_openapi::api::apps::v1::Deployment> =
        kube::Api::namespaced(client, &world.gateway.namespace);
    let params = kube::api::PatchParams::apply("stunner-gateway-operator");
    deployments
        .patch("gw", &params, &kube::api::Patch::Apply(&half))
        .await
        .unwrap();
    world.write(&[&desired]).await;
    assert_eq!(world.deployment().await["spec"]["replicas"], 2);
}
