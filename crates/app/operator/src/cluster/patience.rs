//! Asking until there is an answer.

use std::future::Future;
use std::time::{Duration, Instant};

use super::Refusal;

const RETRY: Duration = Duration::from_millis(500);

/// Asks again and again until the API server has answered one way or the other. `what` completes "cannot …".
pub async fn patiently<T, F>(what: &str, ask: impl Fn() -> F) -> Result<T, Refusal>
where
    F: Future<Output = Result<T, Refusal>>,
{
    let began = Instant::now();
    let mut told = false;
    loop {
        match ask().await {
            Err(refusal) if !refusal.is_definite(began.elapsed()) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!(scope = "operator", "cannot {what}: {refusal}; trying again");
                }
                tokio::time::sleep(RETRY).await;
            }
            answer => return answer,
        }
    }
}
