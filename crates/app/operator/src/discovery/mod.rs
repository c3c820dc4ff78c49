//! What the cluster serves: CRDs come, go and change versions while we run.

mod query;
mod served;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::{Notify, watch};

pub use served::Served;

/// How often to look when nothing says that something changed.
const POLL: Duration = Duration::from_secs(10);
/// A CRD is served a moment after it was stored.
const SETTLE: Duration = Duration::from_millis(500);
const RETRY: Duration = Duration::from_secs(1);
/// How long something must be missing before it counts as gone.
const LOSS_PATIENCE: Duration = Duration::from_secs(30);

/// Follows what is served. The receiver has `None` until the API server has answered once.
pub fn follow(client: Client) -> watch::Receiver<Option<Served>> {
    let (sender, receiver) = watch::channel(None);
    tokio::spawn(async move {
        let changed = Arc::new(Notify::new());
        let crds = tokio::spawn(watch_crds(client.clone(), Arc::clone(&changed)));
        tokio::select! {
            () = look(client, &changed, &sender) => {}
            () = sender.closed() => {}
        }
        crds.abort();
    });
    receiver
}

async fn look(client: Client, changed: &Notify, sender: &watch::Sender<Option<Served>>) {
    let mut told = false;
    let mut missing_since = None;
    loop {
        match query::served(&client).await {
            Ok(served) => {
                told = false;
                let since = &mut missing_since;
                sender.send_if_modified(|current| take(current, served, since, Instant::now()));
                let _ = tokio::time::timeout(POLL, changed.notified()).await;
                tokio::time::sleep(SETTLE).await;
            }
            Err(refusal) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!(
                        scope = "operator",
                        "cannot ask the API server what it serves: {refusal}; trying again"
                    );
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Takes in what is served now. An API server that restarts says for a while that kinds are missing; to believe it would
/// take their routes away from gateways that serve.
fn take(
    current: &mut Option<Served>,
    served: Served,
    missing_since: &mut Option<Instant>,
    now: Instant,
) -> bool {
    let lacks = |current: &Served| served.lacks_something_of(current);
    if current.as_ref().is_some_and(lacks) {
        let since = *missing_since.get_or_insert(now);
        if now.saturating_duration_since(since) < LOSS_PATIENCE {
            return false;
        }
    }
    *missing_since = None;
    let is_new = current.as_ref() != Some(&served);
    if is_new {
        tracing::info!(scope = "operator", "the cluster serves {served}");
        *current = Some(served);
    }
    is_new
}

/// Speeds things up; where it is not permitted, polling finds the same.
async fn watch_crds(client: Client, changed: Arc<Notify>) {
    let crds: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client);
    let mut stream = std::pin::pin!(watcher::watcher(crds, watcher::Config::default()));
    while let Some(event) = stream.next().await {
        match event {
            Ok(watcher::Event::Apply(_) | watcher::Event::Delete(_) | watcher::Event::InitDone) => {
                changed.notify_one();
            }
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(
                    scope = "watch",
                    "cannot watch CustomResourceDefinitions: {error}"
                );
                tokio::time::sleep(POLL).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_counts_at_once_and_a_loss_after_a_while() {
        let none = Served::default();
        let some = Served {
            gateways: true,
            ..Served::default()
        };
        let start = Instant::now();
        let (mut current, mut since) = (None, None);
        assert!(take(&mut current, none.clone(), &mut since, start));
        assert!(take(&mut current, some.clone(), &mut since, start));
        assert!(!take(&mut current, none.clone(), &mut since, start));
        let later = start + LOSS_PATIENCE;
        assert!(
            !take(&mut current, some.clone(), &mut since, later),
            "it is back"
        );
        assert!(!take(&mut current, none.clone(), &mut since, later));
        assert!(take(&mut current, none, &mut since, later + LOSS_PATIENCE));
    }
}
