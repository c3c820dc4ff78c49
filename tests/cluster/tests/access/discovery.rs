//! The config discovery service of a cluster, found by its pods and asked through port-forwards.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, need};
use stunner_cluster::{Cds, CdsFlags, Cluster as Reached, ClusterError, Scope, WatchEvent};

use crate::world::{ADDRESS, World, admin, id, operator_pod};

async fn next(watch: &mut stunner_cluster::ConfigWatch) -> WatchEvent {
    loop {
        let next = tokio::time::timeout(Duration::from_secs(30), watch.next()).await;
        match next.expect("an event in time").expect("an endless watch") {
            WatchEvent::Down { .. } => {}
            news => return news,
        }
    }
}

fn listed(event: WatchEvent) -> Vec<String> {
    match event {
        WatchEvent::List(list) => list.into_iter().map(|found| found.id).collect(),
        other => panic!("no list: {other:?}"),
    }
}

#[tokio::test]
async fn configs_are_read_and_followed_through_a_port_forward() {
    let test = "configs_are_read_and_followed_through_a_port_forward";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "access-discovery", &[]).await;
    world.publish("stunner/b", 1);
    world.publish("stunner/a", 1);
    // Two ReplicaSets of one Deployment are one service, and of its pods one that is ready is asked.
    let old = operator_pod("access-discovery", "op-old", "op", "1");
    let new = operator_pod("access-discovery", "op-new", "op", "2");
    world.kubelet.pod(&old, ADDRESS).await;
    world.kubelet.pod(&new, ADDRESS).await;
    world.kubelet.set_ready(&new, ADDRESS, false).await;
    let reached = Reached::connect(&admin(cluster)).await.expect("a cluster");
    let chosen = reached.cds_pod(Some("access-discovery")).await;
    assert_eq!(chosen.expect("a pod").name.name, "op-old");

    let cds = Cds::find(&admin(cluster), &world.cds_flags()).await;
    let cds = cds.expect("a service");
    let all = cds.all().await.expect("a list");
    let names: Vec<&str> = all.iter().map(|found| found.id.as_str()).collect();
    assert_eq!(names, ["stunner/a", "stunner/b"]);
    let one = cds.one(&id("stunner/a"), None).await.expect("a config");
    assert_eq!(one.value["listeners"][0]["port"], 1);
    let none = cds.one(&id("stunner/none"), None).await.expect_err("none");
    assert!(matches!(none, ClusterError::NotFound { .. }), "{none}");
    assert_eq!(
        cds.license().await.expect("a license")["subscriptionType"],
        "free"
    );

    let mut watch = cds.watch(Scope::All, None);
    assert_eq!(listed(next(&mut watch).await), ["stunner/a", "stunner/b"]);
    world.publish("stunner/a", 2);
    assert!(
        matches!(next(&mut watch).await, WatchEvent::Changed(found) if found.id == "stunner/a")
    );
    world.store.remove(&id("stunner/a"));
    assert!(matches!(next(&mut watch).await, WatchEvent::Deleted(id) if id == "stunner/a"));

    // The pod that was asked goes, and comes back under another name with less to say.
    let service = world.service.take().expect("a service");
    service.stop().await;
    world.kubelet.set_ready(&old, ADDRESS, false).await;
    world.kubelet.set_ready(&new, ADDRESS, true).await;
    world.store.remove(&id("stunner/b"));
    world.publish("stunner/c", 1);
    world.serve();
    assert_eq!(listed(next(&mut watch).await), ["stunner/c"]);
}

#[tokio::test]
async fn several_services_are_refused_by_name() {
    let test = "several_services_are_refused_by_name";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let (one, other) = (
        World::new(cluster, "access-one", &[]).await,
        World::new(cluster, "access-other", &[]).await,
    );
    for world in [&one, &other] {
        let pod = operator_pod(&world.namespace, "op-1", "op", "1");
        world.kubelet.pod(&pod, ADDRESS).await;
    }
    let refused = Cds::find(&admin(cluster), &CdsFlags::default()).await;
    let refused = refused.expect_err("two");
    let ClusterError::Ambiguous { names, .. } = &refused else {
        panic!("{refused}");
    };
    for name in ["Deployment access-one/op", "Deployment access-other/op"] {
        assert!(names.iter().any(|it| it == name), "{refused}");
    }
    let hint = refused.hint().expect("a hint");
    assert!(hint.contains("--cds-server-namespace"), "{hint}");
    let found = Cds::find(&admin(cluster), &one.cds_flags()).await;
    found.expect("one of them").all().await.expect("a list");
}

#[tokio::test]
async fn a_service_that_is_missing_starting_or_deaf_is_told() {
    let test = "a_service_that_is_missing_starting_or_deaf_is_told";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let world = World::new(cluster, "access-deaf", &[]).await;
    let find = async |flags: &CdsFlags| Cds::find(&admin(cluster), flags).await;
    let missing = find(&world.cds_flags()).await.expect_err("none");
    assert_eq!(
        missing.to_string(),
        "pod of the config discovery service in namespace `access-deaf` not found"
    );
    let pod = operator_pod("access-deaf", "op-1", "op", "1");
    world.kubelet.pod(&pod, ADDRESS).await;
    world.kubelet.set_ready(&pod, ADDRESS, false).await;
    let starting = find(&world.cds_flags()).await.expect_err("not ready");
    assert!(
        matches!(starting, ClusterError::NotReady { .. }),
        "{starting}"
    );
    world.kubelet.set_ready(&pod, ADDRESS, true).await;
    let wrong_port = CdsFlags {
        port: Some(9),
        ..world.cds_flags()
    };
    let cds = find(&wrong_port).await.expect("a pod");
    let deaf = cds.all().await.expect_err("nobody listens");
    let text = deaf.to_string();
    assert!(
        text.starts_with("port 9 of pod access-deaf/op-1 cannot be reached: "),
        "{text}"
    );
    // In the words of the node.
    assert!(text.contains("nothing listens at port 9"), "{text}");
}
