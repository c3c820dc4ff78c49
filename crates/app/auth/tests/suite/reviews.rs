//! Callers who show the token of a ServiceAccount, and an API server that knows some of them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use stunner_api::NamespacedName;
use stunner_auth::answer::Gateways;
use stunner_auth::http::{Access, Accounts, Reviewer};

use crate::service::{ask, config, service, settings};

/// An API server that knows the tokens `app` and `web` of ServiceAccounts in namespace `shop`, and one of a person.
fn api_server(reviews: Arc<AtomicU32>) -> Client {
    let answer = move |request: Request<Body>| {
        reviews.fetch_add(1, Ordering::Relaxed);
        async move {
            assert_eq!(
                request.uri().path(),
                "/apis/authentication.k8s.io/v1/tokenreviews"
            );
            let body = request.into_body().collect_bytes().await.expect("a body");
            let mut review: Value = serde_json::from_slice(&body).expect("JSON");
            let user = match review["spec"]["token"].as_str() {
                Some(name @ ("app" | "web")) => Some(format!("system:serviceaccount:shop:{name}")),
                Some("person") => Some("ann".to_owned()),
                _ => None,
            };
            review["status"] = json!({
                "authenticated": user.is_some(),
                "user": {"username": user},
                "audiences": review["spec"]["audiences"],
            });
            Ok::<_, Infallible>(Response::new(Body::from(review.to_string().into_bytes())))
        }
    };
    Client::new(tower::service_fn(answer), "default")
}

#[tokio::test(start_paused = true)]
async fn the_api_server_says_whose_a_token_is() {
    let reviews = Arc::new(AtomicU32::new(0));
    let accounts = Accounts::These([NamespacedName::new("shop", "app")].into());
    let client = api_server(Arc::clone(&reviews));
    let text = "{version: v1, admin: {name: ns/gw}, auth: {type: static, credentials: {username: u, password: p}}, \
                listeners: [{name: ns/gw/udp, public_address: 192.0.2.1}]}";
    let mut service = service(Gateways::from_iter([config(text)]), settings(None));
    service.access = Access {
        token_file: None,
        reviewer: Some(Reviewer::new(client, vec!["turn".to_owned()], accounts)),
    };
    let router = service.router();
    for (token, status) in [
        ("app", 200),
        ("web", 403),
        ("person", 401),
        ("unknown", 401),
    ] {
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", authorization.as_str())];
        let answer = ask(&router, "GET /?service=turn", &headers).await;
        assert_eq!(answer.status.as_u16(), status, "{token}");
    }
    assert_eq!(ask(&router, "GET /?service=turn", &[]).await.status, 401);
    // What was said of a token is remembered, of a bad one for a moment only.
    let again = async |token: &str, status: u16| {
        let before = reviews.load(Ordering::Relaxed);
        let headers = [("authorization", token)];
        let answer = ask(&router, "GET /ice?service=turn", &headers).await;
        assert_eq!(answer.status.as_u16(), status, "{token}");
        reviews.load(Ordering::Relaxed) - before
    };
    assert_eq!(again("Bearer app", 200).await, 0);
    assert_eq!(again("Bearer unknown", 401).await, 0);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(again("Bearer app", 200).await, 0);
    assert_eq!(again("Bearer unknown", 401).await, 1);
}

#[tokio::test]
async fn an_api_server_that_fails_is_no_reason_to_let_anybody_in() {
    let down = tower::service_fn(|_: Request<Body>| async {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = axum::http::StatusCode::SERVICE_UNAVAILABLE;
        Ok::<_, Infallible>(response)
    });
    let mut service = service(Gateways::default(), settings(None));
    let client = Client::new(down, "default");
    service.access = Access {
        token_file: None,
        reviewer: Some(Reviewer::new(client, Vec::new(), Accounts::Any)),
    };
    let router = service.router();
    let answer = ask(
        &router,
        "GET /?service=turn",
        &[("authorization", "Bearer app")],
    )
    .await;
    assert_eq!(answer.status, 503);
}
