//! The OpenAPI document says what the service does.

use serde_json::Value;
use stunner_auth::answer::Gateways;
use stunner_auth::http::openapi;

use crate::service::{ask, service, settings};

#[tokio::test]
async fn the_document_is_served_as_it_is() {
    let router = service(Gateways::default(), settings(None)).router();
    let answer = ask(&router, "GET /openapi.json", &[]).await;
    let served: Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!(served, openapi(false, false));
    assert_eq!(served["openapi"], "3.0.3");
}

#[tokio::test]
async fn every_path_of_the_document_is_there() {
    let router = service(Gateways::default(), settings(None)).router();
    let document = openapi(true, true);
    let paths = document["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), 5);
    for (path, operations) in paths {
        let status = ask(&router, &format!("GET {path}"), &[])
            .await
            .status
            .as_u16();
        let said = &operations["get"]["responses"][status.to_string()];
        assert!(said.is_object(), "{path} answers {status}");
    }
}

#[test]
fn callers_are_told_of_tokens_only_where_they_need_one() {
    assert!(openapi(false, false)["components"]["securitySchemes"].is_null());
    let checked = openapi(true, false);
    for path in ["/", "/ice"] {
        let operation = &checked["paths"][path]["get"];
        assert!(operation["security"].is_array() && operation["responses"]["401"].is_object());
        assert!(operation["responses"]["429"].is_null());
    }
    assert!(checked["paths"]["/healthz"]["get"]["security"].is_null());
    assert!(openapi(false, true)["paths"]["/ice"]["get"]["responses"]["429"].is_object());
}
