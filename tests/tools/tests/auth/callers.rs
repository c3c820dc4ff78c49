//! Who may ask, how often, and from which pages.

use crate::process::{Authd, config};

const PATH: &str = "/ice?service=turn";

/// A service over a file, and the folder with it.
fn authd(arguments: &[&str]) -> (Authd, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("gateway.json");
    std::fs::write(&path, config("ns/gw", "192.0.2.1")).expect("write");
    let path = path.display().to_string();
    let arguments: Vec<&str> = ["--config", &path]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    (Authd::start(&arguments), dir)
}

fn has(head: &str, line: &str) -> bool {
    head.lines().any(|found| found.eq_ignore_ascii_case(line))
}

#[test]
fn callers_show_a_token_that_can_be_exchanged_while_the_service_runs() {
    let tokens = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(tokens.path(), "first\n").expect("write");
    let (authd, _dir) = authd(&["--token-file", &tokens.path().display().to_string()]);
    let status = |token: &str| authd.ask("GET", PATH, &[("Authorization", token)]).status;
    let refused = authd.ask("GET", PATH, &[]);
    assert_eq!(refused.status, 401);
    assert!(
        has(&refused.head, "WWW-Authenticate: Bearer"),
        "{}",
        refused.head
    );
    assert_eq!(
        (status("Bearer first"), status("Bearer second")),
        (200, 401)
    );
    std::fs::write(tokens.path(), "second\n").expect("write");
    assert_eq!(
        (status("Bearer first"), status("Bearer second")),
        (401, 200)
    );
    assert!(!authd.log().contains("second"), "{}", authd.log());
}

#[test]
fn a_caller_who_asks_too_often_is_told_to_wait() {
    let (authd, _dir) = authd(&["--rate-limit", "2"]);
    let answers: Vec<_> = (0..5).map(|_| authd.get(PATH)).collect();
    let refused = answers.iter().find(|answer| answer.status == 429);
    let refused = refused.expect("a refusal");
    assert!(has(&refused.head, "Retry-After: 1"), "{}", refused.head);
    assert!(answers.iter().take(2).all(|answer| answer.status == 200));
    assert_eq!(authd.get("/readyz").status, 200, "probes are not counted");
}

#[test]
fn pages_of_named_origins_may_read_answers() {
    let origins = [
        "--cors-origin",
        "https://app.example",
        "--cors-origin=http://localhost:3000",
    ];
    let (authd, _dir) = authd(&origins);
    let asks = [
        ("Origin", "https://app.example"),
        ("Access-Control-Request-Method", "GET"),
        ("Access-Control-Request-Headers", "authorization"),
    ];
    let preflight = authd.ask("OPTIONS", PATH, &asks);
    assert_eq!(preflight.status, 204);
    assert!(
        has(
            &preflight.head,
            "Access-Control-Allow-Origin: https://app.example"
        ),
        "{}",
        preflight.head
    );
    let local = authd.ask("GET", PATH, &[("Origin", "http://localhost:3000")]);
    assert!(
        has(
            &local.head,
            "Access-Control-Allow-Origin: http://localhost:3000"
        ),
        "{}",
        local.head
    );
    let stranger = authd.ask("GET", PATH, &[("Origin", "https://evil.example")]);
    let head = stranger.head.to_ascii_lowercase();
    assert!(!head.contains("access-control-allow-origin"), "{head}");
}
