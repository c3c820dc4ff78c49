//! Following the discovery service, whatever becomes of it.

use std::collections::BTreeMap;

use stunner_cds::server::Scope;
use stunner_cds::{Backoff, CdsServer, Session};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::{Cds, Discovered};
use crate::SCOPE;
use crate::error::ClusterError;

/// Events that may wait for a slow reader before the connection does.
const WAITING: usize = 256;

/// What a watch tells.
#[derive(Debug, Clone)]
pub enum WatchEvent {
    /// All there is now, sorted by id; what is not in it is gone. It comes first, and again after every outage.
    List(Vec<Discovered>),
    /// New, or different from before.
    Changed(Box<Discovered>),
    /// The config of this id is gone.
    Deleted(String),
    /// The connection is lost, or could not be made. It is tried again; what was told stays until then.
    Down { why: String, hint: Option<String> },
}

/// A running watch. It ends when it is dropped.
#[derive(Debug)]
pub struct ConfigWatch {
    events: mpsc::Receiver<WatchEvent>,
    task: JoinHandle<()>,
}

impl Drop for ConfigWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ConfigWatch {
    pub(super) fn start(cds: Cds, scope: Scope, node: Option<String>) -> ConfigWatch {
        let (sender, events) = mpsc::channel(WAITING);
        let follower = Follower {
            cds,
            scope,
            node,
            sender,
        };
        ConfigWatch {
            events,
            task: tokio::spawn(async move {
                // Ends only when nobody listens.
                let _ = follower.run().await;
            }),
        }
    }

    /// The next event. A watch never ends by itself.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        self.events.recv().await
    }
}

struct Follower {
    cds: Cds,
    scope: Scope,
    node: Option<String>,
    sender: mpsc::Sender<WatchEvent>,
}

/// Nobody listens any more.
struct Unheard;

impl Follower {
    async fn run(&self) -> Result<(), Unheard> {
        let timing = &self.cds.options.timing;
        let mut backoff = Backoff::new(timing.backoff_first, timing.backoff_max);
        loop {
            let error = self.follow(&mut backoff).await?;
            self.tell(WatchEvent::Down {
                why: chain(&error),
                hint: error.hint(),
            })
            .await?;
            sleep(backoff.next(rand::random())).await;
        }
    }

    /// One connection, until it ends. One that gave the list was a good one: the next outage begins anew.
    async fn follow(&self, backoff: &mut Backoff) -> Result<ClusterError, Unheard> {
        // First the subscription, then the list: what changes in between comes as a frame. The other way round it
        // could be missed.
        let server = &self.cds.server;
        let opened = async {
            let (stream, pod) = self.cds.open().await?;
            let target = self.target(server);
            let session = Session::over(stream, server, &target, &self.cds.options)
                .await
                .map_err(|error| self.cds.explain(error, pod.as_ref()))?;
            let list = self.cds.list(&self.scope, self.node.as_deref()).await?;
            Ok::<_, ClusterError>((session, pod, list))
        };
        let (mut session, pod, list) = match opened.await {
            Ok(opened) => opened,
            Err(error) => return Ok(error),
        };
        backoff.reset();
        let mut told: BTreeMap<String, Discovered> = list
            .iter()
            .map(|found| (found.id.clone(), found.clone()))
            .collect();
        self.tell(WatchEvent::List(list)).await?;
        loop {
            let text = match session.next().await {
                Ok(text) => text,
                Err(error) => return Ok(self.cds.explain(error, pod.as_ref())),
            };
            let found = match Discovered::read(text) {
                Ok(found) => found,
                Err(why) => {
                    tracing::warn!(
                        scope = SCOPE,
                        "ignoring a frame of {}: {why}",
                        self.cds.url()
                    );
                    continue;
                }
            };
            if found.is_deletion() {
                if told.remove(&found.id).is_some() {
                    self.tell(WatchEvent::Deleted(found.id)).await?;
                }
            } else if told.get(&found.id) != Some(&found) {
                told.insert(found.id.clone(), found.clone());
                self.tell(WatchEvent::Changed(Box::new(found))).await?;
            }
        }
    }

    fn target(&self, server: &CdsServer) -> String {
        match &self.scope {
            Scope::All => server.list_target(None, true),
            Scope::Namespace(namespace) => server.list_target(Some(namespace), true),
            Scope::One(id) => server.config_target(id, self.node.as_deref(), true),
        }
    }

    async fn tell(&self, event: WatchEvent) -> Result<(), Unheard> {
        self.sender.send(event).await.map_err(|_| Unheard)
    }
}

/// The error and its causes on one line.
fn chain(error: &ClusterError) -> String {
    match error {
        ClusterError::Cds(error) => error.chain(),
        other => other.to_string(),
    }
}
