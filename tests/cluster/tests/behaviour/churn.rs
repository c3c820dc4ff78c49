//! Objects that come and go faster than anybody can write: only the end counts, and it counts wholly.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, eventually, kinds, need};
use serde_json::{Value, json};

use crate::site::{Site, same, uid};

#[tokio::test]
async fn gateways_that_come_and_go_leave_nothing_behind() {
    let test = "gateways_that_come_and_go_leave_nothing_behind";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "churn").await;
    let operator = site.operator(&cluster).await;
    for round in 0..15 {
        for name in ["gone", "left"] {
            site.apply(site.gateway(name)).await;
        }
        tokio::time::sleep(Duration::from_millis(round * 13 % 90)).await;
        for name in ["gone", "left"] {
            site.objects.delete(kinds::GATEWAY, &site.name, name).await;
        }
        tokio::time::sleep(Duration::from_millis(round * 7 % 40)).await;
    }
    site.apply(site.gateway("left")).await;
    // There is no garbage collector here: what is gone was taken back by the operator itself.
    for kind in [kinds::SERVICE, kinds::DEPLOYMENT] {
        site.gone(kind, "gone").await;
    }
    site.serve(&operator, "left").await;
    let gateway = site.object(kinds::GATEWAY, "left", |_| Ok(())).await;
    for kind in [kinds::SERVICE, kinds::DEPLOYMENT] {
        site.object(kind, "left", |live| {
            let owners = &live["metadata"]["ownerReferences"];
            same(&owners[0]["uid"], uid(&gateway))?;
            same(&owners[1], Value::Null)
        })
        .await;
    }
    eventually("one set of last good inputs", async || {
        let secrets = site.objects.list(kinds::SECRET, "stunner-system").await;
        let of: Vec<_> = secrets
            .iter()
            .filter(|secret| secret["metadata"]["labels"]["stunner.l7mp.io/last-good"] == "true")
            .map(|secret| secret["metadata"]["annotations"].clone())
            .collect();
        let text = json!(of).to_string();
        match of.len() == 1 && text.contains(uid(&gateway).as_str().unwrap_or("?")) {
            true => Ok(()),
            false => Err(text),
        }
    })
    .await;
    let (status, _) = operator
        .cds()
        .get("/api/v1/configs/churn/gone")
        .expect("an answer");
    assert_eq!(status, 404);
    cluster.operator_is_calm(Duration::from_secs(1)).await;
}

/// What GitOps tools do: delete and create again, in any order.
#[tokio::test]
async fn sources_that_are_made_anew_change_no_workload() {
    let test = "sources_that_are_made_anew_change_no_workload";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "anew").await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "auth", "namespace": "anew" },
        "stringData": { "type": "ephemeral", "secret": "hush" },
    });
    let mut config = site.config();
    config["spec"]["authRef"] = json!({ "name": "auth" });
    site.apply(secret.clone()).await;
    site.apply(config.clone()).await;
    site.apply(site.gateway("gw")).await;
    site.route("route", "gw").await;
    let operator = site.operator(&cluster).await;
    site.serve(&operator, "gw").await;
    let before = operator.cds().config("anew", "gw").expect("a config");
    same(&before["auth"]["type"], "ephemeral").expect("that of the Secret");
    cluster.operator_is_calm(Duration::from_millis(500)).await;
    let watch = operator.cds().watch_gateway("anew", "gw").await;
    let mark = cluster.mark();
    let service = site.object(kinds::SERVICE, "gw", |_| Ok(())).await;
    let deployment = site.object(kinds::DEPLOYMENT, "gw", |_| Ok(())).await;
    for round in 0..5 {
        site.objects.delete(kinds::SECRET, "anew", "auth").await;
        site.objects
            .delete(kinds::GATEWAY_CONFIG, "anew", "anew")
            .await;
        site.objects.delete(kinds::DATAPLANE, "", "anew").await;
        site.objects.delete(kinds::GATEWAY_CLASS, "", "anew").await;
        tokio::time::sleep(Duration::from_millis(round * 60)).await;
        site.apply(site.class()).await;
        site.apply(site.dataplane()).await;
        site.apply(config.clone()).await;
        site.apply(secret.clone()).await;
        tokio::time::sleep(Duration::from_millis(round * 60)).await;
    }
    let healed = [("Accepted", "True"), ("Programmed", "True")];
    site.conditions(kinds::GATEWAY, "gw", &healed).await;
    site.conditions(kinds::GATEWAY_CLASS, "anew", &[("Accepted", "True")])
        .await;
    cluster.operator_is_calm(Duration::from_secs(1)).await;
    site.discovered(&operator, "gw", |config| same(config, before.clone()))
        .await;
    for frame in watch.frames() {
        assert_eq!(frame, before, "no state in between is served");
    }
    let writes = cluster.operator_writes_since(mark);
    let workloads: Vec<_> = writes
        .iter()
        .filter(|write| ["services", "deployments"].contains(&write.resource.as_str()))
        .map(ToString::to_string)
        .collect();
    assert!(workloads.is_empty(), "{workloads:#?}");
    for (kind, old) in [(kinds::SERVICE, service), (kinds::DEPLOYMENT, deployment)] {
        let now = site.object(kind, "gw", |_| Ok(())).await;
        assert_eq!(
            now["metadata"]["resourceVersion"],
            old["metadata"]["resourceVersion"]
        );
    }
}

/// A loop that spins, or polls, shows when there is nothing to do.
#[tokio::test]
async fn an_operator_with_nothing_to_do_rests() {
    let test = "an_operator_with_nothing_to_do_rests";
    // Of its own: what other tests do to a shared one is work.
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "rest").await;
    site.apply(site.gateway("gw")).await;
    let operator = site.operator(&cluster).await;
    site.serve(&operator, "gw").await;
    cluster.operator_is_calm(Duration::from_secs(1)).await;
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", operator.id())).expect("stat");
        let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
        let fields: Vec<&str> = fields.split(' ').collect();
        let number = |index: usize| fields[index].parse::<u64>().expect("a number");
        number(11) + number(12)
    };
    let before = ticks();
    tokio::time::sleep(Duration::from_secs(5)).await;
    // Of CPU time, whoever else wants it. A spin would be 500, or half of that where two want each CPU.
    let used = ticks() - before;
    assert!(used < 100, "{used} hundredths of a second in five");
}
