//! The way of a configuration from its origin to the consumer.
//!
//! Whoever reads from an origin must never wait for the consumer (it has a connection to keep alive), and the
//! consumer only ever wants the newest configuration. So the reader overwrites one slot, and a task of its own hands
//! the slot over whenever the consumer is ready.

use std::sync::{Arc, Mutex, PoisonError};

use stunner_config::Config;
use tokio::sync::{mpsc, watch};

use crate::cache::ConfigCache;
use crate::load::Update;

/// Where a configuration was had from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// From the origin, just now.
    Live,
    /// From the cache on disk, because the origin did not answer: it may be out of date.
    Cached,
}

#[derive(Clone)]
struct Parcel {
    update: Update,
    /// The text as received, which is what the cache keeps.
    text: Arc<str>,
}

/// The producer's end.
pub(crate) struct Outbox {
    slot: watch::Sender<Option<Parcel>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: Option<Config>,
    /// The origin has said something about this configuration.
    origin_spoke: bool,
}

/// What became of a configuration that was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Published {
    Sent,
    Unchanged,
}

impl Outbox {
    /// The two ends. The hand-over ends, and [`Outbox::closed`] returns, when the receiver is dropped.
    pub(crate) fn open(cache: Option<ConfigCache>) -> (Outbox, mpsc::Receiver<Update>) {
        let (slot, newest) = watch::channel(None);
        let (updates, receiver) = mpsc::channel(1);
        tokio::spawn(hand_over(newest, updates, cache));
        let outbox = Outbox {
            slot,
            state: Mutex::default(),
        };
        (outbox, receiver)
    }

    /// Publishes a configuration, unless the consumer already has it.
    pub(crate) fn publish(&self, update: Update, text: &str) -> Published {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.origin_spoke |= update.provenance == Provenance::Live;
        if state.last.as_ref() == Some(&update.config) {
            return Published::Unchanged;
        }
        state.last = Some(update.config.clone());
        self.slot.send_replace(Some(Parcel {
            update,
            text: text.into(),
        }));
        Published::Sent
    }

    /// Notes that the origin spoke without giving a usable configuration, such as by a deletion.
    pub(crate) fn origin_spoke(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.origin_spoke = true;
    }

    pub(crate) fn has_origin_spoken(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.origin_spoke
    }

    /// Returns when nobody listens any more.
    pub(crate) async fn closed(&self) {
        self.slot.closed().await;
    }
}

async fn hand_over(
    mut newest: watch::Receiver<Option<Parcel>>,
    updates: mpsc::Sender<Update>,
    cache: Option<ConfigCache>,
) {
    loop {
        tokio::select! {
            () = updates.closed() => return,
            changed = newest.changed() => {
                if changed.is_err() {
                    return;
                }
            }
        }
        // Waiting for room before looking into the slot: what is handed over is the newest at that moment.
        let Ok(room) = updates.reserve().await else {
            return;
        };
        let Some(parcel) = newest.borrow_and_update().clone() else {
            continue;
        };
        let live = parcel.update.provenance == Provenance::Live;
        room.send(parcel.update);
        if let (true, Some(cache)) = (live, &cache) {
            cache.store(parcel.text).await;
        }
    }
}
