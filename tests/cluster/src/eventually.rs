//! Waiting for what a controller does in its own time.

use std::time::{Duration, Instant};

/// How long a controller may take for anything; reached only by tests that fail.
pub const PATIENCE: Duration = Duration::from_secs(60);

const INTERVAL: Duration = Duration::from_millis(20);

/// Polls `check` until it returns `Ok`, and returns that. Panics with the last `Err`, which tells what was there instead.
pub async fn eventually<T>(what: &str, check: impl AsyncFnMut() -> Result<T, String>) -> T {
    eventually_within(PATIENCE, what, check).await
}

pub async fn eventually_within<T>(
    patience: Duration,
    what: &str,
    mut check: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let deadline = Instant::now() + patience;
    loop {
        match check().await {
            Ok(found) => return found,
            Err(observed) if Instant::now() > deadline => {
                panic!("{what}: not within {patience:?}; last seen: {observed}")
            }
            Err(_) => tokio::time::sleep(INTERVAL).await,
        }
    }
}

/// Polls `check` for `duration` and panics as soon as it returns an `Err`: what holds must go on holding.
pub async fn stays(
    what: &str,
    duration: Duration,
    mut check: impl AsyncFnMut() -> Result<(), String>,
) {
    let deadline = Instant::now() + duration;
    while Instant::now() < deadline {
        if let Err(observed) = check().await {
            panic!("{what}: no longer holds; seen: {observed}");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
