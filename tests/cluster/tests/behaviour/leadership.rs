//! Several operators, one of them lost: another takes over, and never do two write.

use std::time::Duration;

use cluster_tests::{
    Cluster, GatewayApi, Operator, User, eventually, eventually_within, kinds, need, stays,
};
use interop_tests::rounds::{Round, Took};
use serde_json::{Value, json};

use crate::site::{Site, same, uid};

/// Lease duration and a retry.
const TAKEOVER: Duration = Duration::from_secs(22);
/// Nobody waits longer, whatever else the machine does.
const PATIENCE: Duration = Duration::from_secs(90);

/// Two operators that the audit log can tell apart, the first of them leading.
async fn pair(cluster: &Cluster, site: &Site) -> (Operator, Operator) {
    site.apply(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "second-operator" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Installed.name() }],
    }))
    .await;
    let options = site.options().arg("--leader-elect");
    let first = Operator::start(cluster, options.clone()).await;
    site.apply(site.gateway("gw")).await;
    site.route("route", "gw").await;
    site.serve(&first, "gw").await;
    let second = Operator::start(cluster, options.user(User::Installed)).await;
    (first, second)
}

async fn set_port(site: &Site, port: u32) {
    let mut gateway = site.gateway("gw");
    gateway["spec"]["listeners"][0]["port"] = json!(port);
    site.apply(gateway).await;
}

async fn service_has_port(site: &Site, port: u32) -> Took {
    let round = Round::begin();
    eventually_within(PATIENCE, "the Service follows", async || {
        let live = site.objects.find(kinds::SERVICE, &site.name, "gw").await;
        same(&live.unwrap_or_default()["spec"]["ports"][0]["port"], port)
    })
    .await;
    round.end()
}

#[tokio::test]
async fn a_leader_that_is_killed_is_replaced_and_nothing_flaps() {
    let test = "a_leader_that_is_killed_is_replaced_and_nothing_flaps";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "killed").await;
    let (mut first, second) = pair(&cluster, &site).await;
    for path in ["/healthz", "/readyz"] {
        let (status, body) = second.health(path).expect("an answer");
        assert_eq!(status, 200, "{path} of a standby: {body}");
    }
    // Byte for byte: a dataplane that moves from one to the other sees no change.
    for path in [
        "/api/v1/configs",
        "/api/v1/configs/killed",
        "/api/v1/configs/killed/gw",
        "/api/v1/license",
    ] {
        // Each hears of a change in its own time.
        eventually(path, async || {
            let one = first.cds().get(path).map_err(|error| error.to_string())?;
            let other = second.cds().get(path).map_err(|error| error.to_string())?;
            match one == other {
                true => Ok(()),
                false => Err(format!("{one:?} of the leader, {other:?} of the standby")),
            }
        })
        .await;
    }
    let watch = second.cds().watch_gateway(&site.name, "gw").await;
    let before = site
        .objects
        .find(kinds::SERVICE, &site.name, "gw")
        .await
        .expect("a Service");
    cluster.operator_is_calm(Duration::from_millis(500)).await;

    let mark = cluster.mark();
    first.kill();
    set_port(&site, 4000).await;
    // The standby serves it at once, whoever leads.
    site.discovered(&second, "gw", |config| {
        same(&config["listeners"][0]["port"], 4000)
    })
    .await;
    let took = service_has_port(&site, 4000).await;
    println!("another leads: {took:?}");
    assert!(!took.is_longer_than(TAKEOVER), "{took:?}");
    let after = site
        .objects
        .find(kinds::SERVICE, &site.name, "gw")
        .await
        .expect("a Service");
    assert_eq!(uid(&before), uid(&after));
    cluster.operator_is_calm(Duration::from_millis(800)).await;
    let writes = cluster.operator_writes_since(mark);
    let deletions: Vec<_> = writes
        .iter()
        .filter(|write| write.verb == "delete")
        .collect();
    assert!(deletions.is_empty(), "{deletions:?}");
    let mut ports: Vec<Value> = watch
        .frames()
        .iter()
        .map(|frame| frame["listeners"][0]["port"].clone())
        .collect();
    // The public port follows once the Service has it.
    ports.dedup();
    assert_eq!(ports, [json!(3478), json!(4000)]);
}

#[tokio::test]
async fn a_leader_that_was_frozen_writes_nothing_once_another_leads() {
    let test = "a_leader_that_was_frozen_writes_nothing_once_another_leads";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "stopped").await;
    let (first, second) = pair(&cluster, &site).await;
    cluster.operator_is_calm(Duration::from_millis(500)).await;

    let begin = cluster.mark();
    first.signal(libc::SIGSTOP);
    set_port(&site, 4000).await;
    service_has_port(&site, 4000).await;
    cluster.operator_is_calm(Duration::from_millis(500)).await;
    // Much waits for the one that wakes up.
    for port in 4001..4010 {
        set_port(&site, port).await;
    }
    service_has_port(&site, 4009).await;
    first.signal(libc::SIGCONT);
    for port in 4010..4030 {
        set_port(&site, port).await;
    }
    service_has_port(&site, 4029).await;
    let wrong = || {
        let mut writes = cluster.operator_writes_since(begin);
        writes.retain(|write| write.user == User::Operator.name());
        writes.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    stays(
        "only one writes",
        Duration::from_secs(4),
        async || match wrong() {
            writes if writes.is_empty() => Ok(()),
            writes => Err(format!("{writes:?}")),
        },
    )
    .await;
    let holder = site
        .objects
        .find(kinds::LEASE, "stunner-system", "92062b70.l7mp.io")
        .await;
    let transitions = holder.expect("the Lease")["spec"]["leaseTransitions"].clone();
    assert_eq!(transitions, json!(1), "it changed hands once");
    for operator in [&first, &second] {
        site.discovered(operator, "gw", |config| {
            same(&config["listeners"][0]["port"], 4029)
        })
        .await;
    }
}
