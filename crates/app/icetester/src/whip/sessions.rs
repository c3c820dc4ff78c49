//! The sessions that are open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::distr::{Alphanumeric, SampleString};
use stunner_peer::Session;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Too long to guess.
const ID_LENGTH: usize = 22;

#[derive(Debug)]
pub(super) struct Sessions {
    places: Arc<Semaphore>,
    by_id: Mutex<HashMap<String, Entry>>,
}

/// A session runs in a task of its own, which gives its place back.
#[derive(Debug)]
struct Entry {
    hang_up: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

/// A place for a session that is about to begin.
#[derive(Debug)]
pub(super) struct Place {
    sessions: Arc<Sessions>,
    permit: OwnedSemaphorePermit,
}

impl Sessions {
    pub(super) fn new(places: usize) -> Self {
        Sessions {
            places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
            by_id: Mutex::default(),
        }
    }

    pub(super) fn reserve(self: Arc<Self>) -> Option<Place> {
        let permit = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(Place {
            sessions: self,
            permit,
        })
    }

    /// Ends a session; `false` when there is none of that id.
    pub(super) async fn end(&self, id: &str) -> bool {
        let entry = self.lock().remove(id);
        let Some(Entry { hang_up, ended }) = entry else {
            return false;
        };
        drop(hang_up);
        let _ = ended.await;
        true
    }

    pub(super) async fn end_all(&self) {
        let all: Vec<Entry> = self.lock().drain().map(|(_, entry)| entry).collect();
        let waiting = all.into_iter().map(|Entry { hang_up, ended }| {
            drop(hang_up);
            ended
        });
        for ended in waiting.collect::<Vec<_>>() {
            let _ = ended.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Keeps the session until it ends or is ended, under the id that this gives.
    pub(super) fn fill(self, mut session: Session) -> String {
        let id = Alphanumeric.sample_string(&mut rand::rng(), ID_LENGTH);
        let (hang_up, mut hung_up) = oneshot::channel();
        let (done, ended) = oneshot::channel();
        let sessions = Arc::clone(&self.sessions);
        sessions.lock().insert(id.clone(), Entry { hang_up, ended });
        let name = id.clone();
        tokio::spawn(async move {
            let why = tokio::select! {
                why = session.ended() => format!("{why:?}"),
                _ = &mut hung_up => "hung up".to_owned(),
            };
            session.close().await;
            tracing::info!(scope = "icetester", "session {name} ended: {why}");
            sessions.lock().remove(&name);
            drop(self.permit);
            let _ = done.send(());
        });
        id
    }
}
