//! What may be done with which rights, and whether the hints of refusals help.

use cluster_tests::{Cluster, GatewayApi, need};
use serde_json::json;
use stunner_cluster::{Cds, Cluster as Reached, ClusterError, Scope};

use crate::world::{ADDRESS, World, operator_pod, with_token};

const NS: &str = "access-rights";

#[tokio::test]
async fn every_refusal_names_the_right_that_helps() {
    let test = "every_refusal_names_the_right_that_helps";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let world = World::new(cluster, NS, &[]).await;
    world.publish("stunner/a", 1);
    let pod = operator_pod(NS, "op-1", "op", "1");
    world.kubelet.pod(&pod, ADDRESS).await;
    let pods = json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] });
    let forward =
        json!({ "apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"] });

    let nobody = world.objects.token(NS, "nobody", json!([]), false).await;
    let refused = Cds::find(&with_token(cluster, &nobody), &world.cds_flags()).await;
    let refused = refused.expect_err("no rights");
    assert!(
        matches!(
            &refused,
            ClusterError::Forbidden { verb: "list", resource, namespace: Some(namespace), .. }
                if resource == "pods" && namespace == NS
        ),
        "{refused}"
    );
    let hint = refused.hint().expect("a hint");
    assert!(
        hint.contains("kubectl create role NAME -n access-rights --verb=list --resource=pods"),
        "{hint}"
    );
    let reached = Reached::connect(&with_token(cluster, &nobody)).await;
    let reached = reached.expect("a cluster");
    let everywhere = reached.dataplane_pods(&Scope::All).await;
    let hint = everywhere.expect_err("no rights").hint();
    assert!(
        hint.is_some_and(|hint| hint.contains("clusterrole")),
        "a ClusterRole helps"
    );

    let lister = world
        .objects
        .token(NS, "lister", json!([pods]), false)
        .await;
    let cds = Cds::find(&with_token(cluster, &lister), &world.cds_flags()).await;
    let refused = cds
        .expect("a pod")
        .all()
        .await
        .expect_err("no port-forward");
    assert!(refused.is_forbidden(), "{refused}");
    let hint = refused.hint().expect("a hint");
    assert!(
        hint.contains("--verb=get,create --resource=pods/portforward"),
        "{hint}"
    );

    let user = world
        .objects
        .token(NS, "user", json!([pods, forward]), false);
    let user = user.await;
    let cds = Cds::find(&with_token(cluster, &user), &world.cds_flags()).await;
    assert_eq!(cds.expect("a pod").all().await.expect("a list").len(), 1);
}
