use super::*;

async fn health(plane: Plane) -> (Running, SocketAddr) {
    start(health_router(Arc::new(plane)))
}

#[tokio::test]
async fn a_healthy_dataplane_is_live_and_ready() {
    let (_server, address) = health(Plane::default()).await;
    let live = get(address, "/live").await;
    assert_eq!((live.status, live.body.as_str()), (200, "{}\n"));
    assert!(
        live.head
            .contains("content-type: application/json; charset=utf-8"),
        "{}",
        live.head
    );
    let ready = get(address, "/ready").await;
    assert_eq!(
        (ready.status, ready.body.as_str()),
        (200, "{\"status\":200,\"message\":\"READY\"}\n")
    );
    assert_eq!(get(address, "/status").await.json()["allocationCount"], 4);
}

#[tokio::test]
async fn a_stuck_shard_fails_liveness_and_is_named() {
    let why = "shard 1 has not turned for 12 s";
    let (_server, address) = health(Plane {
        liveness: Err(why.into()),
        ..Plane::default()
    })
    .await;
    let live = get(address, "/live").await;
    assert_eq!(live.status, 503);
    assert_eq!(live.json(), json!({ "status": 503, "message": why }));
}

#[tokio::test]
async fn readiness_says_why_not() {
    let readiness = Readiness::NotReady {
        why: "draining, 4 allocations left".into(),
    };
    let (_server, address) = health(Plane {
        readiness,
        ..Plane::default()
    })
    .await;
    let ready = get(address, "/ready").await;
    assert_eq!(ready.status, 503);
    assert_eq!(
        ready.json(),
        json!({ "status": 503, "message": "draining, 4 allocations left" })
    );
}

#[tokio::test]
async fn any_method_will_do_and_other_paths_do_not() {
    let (_server, address) = health(Plane::default()).await;
    assert_eq!(
        request(address, "POST", "/live", &["Content-Length: 0"])
            .await
            .status,
        200
    );
    assert_eq!(request(address, "HEAD", "/ready", &[]).await.status, 200);
    assert_eq!(get(address, "/").await.status, 404);
}

#[tokio::test]
async fn metrics_are_at_their_path_only() {
    let (_server, address) = start(metrics_router("/metrics", Arc::new(Plane::default())));
    let answer = get(address, "/metrics").await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (200, "stunner_shards 2\n")
    );
    let content_type =
        "content-type: text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
    assert!(answer.head.contains(content_type), "{}", answer.head);
    assert_eq!(get(address, "/metrics?name=x").await.status, 200);
    assert_eq!(get(address, "/").await.status, 404);
    assert_eq!(get(address, "/metrics/more").await.status, 404);
}

#[tokio::test]
async fn the_default_path_answers_everything() {
    let (_server, address) = start(metrics_router("/", Arc::new(Plane::default())));
    assert_eq!(get(address, "/").await.status, 200);
    assert_eq!(get(address, "/metrics").await.status, 200);
}

#[tokio::test]
async fn a_configured_path_is_not_taken_for_a_pattern() {
    let (_server, address) = start(metrics_router("/{x}/{x}", Arc::new(Plane::default())));
    assert_eq!(get(address, "/a/b").await.status, 404);
}
