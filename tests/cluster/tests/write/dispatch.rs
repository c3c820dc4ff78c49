//! Which plan is written when.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, eventually, kinds, need};
use serde_json::{Value, json};
use stunner_api::NamespacedName;
use stunner_operator::write::Batch;
use stunner_translate::{Plan, Unit};

use crate::objects::{plan, service, workload};
use crate::world::World;

fn batch(gateway: &NamespacedName, uid: &str, service: &Value) -> Batch {
    let mut plan = plan(uid);
    plan.workloads = vec![workload(service)];
    let mut whole = Plan::default();
    whole.gateways.insert(gateway.clone(), plan);
    Batch {
        plan: Arc::new(whole),
        asked: BTreeSet::from([Unit::Gateway(gateway.clone())]),
    }
}

#[tokio::test]
async fn only_the_newest_of_many_plans_is_written() {
    let test = "only_the_newest_of_many_plans_is_written";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-newest").await;
    let mut service = service(&world.gateway, &world.uid);
    let writes = world
        .writes_during(async |world| {
            for n in 0..200 {
                service["metadata"]["annotations"]["example.test/n"] = json!(n.to_string());
                world
                    .writer
                    .submit(batch(&world.gateway, &world.uid, &service));
                if n % 20 == 0 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            world.writer.idle().await;
        })
        .await;
    let live = world.service().await;
    assert_eq!(live["metadata"]["annotations"]["example.test/n"], "199");
    // The writer shares its thread with this test and gets to run only where the test sleeps: ten times, and at the end.
    assert!(writes.len() < 50, "{}", writes.len());
}

#[tokio::test]
async fn many_gateways_are_written_side_by_side() {
    let test = "many_gateways_are_written_side_by_side";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-many").await;
    for n in 0..60 {
        let gateway = NamespacedName::new("write-many", format!("gw-{n}"));
        let service = service(&gateway, "uid");
        world.writer.submit(batch(&gateway, "uid", &service));
    }
    world.writer.idle().await;
    let services = world.objects.list(kinds::SERVICE, "write-many").await;
    assert_eq!(services.len(), 60);
    assert_eq!(world.feedback().len(), 60);
}

/// Another replica may lead already.
#[tokio::test]
async fn nothing_is_written_once_the_writer_is_dropped() {
    let test = "nothing_is_written_once_the_writer_is_dropped";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-stopped").await;
    // So many that nobody writes them all in the moment between the first of them and the end.
    const MANY: usize = 1_000;
    for n in 0..MANY {
        let gateway = NamespacedName::new("write-stopped", format!("gw-{n}"));
        let service = service(&gateway, "uid");
        world.writer.submit(batch(&gateway, "uid", &service));
    }
    eventually("the first is written", async || {
        match world.feedback().len() {
            0 => Err("none".to_owned()),
            _ => Ok(()),
        }
    })
    .await;
    world.restart().await;
    // What was under way comes to an end, on the other side too. A writer that goes on writes them all.
    let mut before = None;
    let written = eventually("nothing more is written", async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let services = world.objects.list(kinds::SERVICE, "write-stopped").await;
        let now = services.len();
        match before.replace(now) == Some(now) {
            true => Ok(now),
            false => Err(format!("{now}")),
        }
    })
    .await;
    assert!((1..MANY).contains(&written), "{written}");
}
