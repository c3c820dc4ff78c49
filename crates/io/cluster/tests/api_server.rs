//! What an API server answers, as errors that say what to do.

mod support;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use serde_json::json;
use stunner_api::NamespacedName;
use stunner_cluster::{Cds, CdsFlags, Cluster, ClusterError, Kubectl, Scope};

use support::serve;

fn at(address: impl ToString) -> Kubectl {
    Kubectl {
        server: Some(format!("http://{}", address.to_string())),
        ..Kubectl::default()
    }
}

/// Answers everything with this status.
fn refusing(code: StatusCode, reason: &'static str, message: &'static str) -> Router {
    Router::new().fallback(async move || {
        let body = json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure",
            "code": code.as_u16(), "reason": reason, "message": message,
        });
        (code, body.to_string())
    })
}

#[tokio::test]
async fn a_refusal_names_the_right_that_is_missing() {
    let said = "pods is forbidden: User \"ann\" cannot list resource \"pods\"";
    let (_server, address) = serve(refusing(StatusCode::FORBIDDEN, "Forbidden", said));
    let cluster = Cluster::connect(&at(address)).await.expect("a cluster");
    let everywhere = cluster.cds_pod(None).await.expect_err("forbidden");
    assert!(everywhere.is_forbidden());
    assert_eq!(
        everywhere.to_string(),
        format!("not permitted to list pods in the whole cluster: {said}")
    );
    let hint = everywhere.hint().expect("a hint");
    assert!(
        hint.contains("kubectl create clusterrole NAME --verb=list --resource=pods"),
        "{hint}"
    );
    let scope = Scope::Namespace("stunner".to_owned());
    let there = cluster.dataplane_pods(&scope).await.expect_err("forbidden");
    let hint = there.hint().expect("a hint");
    assert!(
        hint.contains("kubectl create role NAME -n stunner --verb=list --resource=pods"),
        "{hint}"
    );
    let pod = NamespacedName::new("stunner", "gw-1");
    let forward = cluster.forward(&pod, 8087).await.expect_err("forbidden");
    assert!(
        matches!(
            &forward,
            ClusterError::Forbidden { verb: "get,create", resource, namespace: Some(namespace), .. }
                if resource == "pods/portforward" && namespace == "stunner"
        ),
        "{forward}"
    );
    assert_eq!(
        forward.to_string(),
        format!("not permitted to get and create pods/portforward in namespace `stunner`: {said}")
    );
}

#[tokio::test]
async fn unknown_credentials_and_missing_pods_are_told() {
    let (_server, address) = serve(refusing(
        StatusCode::UNAUTHORIZED,
        "Unauthorized",
        "Unauthorized",
    ));
    let cluster = Cluster::connect(&at(address)).await.expect("a cluster");
    let refused = cluster.auth_pod(None).await.expect_err("unknown");
    assert!(
        matches!(refused, ClusterError::Unauthorized { .. }),
        "{refused}"
    );
    assert!(refused.hint().expect("a hint").contains("--token"));

    let (_server, address) = serve(refusing(StatusCode::NOT_FOUND, "NotFound", "not found"));
    let cluster = Cluster::connect(&at(address)).await.expect("a cluster");
    let pod = NamespacedName::new("stunner", "gone");
    let refused = cluster.pod(&pod).await.expect_err("gone");
    assert_eq!(refused.to_string(), "pod stunner/gone not found");
    assert!(refused.is_not_found());
}

#[tokio::test]
async fn a_pod_whose_node_is_gone_cannot_be_reached_and_says_nothing_about_what_it_serves() {
    let said = "nodes \"worker-2\" not found";
    let (_server, address) = serve(refusing(StatusCode::NOT_FOUND, "NotFound", said));
    let cluster = Cluster::connect(&at(address)).await.expect("a cluster");
    let pod = NamespacedName::new("stunner", "gw-1");
    let refused = cluster.forward(&pod, 8087).await.expect_err("gone");
    assert!(!refused.is_not_found());
    assert_eq!(
        refused.to_string(),
        format!("pod stunner/gw-1 cannot be reached: {said}")
    );
}

/// An API server that answers is not looked for elsewhere.
#[tokio::test]
async fn an_api_server_that_cannot_do_it_now_is_one_that_runs() {
    for (status, hint) in [
        (StatusCode::TOO_MANY_REQUESTS, "too many"),
        (StatusCode::INTERNAL_SERVER_ERROR, "readyz"),
        (StatusCode::SERVICE_UNAVAILABLE, "readyz"),
    ] {
        let said = "etcdserver: request timed out";
        let (_server, address) = serve(refusing(status, "InternalError", said));
        let cluster = Cluster::connect(&at(address)).await.expect("a cluster");
        let refused = cluster.cds_pod(None).await.expect_err("no answer");
        assert_eq!(
            refused.to_string(),
            format!(
                "the API server cannot do it now ({}): {said}",
                status.as_u16()
            )
        );
        assert!(refused.hint().expect("a hint").contains(hint), "{refused}");
    }
    let (_server, address) = serve(refusing(StatusCode::BAD_REQUEST, "BadRequest", "no"));
    let cluster = Cluster::connect(&at(address)).await.expect("a cluster");
    let refused = cluster.cds_pod(None).await.expect_err("a refusal");
    assert_eq!(refused.to_string(), "the API server refused: no");
    assert!(refused.hint().is_some() && refused.is_refusal());
}

#[tokio::test]
async fn an_api_server_that_is_not_there_is_told() {
    let cluster = Cluster::connect(&at("127.0.0.1:1")).await;
    let cluster = cluster.expect("nothing is asked yet");
    let refused = cluster.cds_pod(None).await.expect_err("nobody");
    assert!(
        refused
            .to_string()
            .starts_with("the API server cannot be reached: "),
        "{refused}"
    );
    assert!(refused.hint().is_some());
}

#[tokio::test]
async fn the_request_timeout_holds() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let silent = silent.expect("a port");
    let address = silent.local_addr().expect("an address");
    let kubectl = Kubectl {
        request_timeout: Some(std::time::Duration::from_millis(100)),
        ..at(address)
    };
    let cluster = Cluster::connect(&kubectl).await.expect("a cluster");
    let refused = cluster.cds_pod(None).await.expect_err("silence");
    assert_eq!(
        refused.to_string(),
        "the API server cannot be reached: no answer within 100ms"
    );
}

#[tokio::test]
async fn pods_of_several_pages_are_all_found() {
    let list = async |request: Request| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        assert!(query.contains("labelSelector=app%3Dstunner"), "{query}");
        let (name, next) = match query.contains("continue=more") {
            true => ("a", ""),
            false => ("b", "more"),
        };
        json!({
            "apiVersion": "v1", "kind": "PodList", "metadata": { "continue": next, "resourceVersion": "1" },
            "items": [{ "metadata": { "name": name, "namespace": "stunner" } }],
        })
        .to_string()
    };
    let (_server, address) = serve(Router::new().fallback(list));
    let cluster = Cluster::connect(&at(address)).await.expect("a cluster");
    let pods = cluster.dataplane_pods(&Scope::All).await.expect("pods");
    let names: Vec<String> = pods.iter().map(|pod| pod.name.to_string()).collect();
    assert_eq!(names, ["stunner/a", "stunner/b"]);
}

#[tokio::test]
async fn an_address_makes_a_cluster_unnecessary() {
    let flags = CdsFlags {
        address: Some("10.0.0.1".to_owned()),
        ..CdsFlags::default()
    };
    let cds = Cds::find(&Kubectl::default(), &flags)
        .await
        .expect("a service");
    assert_eq!(cds.url(), "http://10.0.0.1:13478");
    let refused = Cds::find(&Kubectl::default(), &CdsFlags::default()).await;
    assert!(matches!(refused, Err(ClusterError::NoKubeconfig)));
}

/// The credentials come from a program, as those of the big clouds do.
#[tokio::test]
async fn a_program_that_gives_no_credentials_is_told_without_what_it_wrote() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config");
    let connect = async |command: &str, script: &str| {
        let kubeconfig = json!({
            "current-context": "c",
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
            "clusters": [{ "name": "c", "cluster": { "server": "http://127.0.0.1:1" } }],
            "users": [{ "name": "u", "user": { "exec": {
                "apiVersion": "client.authentication.k8s.io/v1", "command": command, "args": ["-c", script],
                "env": [{ "name": "HUSH", "value": "hunter2" }],
                "interactiveMode": "Never",
            } } }],
        });
        std::fs::write(&path, kubeconfig.to_string()).expect("written");
        let kubectl = Kubectl {
            kubeconfig: Some(path.clone()),
            ..Kubectl::default()
        };
        match Cluster::connect(&kubectl).await {
            Ok(cluster) => cluster.cds_pod(None).await.map(drop),
            Err(error) => Err(error),
        }
    };
    for (command, script, what) in [
        ("/no/such/program", "", "cannot be run"),
        (
            "sh",
            "echo hunter2; echo expired >&2; exit 3",
            "failed (exit status: 3): expired",
        ),
        ("sh", "echo hunter2: [", "gave none"),
    ] {
        let refused = connect(command, script).await.expect_err(what);
        let text = refused.to_string();
        assert!(text.contains(what), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
        assert!(refused.hint().expect("a hint").contains("--token"));
    }
}
