//! Background resolution of the names of STRICT_DNS clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

/// How often every name is asked for again.
const REFRESH: Duration = Duration::from_secs(5);
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(4);

/// The newest answer for each name. A name that failed keeps its last answer.
pub type Answers = BTreeMap<String, BTreeSet<IpAddr>>;

/// Resolves names until dropped.
#[derive(Debug)]
pub struct Resolver {
    names: watch::Sender<BTreeSet<String>>,
}

impl Resolver {
    /// Starts the task. Whenever the answers differ from before, they are sent whole.
    pub fn start() -> (Self, mpsc::Receiver<Answers>) {
        let (names, wanted) = watch::channel(BTreeSet::new());
        let (answers, changed) = mpsc::channel(1);
        tokio::spawn(resolve_forever(wanted, answers));
        (Self { names }, changed)
    }

    /// Sets the names to resolve; new ones are asked for at once.
    pub fn set_names(&self, names: BTreeSet<String>) {
        self.names.send_if_modified(|old| {
            let changed = *old != names;
            *old = names;
            changed
        });
    }
}

async fn resolve_forever(
    mut wanted: watch::Receiver<BTreeSet<String>>,
    answers: mpsc::Sender<Answers>,
) {
    let mut known = Answers::new();
    let mut ticks = interval(REFRESH);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() { return },
            _ = ticks.tick() => {}
            () = answers.closed() => return,
        }
        let names = wanted.borrow_and_update().clone();
        let mut next: Answers = known
            .iter()
            .filter(|(name, _)| names.contains(*name))
            .map(clone_pair)
            .collect();
        for (name, addresses) in resolve_all(names).await {
            next.insert(name, addresses);
        }
        if next != known {
            known = next.clone();
            if answers.send(next).await.is_err() {
                return;
            }
        }
    }
}

fn clone_pair<K: Clone, V: Clone>((key, value): (&K, &V)) -> (K, V) {
    (key.clone(), value.clone())
}

/// Asks for all names at once; those that fail are left out and logged.
async fn resolve_all(names: BTreeSet<String>) -> Answers {
    let mut asked = tokio::task::JoinSet::new();
    for name in names {
        asked.spawn(async move {
            let started = Instant::now();
            let answer = timeout(PATIENCE, resolve(&name)).await;
            match answer {
                Ok(Ok(addresses)) => Some((name, addresses)),
                Ok(Err(error)) => {
                    tracing::warn!(
                        scope = "dns-resolver",
                        "cannot resolve `{name}`, keeping its last answer: {error}"
                    );
                    None
                }
                Err(_) => {
                    let waited = started.elapsed().as_secs();
                    tracing::warn!(
                        scope = "dns-resolver",
                        "no answer for `{name}` after {waited} s, keeping the last one"
                    );
                    None
                }
            }
        });
    }
    asked.join_all().await.into_iter().flatten().collect()
}

async fn resolve(name: &str) -> std::io::Result<BTreeSet<IpAddr>> {
    let addresses = tokio::net::lookup_host((name, 0)).await?;
    Ok(addresses
        .map(|address| address.ip().to_canonical())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn resolves_new_names_at_once_and_forgets_old_ones() {
        let (resolver, mut changed) = Resolver::start();
        resolver.set_names(BTreeSet::from(["localhost".to_owned()]));
        let answers = timeout(PATIENCE, changed.recv()).await.unwrap().unwrap();
        assert!(answers["localhost"].iter().all(IpAddr::is_loopback));
        resolver.set_names(BTreeSet::new());
        let answers = timeout(PATIENCE, changed.recv()).await.unwrap().unwrap();
        assert!(answers.is_empty());
    }

    #[tokio::test]
    async fn a_name_that_fails_hides_no_other() {
        let names = ["localhost", "no-such-name.invalid"].map(str::to_owned);
        let answers = resolve_all(BTreeSet::from(names)).await;
        assert_eq!(answers.keys().collect::<Vec<_>>(), ["localhost"]);
    }
}
