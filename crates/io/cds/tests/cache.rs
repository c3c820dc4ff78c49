//! The last good config on disk.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use stunner_cds::{ConfigCache, ConfigId, Options, Provenance, load_once, watch};
use support::*;

fn with_cache(dir: &Path) -> Options {
    Options {
        cache_dir: Some(dir.to_owned()),
        ..options()
    }
}

fn file_in(dir: &Path) -> std::path::PathBuf {
    ConfigCache::new(dir, &ConfigId::parse(ID).expect("id"))
        .path()
        .to_owned()
}

/// The cache is written by a thread of its own, after the update is out.
async fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..500 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

#[tokio::test]
async fn every_good_config_is_kept_private_and_as_it_was_received() {
    let dir = tempfile::tempdir().expect("tempdir");
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &with_cache(dir.path())).expect("watch");
    let mut socket = subscriber(&listener).await;
    let file = file_in(dir.path());
    for port in [1, 2] {
        push(&mut socket, &config(port)).await;
        next(&mut updates).await;
        eventually("stored", || {
            std::fs::read_to_string(&file).ok() == Some(config(port))
        })
        .await;
    }
    push(&mut socket, "{ bad").await;
    nothing_for(&mut updates, Duration::from_millis(100)).await;
    assert_eq!(std::fs::read_to_string(&file).ok(), Some(config(2)));
    let mode = std::fs::metadata(&file)
        .expect("metadata")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test(start_paused = true)]
async fn a_start_without_the_service_uses_the_cache_after_a_few_seconds() {
    let dir = tempfile::tempdir().expect("tempdir");
    std::fs::write(file_in(dir.path()), config(7)).expect("write");
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &with_cache(dir.path())).expect("watch");
    nothing_for(&mut updates, Duration::from_millis(2900)).await;
    let update = next(&mut updates).await;
    assert_eq!(
        (port_of(&update), update.provenance),
        (7, Provenance::Cached)
    );
    // The address is that of this pod, not of the one that wrote the file.
    assert_eq!(update.config.listeners[0].address_text, "10.1.2.3");

    // The service comes back: what it says is news only where it differs.
    let mut socket = subscriber(&listener).await;
    push(&mut socket, &config(7)).await;
    nothing_for(&mut updates, Duration::from_secs(1)).await;
    push(&mut socket, &config(8)).await;
    let update = next(&mut updates).await;
    assert_eq!((port_of(&update), update.provenance), (8, Provenance::Live));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_answers_in_time_makes_the_cache_unnecessary() {
    let dir = tempfile::tempdir().expect("tempdir");
    std::fs::write(file_in(dir.path()), config(7)).expect("write");
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &with_cache(dir.path())).expect("watch");
    let mut socket = subscriber(&listener).await;
    push(&mut socket, &config(8)).await;
    assert_eq!(port_of(&next(&mut updates).await), 8);
    tokio::spawn(keep_alive(socket));
    nothing_for(&mut updates, Duration::from_secs(10)).await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_at_start_is_an_answer_too() {
    let dir = tempfile::tempdir().expect("tempdir");
    std::fs::write(file_in(dir.path()), config(7)).expect("write");
    let (listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &with_cache(dir.path())).expect("watch");
    let mut socket = subscriber(&listener).await;
    let recorded = frames("watch-one.txt");
    let (_, deletion) = recorded
        .iter()
        .find(|(step, _)| step.contains("is deleted"))
        .expect("a deletion");
    push(&mut socket, deletion).await;
    tokio::spawn(keep_alive(socket));
    nothing_for(&mut updates, Duration::from_secs(10)).await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_cache_is_ignored() {
    let dir = tempfile::tempdir().expect("tempdir");
    std::fs::write(file_in(dir.path()), "{").expect("write");
    let (_listener, origin) = listen().await;
    let mut updates = watch(&origin, ID, None, &with_cache(dir.path())).expect("watch");
    nothing_for(&mut updates, Duration::from_secs(10)).await;
}

#[tokio::test]
async fn loading_once_falls_back_to_the_cache_only_when_nobody_answers() {
    let dir = tempfile::tempdir().expect("tempdir");
    let (listener, origin) = listen().await;
    let options = with_cache(dir.path());
    let serve = async |status: &str, body: &str| {
        let mut stream = accept(&listener).await;
        read_head(&mut stream).await;
        answer(&mut stream, status, body).await;
    };
    let text = config(5);
    let (_, update) = tokio::join!(
        serve("200 OK", &text),
        load_once(&origin, ID, None, &options)
    );
    assert_eq!(update.expect("a config").provenance, Provenance::Live);

    // A service that does not know the config has answered.
    let (_, update) = tokio::join!(
        serve("404 Not Found", "{}"),
        load_once(&origin, ID, None, &options)
    );
    update.expect_err("unknown");

    drop(listener);
    let update = load_once(&origin, ID, None, &options)
        .await
        .expect("cached");
    assert_eq!(
        (port_of(&update), update.provenance),
        (5, Provenance::Cached)
    );
}
