//! Loading a config once, against recorded and hand-made answers.

mod support;

use std::error::Error;
use std::time::Duration;

use stunner_cds::{LoadError, Origin, Provenance, load_once};
use support::*;
use tokio::io::AsyncWriteExt;

/// The request line and headers that both the recorded head and ours must have.
fn essentials(head: &str) -> Vec<String> {
    head.lines()
        .filter(|line| line.starts_with("GET ") || line.to_lowercase().starts_with("host: "))
        .map(|line| line.to_lowercase())
        .collect()
}

#[tokio::test]
async fn the_request_is_that_of_the_go_client_and_its_recorded_answer_is_read() {
    for (node, recording) in [
        (None, "stunnerd-once.http"),
        (Some("node-a"), "stunnerd-once-node.http"),
    ] {
        let (listener, origin) = listen().await;
        let address = listener.local_addr().expect("address").to_string();
        let server = async {
            let mut stream = accept(&listener).await;
            let head = read_head(&mut stream).await;
            answer(&mut stream, "200 OK", &body("config-one.http")).await;
            head
        };
        let options = options();
        let (head, update) = tokio::join!(server, load_once(&origin, ID, node, &options));
        let recorded = fixture(recording).replace("127.0.0.1:13478", &address);
        assert_eq!(essentials(&head), essentials(&recorded));
        let update = update.expect("a config");
        assert_eq!(update.provenance, Provenance::Live);
        assert_eq!(update.config.admin.name, ID);
        assert_eq!(update.config.listeners.len(), 1);
    }
}

async fn refused_with(status: &'static str, body: String) -> LoadError {
    let (listener, origin) = listen().await;
    let server = async {
        let mut stream = accept(&listener).await;
        read_head(&mut stream).await;
        answer(&mut stream, status, &body).await;
    };
    let options = options();
    let (_, update) = tokio::join!(server, load_once(&origin, ID, None, &options));
    update.expect_err("refused")
}

#[tokio::test]
async fn an_unknown_config_is_an_error_with_the_servers_words_and_a_hint() {
    let error = refused_with("404 Not Found", body("config-unknown.http")).await;
    let text = error.to_string();
    assert!(text.contains("answered 404"), "{text}");
    assert!(text.contains("Config not found for ID"), "{text}");
    assert!(error.hint().expect("hint").contains("NAMESPACE/NAME"));
}

#[tokio::test]
async fn a_config_with_problems_is_an_error_that_holds_them_all() {
    let bad =
        r#"{"version":"v1","auth":{"type":"nonsense"},"listeners":[{"name":"a","protocol":"x"}]}"#;
    match refused_with("200 OK", bad.to_owned()).await {
        LoadError::Invalid { problems, .. } => assert!(problems.len() >= 2, "{problems:?}"),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn an_answer_over_16_mib_is_refused() {
    let error = refused_with("200 OK", " ".repeat(16 * 1024 * 1024 + 1)).await;
    assert!(error.to_string().contains("larger than 16 MiB"), "{error}");
}

#[tokio::test]
async fn a_server_that_talks_no_http_is_an_error() {
    let (listener, origin) = listen().await;
    let server = async {
        let mut stream = accept(&listener).await;
        stream
            .write_all(b"220 smtp ready\r\n")
            .await
            .expect("write");
        read_head(&mut stream).await;
    };
    let options = options();
    let (_, update) = tokio::join!(server, load_once(&origin, ID, None, &options));
    assert!(matches!(update, Err(LoadError::Http { .. })), "{update:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up_at_the_deadline() {
    let (listener, origin) = listen().await;
    let options = options();
    let started = tokio::time::Instant::now();
    let server = async {
        let mut stream = accept(&listener).await;
        // A byte every second keeps no deadline from passing.
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if stream.write_all(&[*byte]).await.is_err() {
                return;
            }
        }
    };
    let update = tokio::select! {
        update = load_once(&origin, ID, None, &options) => update,
        () = server => panic!("the server was not given up"),
    };
    assert!(
        matches!(update, Err(LoadError::Timeout { .. })),
        "{update:?}"
    );
    assert_eq!(
        started.elapsed().as_secs(),
        options.timing.request.as_secs()
    );
}

#[tokio::test]
async fn a_refused_connection_is_an_error_with_its_cause() {
    let (listener, origin) = listen().await;
    drop(listener);
    let error = load_once(&origin, ID, None, &options())
        .await
        .expect_err("nobody listens");
    assert!(
        error
            .to_string()
            .starts_with("cannot connect to `127.0.0.1:")
    );
    let cause = error.source().expect("cause").to_string();
    assert!(cause.contains("refused"), "{cause}");
}

#[tokio::test]
async fn ids_and_origins_that_cannot_work_are_refused_before_any_connection() {
    let (_listener, origin) = listen().await;
    let error = load_once(&origin, "noslash", None, &options()).await;
    assert_eq!(
        error.expect_err("id").to_string(),
        "invalid id `noslash` for a config discovery service"
    );
    let error = load_once(&Origin::Kubernetes, ID, None, &options()).await;
    assert_eq!(
        error.expect_err("k8s").to_string(),
        "origin `k8s` is not supported by this build: give --cds-server-address or an http:// origin"
    );
}

#[tokio::test]
async fn a_file_is_read_whatever_the_id() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("c.json");
    std::fs::write(&path, config(3478)).expect("write");
    let origin = Origin::parse(&format!("file://{}", path.display())).expect("origin");
    let update = load_once(&origin, "noslash", None, &options()).await;
    assert_eq!(port_of(&update.expect("a config")), 3478);
}
