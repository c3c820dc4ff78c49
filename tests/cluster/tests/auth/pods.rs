//! Outside of the cluster: a kubeconfig, the operator's pod, and a port-forward to it.

use cluster_tests::{Cluster, GatewayApi, Kubelet, User, need};
use serde_json::{Value, json};

use crate::authd::Authd;
use crate::site::{Site, url};

fn arguments(cluster: &Cluster, namespace: &str, token: &str) -> Vec<String> {
    let kubeconfig = cluster.kubeconfig(User::Admin);
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--token={token}"),
        format!("--cds-server-namespace={namespace}"),
    ]
}

fn operator_pod(namespace: &str) -> Value {
    json!({ "name": "operator", "namespace": namespace, "labels": {
        "stunner.l7mp.io/config-discovery-service": "enabled",
    } })
}

fn reading_pods() -> Value {
    json!([
        { "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] },
        { "apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"] },
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_fed_through_a_port_forward_and_waits_for_the_pod() {
    let test = "it_is_fed_through_a_port_forward_and_waits_for_the_pod";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut site = Site::set(cluster, "auth-pods").await;
    site.gateway("edge", "192.0.2.1").await;
    let token = site
        .objects
        .token("auth-pods", "looker", reading_pods(), false)
        .await;
    let authd = Authd::start(&arguments(cluster, "auth-pods", &token)).await;
    authd.answers("/readyz", 503).await;
    // Before there is anything to find.
    assert!(
        authd.says("not found"),
        "it does not say what it waits for: {}",
        authd.log()
    );
    let ports = [(13478, site.operator.cds_port())];
    let kubelet = Kubelet::start(cluster, "auth-pods", &ports).await;
    kubelet.pod(&operator_pod("auth-pods"), "10.244.0.1").await;
    authd.answers("/readyz", 200).await;
    authd.tells(&[&url("192.0.2.1")]).await;
    site.gateway("other", "192.0.2.2").await;
    authd.tells(&[&url("192.0.2.1"), &url("192.0.2.2")]).await;
    site.operator.stop();
    site.operator.restart().await;
    site.delete("edge").await;
    authd.tells(&[&url("192.0.2.2")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waiting_does_not_mend_ends_it_with_advice() {
    let test = "what_waiting_does_not_mend_ends_it_with_advice";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::set(cluster, "auth-stranger").await;
    let token = site
        .objects
        .token("auth-stranger", "stranger", json!([]), false)
        .await;
    for (token, why) in [
        (
            token.as_str(),
            "not permitted to list pods in namespace `auth-stranger`",
        ),
        ("nonsense", "does not accept the credentials"),
    ] {
        let mut authd = Authd::launch(&arguments(cluster, "auth-stranger", token));
        assert_eq!(authd.wait_end().code(), Some(1));
        let said = authd.log();
        assert!(said.contains("error: cannot find the gateways"), "{said}");
        assert!(said.contains(why) && said.contains("hint: "), "{said}");
    }
}
