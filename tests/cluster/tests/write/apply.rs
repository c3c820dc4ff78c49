//! What is sent, and what it does to an object.

use cluster_tests::{Cluster, GatewayApi, kinds, need};
use serde_json::{Value, json};

use crate::objects::{config_map, deployment, service};
use crate::world::World;

/// A Service and a Deployment that were written, and their desired values.
async fn written(cluster: &'static Cluster, namespace: &str) -> (World, Value, Value) {
    let mut world = World::new(cluster, namespace).await;
    let service = service(&world.gateway, &world.uid);
    let deployment = deployment(&world.gateway, &world.uid);
    world.write(&[&service, &deployment]).await;
    (world, service, deployment)
}

#[tokio::test]
async fn nothing_is_sent_when_nothing_differs_also_after_a_restart() {
    let test = "nothing_is_sent_when_nothing_differs_also_after_a_restart";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let (mut world, service, deployment) = written(cluster, "write-idempotent").await;
    let config_map = config_map(&world.gateway, &world.uid);
    let all = [&service, &deployment, &config_map];
    world.write(&all).await;
    let writes = world
        .writes_during(async |world| world.write(&all).await)
        .await;
    assert_eq!(writes, []);
    world.restart().await;
    let writes = world
        .writes_during(async |world| world.write(&all).await)
        .await;
    assert_eq!(writes, []);
}

#[tokio::test]
async fn a_new_object_takes_one_request_and_a_deployment_one_more_for_its_replicas() {
    let test = "a_new_object_takes_one_request_and_a_deployment_one_more_for_its_replicas";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-new").await;
    let service = service(&world.gateway, &world.uid);
    let deployment = deployment(&world.gateway, &world.uid);
    let writes = world
        .writes_during(async |world| world.write(&[&service, &deployment]).await)
        .await;
    let resources: Vec<_> = writes.iter().map(|write| &*write.resource).collect();
    assert_eq!(resources, ["services", "deployments", "deployments"]);
}

#[tokio::test]
async fn removed_annotations_ports_and_fields_go_and_those_of_others_stay() {
    let test = "removed_annotations_ports_and_fields_go_and_those_of_others_stay";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-removal").await;
    let mut service = service(&world.gateway, &world.uid);
    service["metadata"]["annotations"]["example.test/ours"] = json!("1");
    service["spec"]["externalTrafficPolicy"] = json!("Local");
    service["spec"]["loadBalancerIP"] = json!("192.0.2.7");
    world.write(&[&service]).await;
    let theirs = json!({"metadata": {"annotations": {"example.test/theirs": "1"}, "labels": {"team": "media"}}});
    let namespace = world.gateway.namespace.clone();
    world
        .objects
        .merge(kinds::SERVICE, &namespace, "gw", theirs)
        .await;

    service["metadata"]["annotations"]
        .as_object_mut()
        .unwrap()
        .shift_remove("example.test/ours");
    let spec = service["spec"].as_object_mut().unwrap();
    spec.shift_remove("externalTrafficPolicy");
    spec.shift_remove("loadBalancerIP");
    spec["ports"].as_array_mut().unwrap().pop();
    world.write(&[&service]).await;

    let live = world.service().await;
    let annotations = &live["metadata"]["annotations"];
    assert_eq!(annotations.get("example.test/ours"), None);
    assert_eq!(annotations["example.test/theirs"], "1");
    assert_eq!(live["metadata"]["labels"]["team"], "media");
    assert_eq!(live["spec"]["externalTrafficPolicy"], "Cluster");
    assert_eq!(live["spec"].get("loadBalancerIP"), None);
    assert_eq!(live["spec"]["ports"].as_array().unwrap().len(), 1);
    let writes = world
        .writes_during(async |world| world.write(&[&service]).await)
        .await;
    assert_eq!(writes, []);
}

#[tokio::test]
async fn new_ports_keep_their_node_ports_and_the_service_its_addresses() {
    let test = "new_ports_keep_their_node_ports_and_the_service_its_addresses";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-ports").await;
    let mut service = service(&world.gateway, &world.uid);
    // Ports of the same number share a node port.
    service["spec"]["ports"][1]["port"] = json!(5349);
    world.write(&[&service]).await;
    let before = world.service().await;
    service["spec"]["ports"][0]["targetPort"] = json!(13478);
    service["spec"]["ports"][1]["port"] = json!(3479);
    service["spec"]["ports"][1]["targetPort"] = json!(3479);
    world.write(&[&service]).await;
    let after = world.service().await;
    assert_eq!(after["spec"]["ports"][0]["targetPort"], 13478);
    let node_port = |service: &Value, name: &str| {
        let ports = service["spec"]["ports"].as_array().unwrap();
        let port = ports.iter().find(|port| port["name"] == name).unwrap();
        port["nodePort"].clone()
    };
    for name in ["udp", "tcp"] {
        assert_eq!(node_port(&after, name), node_port(&before, name), "{name}");
    }
    assert_eq!(after["spec"]["clusterIP"], before["spec"]["clusterIP"]);
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
}

#[tokio::test]
async fn a_port_that_somebody_edited_goes_with_its_listener() {
    let test = "a_port_that_somebody_edited_goes_with_its_listener";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let (mut world, mut service, _) = written(cluster, "write-edited-port").await;
    let mut ports = world.service().await["spec"]["ports"].clone();
    ports[1]["nodePort"] = json!(31999);
    ports
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "theirs", "port": 9999, "protocol": "TCP"}));
    let namespace = world.gateway.namespace.clone();
    let patch = json!({"spec": {"ports": ports}});
    world
        .objects
        .merge(kinds::SERVICE, &namespace, "gw", patch)
        .await;
    let node_port = world.service().await["spec"]["ports"][0]["nodePort"].clone();

    service["spec"]["ports"].as_array_mut().unwrap().pop();
    world.write(&[&service]).await;
    let live = world.service().await;
    let ports = live["spec"]["ports"].as_array().unwrap();
    assert_eq!(ports.len(), 1, "{ports:?}");
    assert_eq!(ports[0]["name"], "udp");
    assert_eq!(ports[0]["nodePort"], node_port);
    let writes = world
        .writes_during(async |world| world.write(&[&service]).await)
        .await;
    assert_eq!(writes, []);
}

#[tokio::test]
async fn session_affinity_and_type_can_change_to_and_fro() {
    let test = "session_affinity_and_type_can_change_to_and_fro";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let (mut world, service, _) = written(cluster, "write-types").await;
    for (kind, affinity) in [
        ("ClusterIP", "None"),
        ("NodePort", "ClientIP"),
        ("LoadBalancer", "None"),
    ] {
        let mut service = service.clone();
        service["spec"]["type"] = json!(kind);
        service["spec"]["sessionAffinity"] = json!(affinity);
        world.write(&[&service]).await;
        let live = world.service().await;
        assert_eq!(live["spec"]["type"], kind);
        assert_eq!(live["spec"]["sessionAffinity"], affinity);
        let writes = world
            .writes_during(async |world| world.write(&[&service]).await)
            .await;
        assert_eq!(writes, [], "{kind}");
    }
}

#[tokio::test]
async fn a_second_owner_and_a_restart_by_kubectl_are_left_alone() {
    let test = "a_second_owner_and_a_restart_by_kubectl_are_left_alone";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let (mut world, service, mut deployment) = written(cluster, "write-foreign").await;
    let namespace = world.gateway.namespace.clone();
    let app = world
        .objects
        .apply_object(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app", "namespace": namespace}}))
        .await;
    let mut owners = world.service().await["metadata"]["ownerReferences"].clone();
    owners.as_array_mut().unwrap().push(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "app", "uid": app["metadata"]["uid"],
    }));
    let patch = json!({"metadata": {"ownerReferences": owners}});
    world
        .objects
        .merge(kinds::SERVICE, &namespace, "gw", patch)
        .await;
    let restarted = json!({"spec": {"template": {"metadata": {"annotations": {
        "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z",
    }}}}});
    world
        .objects
        .merge(kinds::DEPLOYMENT, &namespace, "gw", restarted)
        .await;
    let writes = world
        .writes_during(async |world| world.write(&[&service, &deployment]).await)
        .await;
    assert_eq!(writes, []);

    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = json!("l7mp/stunnerd:2");
    let mut changed = service.clone();
    changed["spec"]["sessionAffinity"] = json!("None");
    world.write(&[&changed, &deployment]).await;
    let live = world.service().await;
    assert_eq!(live["spec"]["sessionAffinity"], "None");
    let owners = live["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 2);
    let live = world.deployment().await;
    let template = &live["spec"]["template"];
    assert_eq!(
        template["spec"]["containers"][0]["image"],
        "l7mp/stunnerd:2"
    );
    assert_eq!(
        template["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"],
        "2026-01-01T00:00:00Z"
    );
}

#[tokio::test]
async fn every_optional_field_of_a_deployment_can_be_removed() {
    let test = "every_optional_field_of_a_deployment_can_be_removed";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let (mut world, _, mut deployment) = written(cluster, "write-optional").await;
    for path in [
        "/affinity",
        "/tolerations",
        "/topologySpreadConstraints",
        "/imagePullSecrets",
        "/securityContext",
        "/containers/0/resources/limits/cpu",
        "/containers/0/resources",
        "/containers/0/securityContext/allowPrivilegeEscalation",
        "/containers/0/securityContext",
        "/containers/0/livenessProbe",
        "/containers/0/env/2",
        "/containers/0/args",
        "/volumes/0/projected/sources/1",
    ] {
        let full = format!("/spec/template/spec{path}");
        let (parent, last) = full.rsplit_once('/').unwrap();
        match deployment.pointer_mut(parent).unwrap() {
            Value::Object(map) => drop(map.shift_remove(last).unwrap()),
            Value::Array(list) => drop(list.remove(last.parse().unwrap())),
            other => panic!("{other}"),
        }
        world.write(&[&deployment]).await;
        let live = world.deployment().await;
        let left = live.pointer(&full);
        let is_gone = match left {
            None => true,
            // The API server's defaults.
            Some(Value::Object(left)) => left.is_empty(),
            Some(_) => false,
        };
        assert!(is_gone, "{path}: {left:?}");
        let writes = world
            .writes_during(async |world| world.write(&[&deployment]).await)
            .await;
        assert_eq!(writes, [], "{path}");
    }
}

#[tokio::test]
async fn what_somebody_else_changed_is_put_right() {
    let test = "what_somebody_else_changed_is_put_right";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let (mut world, service, deployment) = written(cluster, "write-drift").await;
    let namespace = world.gateway.namespace.clone();
    let patch = json!({"spec": {"sessionAffinity": "None"}, "metadata": {"labels": {"stunner.l7mp.io/related-gateway-name": null}}});
    world
        .objects
        .merge(kinds::SERVICE, &namespace, "gw", patch)
        .await;
    world.write(&[&service, &deployment]).await;
    let live = world.service().await;
    assert_eq!(live["spec"]["sessionAffinity"], "ClientIP");
    assert_eq!(
        live["metadata"]["labels"]["stunner.l7mp.io/related-gateway-name"],
        "gw"
    );
}

#[tokio::test]
async fn a_cache_that_is_behind_does_not_mislead() {
    let test = "a_cache_that_is_behind_does_not_mislead";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let (mut world, service, _) = written(cluster, "write-stale").await;
    world.refresh().await;
    let mut other = service.clone();
    other["spec"]["sessionAffinity"] = json!("None");
    for (desired, affinity) in [(&other, "None"), (&service, "ClientIP")] {
        let mut plan = crate::objects::plan(&world.uid);
        plan.workloads = vec![crate::objects::workload(desired)];
        let mut whole = stunner_translate::Plan::default();
        whole.gateways.insert(world.gateway.clone(), plan);
        let unit = stunner_translate::Unit::Gateway(world.gateway.clone());
        world.resubmit(whole, unit).await;
        assert_eq!(world.service().await["spec"]["sessionAffinity"], affinity);
    }
}
