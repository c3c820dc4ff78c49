//! Who may ask, how often, and from which pages.

use stunner_auth::answer::Gateways;
use stunner_auth::http::{Access, Cors, RateLimit, Service, TokenFile};
use stunner_auth::source::Teller;

use crate::service::{ask, ask_from, config, service, settings};

const LINE: &str = "GET /ice?service=turn";

fn a_service() -> Service {
    let text = "{version: v1, admin: {name: ns/gw}, auth: {type: static, credentials: {username: u, password: p}}, \
                listeners: [{name: ns/gw/udp, public_address: 192.0.2.1}]}";
    service([config(text)].into_iter().collect(), settings(None))
}

#[tokio::test]
async fn a_token_is_asked_for_where_there_is_a_token_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("token");
    std::fs::write(&path, "open-sesame\n").expect("write");
    let mut service = a_service();
    service.access = Access {
        token_file: Some(TokenFile::open(&path).expect("tokens")),
        reviewer: None,
    };
    let router = service.router();
    for (header, status, challenge) in [
        (None, 401, Some("Bearer")),
        (Some("open-sesame"), 401, Some("Bearer")),
        (Some("Basic open-sesame"), 401, Some("Bearer")),
        (Some("Bearer "), 401, Some("Bearer")),
        (
            Some("Bearer wrong"),
            401,
            Some("Bearer error=\"invalid_token\""),
        ),
        (Some("Bearer open-sesame"), 200, None),
        (Some("bearer  open-sesame"), 200, None),
    ] {
        let headers: Vec<_> = header
            .map(|value| ("authorization", value))
            .into_iter()
            .collect();
        let answer = ask(&router, LINE, &headers).await;
        assert_eq!(answer.status.as_u16(), status, "{header:?}");
        assert_eq!(answer.header("www-authenticate"), challenge, "{header:?}");
        assert!(!answer.body.contains("sesame"));
    }
    // A caller without a token learns nothing by the way in which a request is wrong.
    assert_eq!(
        ask(&router, "GET /?service=turn&ttl=x", &[]).await.status,
        401
    );
    for open in ["GET /healthz", "GET /readyz", "GET /openapi.json"] {
        assert_eq!(ask(&router, open, &[]).await.status, 200, "{open}");
    }
}

#[tokio::test]
async fn too_many_requests_of_one_address_are_refused_and_others_are_not() {
    let mut service = a_service();
    service.rate = RateLimit::per_second(2);
    let router = service.router();
    let from = async |source: &str| ask_from(&router, source, LINE, &[]).await;
    assert_eq!(from("192.0.2.1:1").await.status, 200);
    assert_eq!(from("192.0.2.1:2").await.status, 200, "ports do not count");
    let refused = from("192.0.2.1:3").await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(from("192.0.2.77:1").await.status, 200);
    let probe = ask_from(&router, "192.0.2.1:4", "GET /healthz", &[]).await;
    assert_eq!(probe.status, 200, "probes are not limited");
}

#[tokio::test]
async fn no_page_may_read_answers_unless_its_origin_is_named() {
    const ORIGIN: (&str, &str) = ("origin", "https://app.example");
    const ASKS: (&str, &str) = ("access-control-request-method", "GET");
    let with = |origins: &[&str]| {
        let mut service = a_service();
        service.cors = Cors::new(origins.iter().copied()).expect("origins");
        service.router()
    };
    let allowed = |answer: &crate::service::Answer| {
        let header = answer.header("access-control-allow-origin");
        header.map(ToOwned::to_owned)
    };

    let closed = with(&[]);
    let answer = ask(&closed, LINE, &[ORIGIN]).await;
    assert_eq!((answer.status.as_u16(), allowed(&answer)), (200, None));
    let preflight = ask(&closed, "OPTIONS /ice", &[ORIGIN, ASKS]).await;
    assert_eq!(
        (preflight.status.as_u16(), allowed(&preflight)),
        (405, None)
    );

    let named = with(&["https://other.example", "https://app.example"]);
    let answer = ask(&named, LINE, &[ORIGIN]).await;
    assert_eq!(allowed(&answer).as_deref(), Some("https://app.example"));
    assert_eq!(answer.header("vary"), Some("Origin"));
    let refused = ask(&named, "GET /ice", &[ORIGIN]).await;
    assert_eq!(refused.status, 400);
    assert_eq!(
        allowed(&refused).as_deref(),
        Some("https://app.example"),
        "a page may read why"
    );
    for stranger in [
        "https://evil.example",
        "http://app.example",
        "https://app.example:444",
        "null",
    ] {
        let answer = ask(&named, LINE, &[("origin", stranger)]).await;
        assert_eq!(allowed(&answer), None, "{stranger}");
        assert_eq!(answer.header("vary"), Some("Origin"));
    }
    let preflight = ask(&named, "OPTIONS /ice?service=turn", &[ORIGIN, ASKS]).await;
    assert_eq!(preflight.status, 204);
    assert_eq!(allowed(&preflight).as_deref(), Some("https://app.example"));
    assert_eq!(
        preflight.header("access-control-allow-methods"),
        Some("GET")
    );
    assert_eq!(
        preflight.header("access-control-allow-headers"),
        Some("Authorization")
    );
    let bare = ask(&named, "OPTIONS /ice", &[]).await;
    assert_eq!(bare.status, 405, "no preflight");

    let any = with(&["*"]);
    let answer = ask(&any, LINE, &[ORIGIN]).await;
    assert_eq!(allowed(&answer).as_deref(), Some("*"));
}

#[tokio::test]
async fn the_service_is_alive_from_the_start_and_ready_once_its_source_spoke() {
    let (teller, known) = Teller::new();
    let router = Service::open(known, settings(None)).router();
    assert_eq!(ask(&router, "GET /healthz", &[]).await.status, 200);
    assert_eq!(ask(&router, "GET /readyz", &[]).await.status, 503);
    assert_eq!(ask(&router, LINE, &[]).await.status, 500);
    // A cluster without gateways is no reason to restart the pod.
    teller.tell(Gateways::default());
    assert_eq!(ask(&router, "GET /readyz", &[]).await.status, 200);
    assert_eq!(ask(&router, LINE, &[]).await.status, 500);
    assert_eq!(ask(&router, "POST /healthz", &[]).await.status, 405);
}
