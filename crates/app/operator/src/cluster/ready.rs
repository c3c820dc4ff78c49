//! Whether the API server has started up.

use std::time::Duration;

use kube::Client;

use super::Refusal;

const RETRY: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until the API server says that it is ready. Before that it knows neither all kinds nor all roles, and its
/// answers would be taken for those of a cluster without them. Where we may not ask, we do not wait.
pub async fn wait_until_ready(client: &Client) {
    let mut told = None;
    loop {
        let refusal = match tokio::time::timeout(PATIENCE, ask(client)).await {
            Ok(Ok(())) => return,
            Ok(Err(Refusal::Forbidden(_) | Refusal::NotFound(_))) => return,
            Ok(Err(refusal)) => refusal,
            Err(_) => Refusal::Unreachable("no answer in time".to_owned()),
        };
        if told.as_ref() != Some(&refusal) {
            tracing::warn!(scope = "operator", "waiting for the API server: {refusal}");
            told = Some(refusal);
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn ask(client: &Client) -> Result<(), Refusal> {
    let other = |error: &dyn std::fmt::Display| Refusal::Other(error.to_string());
    let request = axum::http::Request::get("/readyz")
        .body(Vec::new())
        .map_err(|error| other(&error))?;
    let answer = client.request_text(request).await;
    answer.map(drop).map_err(|error| match Refusal::of(&error) {
        // It lists every one of its checks.
        Refusal::Unreachable(said) if said.contains("[+]") => {
            Refusal::Unreachable("it has not started up yet".to_owned())
        }
        refusal => refusal,
    })
}
