//! Objects of any kind, asked of an API server that is a few lines long.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};
use stunner_cluster::{Cluster, ClusterError, Kind, Kubectl, Objects, Selection};

use support::serve;

async fn objects(address: impl ToString) -> Objects {
    let kubectl = Kubectl {
        server: Some(format!("http://{}", address.to_string())),
        ..Kubectl::default()
    };
    let cluster = Cluster::connect(&kubectl).await.expect("a cluster");
    cluster.objects()
}

fn status(code: StatusCode, message: &str) -> Response {
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure",
        "code": code.as_u16(), "reason": "x", "message": message,
    });
    (code, body.to_string()).into_response()
}

fn gateways() -> Kind {
    Kind::new("gateway.networking.k8s.io", "v1", "Gateway", "gateways")
}

async fn everything(address: impl ToString) -> Result<Vec<Value>, ClusterError> {
    let objects = objects(address).await;
    let all = Selection::default();
    objects.list(&gateways(), None, all).await
}

/// Has one Service and refuses whatever else it is asked.
async fn one_service(request: Request) -> Response {
    let path = request.uri().path().to_owned();
    match (request.method(), path.as_str()) {
        (&Method::GET, "/api/v1/namespaces/ns/services/one") => {
            json!({ "metadata": { "name": "one" }, "spec": { "clusterIP": "10.0.0.1" } })
                .to_string()
                .into_response()
        }
        (&Method::DELETE, "/api/v1/namespaces/ns/services/one") => {
            let body = axum::body::to_bytes(request.into_body(), 4096).await;
            let params: Value = serde_json::from_slice(&body.expect("a body")).expect("JSON");
            assert_eq!(params["gracePeriodSeconds"], 0);
            json!({ "kind": "Status", "status": "Success" })
                .to_string()
                .into_response()
        }
        (&Method::POST, "/apis/gateway.networking.k8s.io/v1/namespaces/ns/gateways") => {
            status(StatusCode::CONFLICT, "already exists")
        }
        (&Method::GET, "/apis/gateway.networking.k8s.io/v1") => json!({
            "groupVersion": "gateway.networking.k8s.io/v1",
            "resources": [{ "name": "gateways", "singularName": "", "namespaced": true, "kind": "Gateway", "verbs": [] }],
        })
        .to_string()
        .into_response(),
        _ => status(StatusCode::NOT_FOUND, "not found"),
    }
}

#[tokio::test]
async fn objects_are_found_made_and_deleted() {
    let (_server, address) = serve(Router::new().fallback(one_service));
    let objects = objects(address).await;
    let services = Kind::of::<Service>();
    let one: Option<Service> = objects
        .get(&services, Some("ns"), "one")
        .await
        .expect("one");
    let spec = one.expect("a Service").spec.expect("a spec");
    assert_eq!(spec.cluster_ip.as_deref(), Some("10.0.0.1"));
    let none: Option<Value> = objects
        .get(&services, Some("ns"), "none")
        .await
        .expect("none");
    assert_eq!(none, None);
    for name in ["one", "none"] {
        let deleted = objects.delete_now(&services, Some("ns"), name).await;
        deleted.expect("gone, or never there");
    }
    let object = json!({ "metadata": { "name": "gw" } });
    let refused = objects.create(&gateways(), Some("ns"), &object).await;
    let refused = refused.expect_err("it exists");
    assert!(refused.is_refusal(), "{refused}");
    assert!(
        matches!(&refused, ClusterError::Refused { code: 409, .. }),
        "{refused}"
    );
    let version = "gateway.networking.k8s.io/v1";
    assert_eq!(objects.served(version).await.expect("a list"), ["gateways"]);
    assert!(objects.served("x/v1").await.expect("none").is_empty());
}

#[tokio::test]
async fn a_kind_that_is_not_served_is_told_as_one() {
    let (_server, address) = serve(Router::new().fallback(one_service));
    let refused = everything(address).await.expect_err("no such kind");
    assert!(refused.is_not_found());
    assert_eq!(
        refused.to_string(),
        "gateways.gateway.networking.k8s.io not found"
    );
    assert!(refused.hint().expect("a hint").contains("CRDs"));
}

#[tokio::test]
async fn lists_are_read_page_by_page_until_there_is_enough() {
    let page = async |request: Request| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let (name, next) = match query.contains("continue=more") {
            true => ("b", ""),
            false => ("a", "more"),
        };
        json!({ "metadata": { "continue": next }, "items": [{ "metadata": { "name": name } }] })
            .to_string()
    };
    let (_server, address) = serve(Router::new().fallback(page));
    let objects = objects(address).await;
    let names = async |selection| -> Vec<String> {
        let list: Vec<Value> = objects
            .list(&gateways(), None, selection)
            .await
            .expect("a list");
        let name = |it: &Value| {
            it["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        list.iter().map(name).collect()
    };
    assert_eq!(names(Selection::default()).await, ["a", "b"]);
    assert_eq!(names(Selection::at_most(1)).await, ["a"]);
}

#[tokio::test]
async fn an_empty_list_may_be_null_and_what_is_no_list_is_told_without_its_text() {
    let (_server, address) = serve(Router::new().fallback(async || r#"{"items":null}"#));
    assert!(everything(address).await.expect("a list").is_empty());
    let (_server, address) = serve(Router::new().fallback(async || r#"{"items":"hunter2"}"#));
    let refused = everything(address).await.expect_err("no list");
    assert!(
        matches!(refused, ClusterError::Malformed { .. }),
        "{refused}"
    );
    assert!(!refused.to_string().contains("hunter2"), "{refused}");
}

#[tokio::test]
async fn a_silent_api_server_is_not_waited_for_longer_than_was_said() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let silent = silent.expect("a port");
    let address = silent.local_addr().expect("an address");
    let objects = objects(address).await.within(Duration::from_millis(50));
    let refused = objects.delete_now(&gateways(), Some("ns"), "gw").await;
    let refused = refused.expect_err("silence");
    assert_eq!(
        refused.to_string(),
        "the API server cannot be reached: no answer within 50ms"
    );
    // It may have been deleted all the same.
    assert!(!refused.is_refusal());
}

#[tokio::test]
async fn an_api_server_that_is_busy_for_a_moment_is_asked_again() {
    let asked = Arc::new(AtomicU32::new(0));
    let busy_once = {
        let asked = Arc::clone(&asked);
        async move || match asked.fetch_add(1, Ordering::SeqCst) {
            0 => status(StatusCode::TOO_MANY_REQUESTS, "later"),
            _ => r#"{"items":[]}"#.into_response(),
        }
    };
    let (_server, address) = serve(Router::new().fallback(busy_once));
    assert!(everything(address).await.expect("a list").is_empty());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// It may have been obeyed before something behind it failed.
#[tokio::test]
async fn what_changes_something_is_not_asked_for_twice() {
    let asked = Arc::new(AtomicU32::new(0));
    let failing = {
        let asked = Arc::clone(&asked);
        async move || {
            asked.fetch_add(1, Ordering::SeqCst);
            status(StatusCode::GATEWAY_TIMEOUT, "later")
        }
    };
    let (_server, address) = serve(Router::new().fallback(failing));
    let object = json!({ "metadata": { "name": "gw" } });
    let objects = objects(address).await;
    let refused = objects.create(&gateways(), Some("ns"), &object).await;
    assert!(!refused.expect_err("no answer").is_refusal());
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}
