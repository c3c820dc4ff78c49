//! What the API server does not take.

use std::time::{Duration, Instant};

use cluster_tests::{Cluster, GatewayApi, eventually, kinds, need};
use serde_json::{Value, json};
use stunner_translate::{WorkloadKind, WriteFailure};

use crate::objects::{deployment, service};
use crate::world::World;

async fn events(world: &World) -> Vec<Value> {
    world
        .objects
        .list(kinds::EVENT, &world.gateway.namespace)
        .await
}

#[tokio::test]
async fn a_node_port_that_is_taken_is_reported_and_tried_again_until_it_is_free() {
    let test = "a_node_port_that_is_taken_is_reported_and_tried_again_until_it_is_free";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-nodeport").await;
    let namespace = world.gateway.namespace.clone();
    world
        .objects
        .apply_object(&json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "first", "namespace": namespace},
            "spec": {"type": "NodePort", "ports": [{"port": 1, "protocol": "UDP", "nodePort": 32111}]},
        }))
        .await;
    let mut service = service(&world.gateway, &world.uid);
    service["spec"]["ports"][0]["nodePort"] = json!(32111);
    let deployment = deployment(&world.gateway, &world.uid);
    world.write(&[&service, &deployment]).await;

    let feedback = world.feedback();
    let refused = feedback
        .iter()
        .find(|feedback| feedback.kind == WorkloadKind::Service)
        .unwrap();
    let message = &refused.failure.as_ref().unwrap().message;
    assert!(
        message.contains("provided port is already allocated"),
        "{message}"
    );
    // The rest is written all the same.
    assert_eq!(world.deployment().await["spec"]["replicas"], 2);
    let events = events(&world).await;
    let event = events
        .iter()
        .find(|event| event["reason"] == "ServiceRefused")
        .unwrap();
    assert_eq!(event["type"], "Warning");
    assert_eq!(event["regarding"]["uid"], world.uid.as_str());
    assert_eq!(event["note"], message.as_str());

    world
        .objects
        .delete(kinds::SERVICE, &namespace, "first")
        .await;
    eventually("the Service is written", async || {
        let found = world.objects.find(kinds::SERVICE, &namespace, "gw").await;
        found.ok_or_else(|| "none".to_owned())
    })
    .await;
    let cleared = eventually("the engine hears of it", async || {
        world.feedback().pop().ok_or_else(String::new)
    })
    .await;
    assert_eq!(cleared.kind, WorkloadKind::Service);
    assert_eq!(cleared.failure, None);
}

#[tokio::test]
async fn what_is_refused_is_not_sent_again_at_once() {
    let test = "what_is_refused_is_not_sent_again_at_once";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-backoff").await;
    let mut service = service(&world.gateway, &world.uid);
    service["spec"]["ports"][0]["nodePort"] = json!(1);
    let begun = Instant::now();
    let writes = world
        .writes_during(async |world| {
            for _ in 0..20 {
                world.write(&[&service]).await;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        })
        .await;
    let took = begun.elapsed();
    let sent = writes.iter().filter(|write| write.resource == "services");
    let sent = sent.count();
    // The first wait is 125 ms at least, and each is twice the one before it: a slow machine has time for more of them.
    let most = 2 + (took.as_secs_f64() / 0.125 + 1.0).log2() as usize;
    assert!((1..=most).contains(&sent), "{sent} in {took:?}");
    assert!(sent < 20, "every plan was sent: {sent}");
    let feedback = world.feedback();
    assert_eq!(feedback.len(), 1, "{feedback:?}");
    assert_eq!(
        events(&world).await.len(),
        1,
        "the same Event is not repeated"
    );
}

#[tokio::test]
async fn a_name_that_is_taken_is_reported_and_left_alone() {
    let test = "a_name_that_is_taken_is_reported_and_left_alone";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-taken").await;
    let namespace = world.gateway.namespace.clone();
    let theirs = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "gw", "namespace": namespace},
        "spec": {"ports": [{"port": 80, "protocol": "TCP"}]},
    });
    world.objects.apply_object(&theirs).await;
    let before = world.service().await;
    let service = service(&world.gateway, &world.uid);
    world.write(&[&service]).await;
    let feedback = world.feedback();
    assert_eq!(
        feedback[0].failure,
        Some(WriteFailure {
            message: "there is a Service write-taken/gw that is not ours; delete it, or choose another name".to_owned(),
            external_ips_refused: false,
        })
    );
    assert_eq!(world.service().await, before);
    world.write_gateway(None).await;
    assert_eq!(world.service().await, before);

    // The label alone does not make it ours.
    let mut labelled = theirs.clone();
    labelled["metadata"]["labels"] = json!({"stunner.l7mp.io/owned-by": "stunner"});
    world.objects.apply_object(&labelled).await;
    let before = world.service().await;
    world.write(&[&service]).await;
    world.write_gateway(None).await;
    assert_eq!(world.service().await, before);
}

#[tokio::test]
async fn external_ips_are_left_out_where_admission_refuses_them() {
    let test = "external_ips_are_left_out_where_admission_refuses_them";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-external-ips").await;
    world
        .objects
        .apply(
            r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: write-no-external-ips }
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - { apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [services] }
  validations:
  - { expression: "!has(object.spec.externalIPs) || size(object.spec.externalIPs) == 0", message: "externalIPs are not allowed here" }
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: { name: write-no-external-ips }
spec:
  policyName: write-no-external-ips
  validationActions: [Deny]
  matchResources:
    namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: write-external-ips } }
"#,
        )
        .await;
    let namespace = world.gateway.namespace.clone();
    let mut probe = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "probe", "namespace": namespace},
        "spec": {"ports": [{"port": 80, "protocol": "TCP"}], "externalIPs": ["192.0.2.1"]},
    });
    let mut n = 0;
    eventually("the policy is in force", async || {
        n += 1;
        probe["metadata"]["name"] = json!(format!("probe-{n}"));
        match world.objects.try_apply_object(&probe).await {
            Ok(_) => Err("accepted".to_owned()),
            Err(_) => Ok(()),
        }
    })
    .await;

    let mut service = service(&world.gateway, &world.uid);
    service["spec"]["externalIPs"] = json!(["192.0.2.1"]);
    service["spec"]["loadBalancerIP"] = json!("192.0.2.1");
    world.write(&[&service]).await;
    let live = world.service().await;
    assert_eq!(live["spec"].get("externalIPs"), None);
    assert_eq!(live["spec"]["loadBalancerIP"], "192.0.2.1");
    let failure = world.feedback().pop().and_then(|feedback| feedback.failure);
    let failure = failure.unwrap();
    assert!(failure.external_ips_refused);
    assert!(
        failure.message.contains("not allowed here"),
        "{}",
        failure.message
    );

    // Asked for again, or left out by a translation that has heard: it is quiet either way.
    let mut without = service.clone();
    without["spec"]
        .as_object_mut()
        .unwrap()
        .shift_remove("externalIPs");
    let writes = world
        .writes_during(async |world| {
            world.write(&[&service]).await;
            world.write(&[&without]).await;
            world.write(&[&service]).await;
        })
        .await;
    assert_eq!(writes, []);
    assert_eq!(world.feedback(), []);
}

#[tokio::test]
async fn an_immutable_field_is_reported_and_the_object_stays() {
    let test = "an_immutable_field_is_reported_and_the_object_stays";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-immutable").await;
    let mut desired = deployment(&world.gateway, &world.uid);
    world.write(&[&desired]).await;
    world.feedback();
    let before = world.deployment().await;
    desired["spec"]["selector"] = json!({"matchLabels": {"app": "stunner"}});
    world.write(&[&desired]).await;
    let failure = world.feedback().pop().and_then(|feedback| feedback.failure);
    let message = failure.unwrap().message;
    assert!(message.contains("immutable"), "{message}");
    let live = world.deployment().await;
    assert_eq!(live["metadata"]["uid"], before["metadata"]["uid"]);
}
