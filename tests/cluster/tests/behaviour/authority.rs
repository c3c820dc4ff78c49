//! Least privilege: the operator works with the rights that the install manifests give it, and no write is forbidden.

use std::path::Path;
use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, Operator, User, kinds, need};
use serde_json::{Value, json};

use crate::site::{Site, same};

/// Applies the roles, bindings, accounts and namespaces of `deploy/manifests`, and nothing that runs.
async fn install_roles(site: &Site) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/manifests");
    let wanted = [
        "Namespace",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
    ];
    let mut objects = Vec::new();
    for entry in std::fs::read_dir(&dir).expect("deploy/manifests").flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        objects.extend(cluster_tests::parse(&text));
    }
    let rank = |object: &Value| wanted.iter().position(|kind| object["kind"] == *kind);
    objects.retain(|object| rank(object).is_some());
    objects.sort_by_key(rank);
    assert!(
        objects.iter().any(|object| object["kind"] == "ClusterRole"),
        "no roles in {dir:?}"
    );
    for object in objects {
        site.apply(object).await;
    }
}

#[tokio::test]
async fn the_installed_roles_suffice() {
    let test = "the_installed_roles_suffice";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "roles").await;
    install_roles(&site).await;
    site.apply(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "credentials", "namespace": "roles" },
        "stringData": { "username": "user-1", "password": "pass-1" },
    }))
    .await;
    let mut config = site.config();
    config["spec"]["authRef"] = json!({ "name": "credentials" });
    site.apply(config).await;
    site.apply(site.gateway("gw")).await;
    site.route("route", "gw").await;
    let mark = cluster.mark();
    let options = site
        .options()
        .user(User::Installed)
        .arg("--leader-elect=true");
    let operator = Operator::start(&cluster, options).await;
    site.serve(&operator, "gw").await;
    site.discovered(&operator, "gw", |config| {
        same(&config["auth"]["credentials"]["username"], "user-1")
    })
    .await;
    let mut gateway = site.gateway("gw");
    gateway["metadata"]["annotations"] =
        json!({ "stunner.l7mp.io/disable-managed-dataplane": "true" });
    site.apply(gateway).await;
    site.gone(kinds::DEPLOYMENT, "gw").await;
    cluster.operator_is_calm(Duration::from_millis(500)).await;
    let forbidden = cluster
        .writes_since(mark)
        .iter()
        .filter(|write| write.code == 403)
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    let log = operator.log();
    let refused = log
        .iter()
        .filter(|line| line.contains("forbidden"))
        .collect::<Vec<_>>();
    assert!(refused.is_empty(), "{refused:#?}");
}
