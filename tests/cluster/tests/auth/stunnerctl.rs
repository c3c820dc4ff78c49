//! `stunnerctl` in front of it all: the auth service, the operator and a dataplane are asked through port-forwards.

use std::path::Path;
use std::process::Command;

use cluster_tests::{Cluster, GatewayApi, Kubelet, User, eventually, need};
use interop_tests::binary;
use interop_tests::ended::{Ended, run_to_end};
use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::stunnerd;
use serde_json::{Value, json};

use crate::authd::Authd;
use crate::site::{SECRET, Site, url};

const NAMESPACE: &str = "auth-ctl";
const ADDRESS: &str = "10.244.0.7";

async fn ctl(cluster: &Cluster, arguments: &[&str]) -> Ended {
    let mut command = Command::new("timeout");
    command
        .arg("60")
        .arg(binary::stunnerctl())
        .args(arguments)
        .args(["-n", NAMESPACE, "--cds-server-namespace", NAMESPACE])
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig(User::Admin));
    let run = tokio::task::spawn_blocking(move || run_to_end(&mut command, ""));
    run.await.expect("a thread")
}

async fn auth(cluster: &Cluster, arguments: &[&str]) -> Ended {
    let auth = ["auth", "--auth-service-namespace", NAMESPACE];
    ctl(cluster, &[&auth[..], arguments].concat()).await
}

fn pod(name: &str, labels: &Value) -> Value {
    json!({ "name": name, "namespace": NAMESPACE, "labels": labels })
}

/// A pod of the auth service, made by a Deployment.
fn auth_pod(name: &str, deployment: &str) -> Value {
    let labels = json!({ "app": "stunner-auth", "pod-template-hash": "1" });
    let mut pod = pod(name, &labels);
    pod["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{deployment}-1"),
        "uid": "00000000-0000-0000-0000-000000000001", "controller": true,
    }]);
    pod
}

/// The config that the operator has for the Gateway, served with the health page at a port that is free here.
async fn dataplane(site: &Site, folder: &Path, health: u16) -> Process {
    let cds = site.operator.cds();
    let mut config = eventually("the config of the Gateway", async || {
        let config = cds.config(NAMESPACE, "edge")?;
        match config["listeners"][0]["public_address"].is_string() {
            true => Ok(config),
            false => Err(config.to_string()),
        }
    })
    .await;
    config["admin"]["healthcheck_endpoint"] = json!(format!("http://127.0.0.1:{health}"));
    config["listeners"][0]["port"] = json!(free_port());
    let file = folder.join("auth-ctl-edge.json");
    std::fs::write(&file, config.to_string()).expect("written");
    let mut command = Command::new(stunnerd::binary());
    command
        .args(["--admin-address", "off", "--log", "all:INFO", "--config"])
        .arg(&file)
        .env("STUNNER_NAMESPACE", NAMESPACE)
        .env("STUNNER_NAME", "edge")
        .env("STUNNER_ADDR", "127.0.0.1");
    Process::start("stunnerd", command).expect("start the dataplane")
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_configs_and_status_come_through_port_forwards() {
    let test = "credentials_configs_and_status_come_through_port_forwards";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::set(cluster, NAMESPACE).await;
    site.gateway("edge", "192.0.2.1").await;
    site.gateway("other", "192.0.2.2").await;
    let (edge, other) = (url("192.0.2.1"), url("192.0.2.2"));
    let discovery = format!("127.0.0.1:{}", site.operator.cds_port());
    let authd = Authd::start(&[format!("--cds-server-address={discovery}")]).await;
    authd.tells(&[&edge, &other]).await;

    let health = free_port();
    let ports = [
        (13478, site.operator.cds_port()),
        (8088, authd.port()),
        (8086, health),
    ];
    let kubelet = Kubelet::start(cluster, NAMESPACE, &ports).await;
    let none = auth(cluster, &["edge"]).await.with_code(1);
    none.says("pod of the authentication service in namespace `auth-ctl` not found");
    let discovery = json!({ "stunner.l7mp.io/config-discovery-service": "enabled" });
    kubelet.pod(&pod("operator", &discovery), ADDRESS).await;
    let (one, two) = (auth_pod("auth-1", "auth"), auth_pod("auth-2", "auth"));
    kubelet.pod(&one, ADDRESS).await;
    kubelet.pod(&two, ADDRESS).await;

    credentials(cluster, &edge, &other).await;
    // Of two pods of one service the ready one is asked.
    kubelet.set_ready(&one, ADDRESS, false).await;
    auth(cluster, &["edge"]).await.with_code(0);
    kubelet.set_ready(&two, ADDRESS, false).await;
    let starting = auth(cluster, &["edge"]).await.with_code(1);
    starting
        .says("the authentication service is not ready: pod auth-ctl/auth-1, pod auth-ctl/auth-2");
    kubelet.set_ready(&two, ADDRESS, true).await;
    kubelet.pod(&auth_pod("second-1", "second"), ADDRESS).await;
    let several = auth(cluster, &["edge"]).await.with_code(1);
    several.says("several authentication services found");
    several.says("Deployment auth-ctl/second");

    configs(cluster).await;
    let dataplane = dataplane(&site, cluster.folder(), health).await;
    let labels = json!({
        "app": "stunner",
        "stunner.l7mp.io/related-gateway-namespace": NAMESPACE,
        "stunner.l7mp.io/related-gateway-name": "edge",
    });
    kubelet.pod(&pod("edge-1", &labels), ADDRESS).await;
    status(cluster).await;
    drop(dataplane);
    let dead = ctl(cluster, &["status", "edge"]).await.with_code(1);
    dead.says("edge-1");
}

async fn credentials(cluster: &Cluster, edge: &str, other: &str) {
    let ice = auth(cluster, &["edge", "--username", "ann"]).await;
    let ice = ice.with_code(0).json();
    assert_eq!(ice["iceServers"].as_array().map(Vec::len), Some(1), "{ice}");
    let server = &ice["iceServers"][0];
    assert_eq!(server["urls"], json!([edge]));
    let user = server["username"].as_str().expect("a user");
    assert!(user.ends_with(":ann"), "{user}");
    let all = auth(cluster, &[]).await.with_code(0).json();
    assert_eq!(all["iceServers"].as_array().map(Vec::len), Some(2), "{all}");

    let turn = ["edge", "--auth-turn-credential", "-o", "json"];
    let turn = auth(cluster, &turn).await.with_code(0).json();
    assert_eq!(turn["uris"], json!([edge]));
    assert_eq!(turn["ttl"], 86_400);
    let path = "jsonpath={.iceServers[0].urls[0]}";
    let path = auth(cluster, &["other", "-o", path]).await.with_code(0);
    assert_eq!(path.stdout.trim(), other);
    let yaml = auth(cluster, &["edge", "-o", "yaml"]).await.with_code(0);
    yaml.says("iceTransportPolicy: all");
    let missing = auth(cluster, &["missing"]).await.with_code(1);
    missing.says("hint: ");
}

async fn configs(cluster: &Cluster) {
    let summary = ctl(cluster, &["config", "edge"]).await.with_code(0);
    summary.says("auth-ctl/edge");
    summary.says("192.0.2.1");
    assert!(!format!("{summary:?}").contains(SECRET), "{summary:?}");
    let json = ctl(cluster, &["config", "edge", "-o", "json"]).await;
    let config = json.with_code(0).json();
    assert_eq!(config["admin"]["name"], "auth-ctl/edge");
    assert_eq!(config["listeners"][0]["public_address"], "192.0.2.1");
    let all = ctl(cluster, &["config", "-o", "json"]).await.with_code(0);
    let names: Vec<Value> = all
        .values()
        .iter()
        .map(|it| it["admin"]["name"].clone())
        .collect();
    assert_eq!(names, ["auth-ctl/edge", "auth-ctl/other"]);
    let missing = ctl(cluster, &["config", "missing"]).await.with_code(1);
    missing.says("hint: ");
}

async fn status(cluster: &Cluster) {
    let status = eventually("the status of the dataplane", async || {
        let status = ctl(cluster, &["status", "edge", "-o", "json"]).await;
        match status.code {
            Some(0) => Ok(status),
            _ => Err(format!("{status:?}")),
        }
    })
    .await;
    let value = status.json();
    assert_eq!(value["admin"]["name"], "auth-ctl/edge", "{value}");
    assert_eq!(value["allocationCount"], 0, "{value}");
    let summary = ctl(cluster, &["status", "edge"]).await.with_code(0);
    summary.says("auth-ctl/edge-1");
    assert!(!format!("{status:?}{summary:?}").contains(SECRET));
}
