//! Which cluster is meant, and as whom.

use cluster_tests::{Cluster, GatewayApi, User, need};
use stunner_cluster::{Cluster as Reached, ClusterError, Kubectl};

use crate::world::{World, admin, with_token};

/// Whether the API server can be asked; nothing with this label exists.
async fn ask(kubectl: &Kubectl) -> Result<usize, ClusterError> {
    let cluster = Reached::connect(kubectl).await?;
    let pods = cluster.pods(None, "no-such-label=x").await?;
    Ok(pods.len())
}

#[tokio::test]
async fn files_variables_and_flags_lead_to_the_same_cluster() {
    let test = "files_variables_and_flags_lead_to_the_same_cluster";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let folder = cluster.folder();
    // The CA of this file is a path relative to it.
    assert_eq!(ask(&admin(cluster)).await.expect("reached"), 0);

    // Split over two files, with a file between them that is not there.
    let (first, second) = (folder.join("access-1.yaml"), folder.join("access-2.yaml"));
    let url = cluster.url();
    let text = "users: [{name: me, user: {token: admin-token}}]\n\
                contexts: [{name: here, context: {cluster: there, user: me, namespace: mine}}]\n\
                current-context: here\n";
    std::fs::write(&first, text).expect("written");
    let text = format!(
        "clusters: [{{name: there, cluster: {{server: '{url}', certificate-authority: ca.pem}}}}]\n"
    );
    std::fs::write(&second, text).expect("written");
    let merged = Kubectl {
        files: vec![first, folder.join("missing.yaml"), second.clone()],
        ..Kubectl::default()
    };
    assert_eq!(ask(&merged).await.expect("reached"), 0);
    let reached = Reached::connect(&merged).await.expect("a cluster");
    assert_eq!(reached.namespace(), "mine");
    let elsewhere = Kubectl {
        namespace: Some("elsewhere".to_owned()),
        ..merged.clone()
    };
    let reached = Reached::connect(&elsewhere).await.expect("a cluster");
    assert_eq!(reached.namespace(), "elsewhere");

    let by_flags = Kubectl {
        server: Some(url.to_owned()),
        token: Some("admin-token".to_owned()),
        certificate_authority: Some(folder.join("ca.pem")),
        ..Kubectl::default()
    };
    assert_eq!(ask(&by_flags).await.expect("reached"), 0);
    let unchecked = Kubectl {
        certificate_authority: None,
        insecure_skip_tls_verify: true,
        ..by_flags.clone()
    };
    assert_eq!(ask(&unchecked).await.expect("reached"), 0);
}

#[tokio::test]
async fn certificates_are_checked() {
    let test = "certificates_are_checked";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let unknown_issuer = Kubectl {
        server: Some(cluster.url().to_owned()),
        token: Some("admin-token".to_owned()),
        ..Kubectl::default()
    };
    let other_name = Kubectl {
        tls_server_name: Some("another.test".to_owned()),
        ..admin(cluster)
    };
    for kubectl in [unknown_issuer, other_name] {
        let refused = ask(&kubectl).await.expect_err("a certificate of nobody");
        assert!(
            matches!(refused, ClusterError::Unreachable { .. }),
            "{refused}"
        );
        assert!(refused.to_string().contains("certificate"), "{refused}");
    }
}

#[tokio::test]
async fn a_token_nobody_knows_and_a_user_without_rights_are_told_apart() {
    let test = "a_token_nobody_knows_and_a_user_without_rights_are_told_apart";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let refused = ask(&with_token(cluster, "nonsense")).await;
    let refused = refused.expect_err("nobody");
    assert!(
        matches!(refused, ClusterError::Unauthorized { .. }),
        "{refused}"
    );
    let impersonated = Kubectl {
        impersonate: Some("ann".to_owned()),
        impersonate_groups: vec!["guests".to_owned()],
        ..admin(cluster)
    };
    let refused = ask(&impersonated).await.expect_err("no rights");
    assert!(refused.is_forbidden(), "{refused}");
    assert!(refused.to_string().contains("\"ann\""), "{refused}");
    let master = Kubectl {
        impersonate_groups: vec!["system:masters".to_owned()],
        ..impersonated
    };
    assert_eq!(ask(&master).await.expect("reached"), 0);
}

#[tokio::test]
async fn the_same_kubeconfig_as_kubectl_reads() {
    let test = "the_same_kubeconfig_as_kubectl_reads";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let world = World::new(cluster, "access-kubectl", &[]).await;
    let pod = crate::world::operator_pod("access-kubectl", "op-1", "op", "1");
    world.kubelet.pod(&pod, crate::world::ADDRESS).await;
    let asked = std::process::Command::new(cluster.programs().join("kubectl"))
        .args(["get", "pods", "-n", "access-kubectl", "-o", "name"])
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig(User::Admin))
        .output()
        .expect("kubectl runs");
    let listed = String::from_utf8_lossy(&asked.stdout);
    assert_eq!(listed.trim(), "pod/op-1");
    let reached = Reached::connect(&admin(cluster)).await.expect("a cluster");
    let found = reached
        .cds_pod(Some("access-kubectl"))
        .await
        .expect("a pod");
    assert_eq!(found.name.name, "op-1");
    assert_eq!(found.owner.as_deref(), Some("Deployment access-kubectl/op"));
}
