//! The events of several dataplanes in one stream.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, SelectAll, StreamExt};
use tokio::sync::broadcast::{self, Receiver, Sender, error::RecvError};
use tokio::time::{MissedTickBehavior, interval};

use super::{Dataplanes, prefix};
use crate::http::{Event, EventKind, Identity};

/// Events that a slow reader may lag behind.
const BACKLOG: usize = 1024;
/// How soon a dataplane that came later is heard.
const LOOK_AROUND: Duration = Duration::from_millis(250);

/// What all dataplanes tell from now on, those that come later included, until the receiver is dropped.
pub fn merged(dataplanes: Dataplanes) -> Receiver<Event> {
    let (sender, receiver) = broadcast::channel(BACKLOG);
    let mut heard = Heard {
        dataplanes,
        known: BTreeSet::new(),
        streams: SelectAll::new(),
    };
    heard.look_around();
    tokio::spawn(heard.forward(sender));
    receiver
}

struct Heard {
    dataplanes: Dataplanes,
    known: BTreeSet<u64>,
    streams: SelectAll<BoxStream<'static, Event>>,
}

impl Heard {
    fn look_around(&mut self) {
        let mut known = BTreeSet::new();
        for dataplane in (self.dataplanes)() {
            let identity = dataplane.identity();
            known.insert(identity.number);
            if !self.known.contains(&identity.number) {
                let events = stream_of(Arc::new(identity), dataplane.events());
                self.streams.push(events);
            }
        }
        self.known = known;
    }

    async fn forward(mut self, sender: Sender<Event>) {
        let mut looks = interval(LOOK_AROUND);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = sender.closed() => return,
                _ = looks.tick() => self.look_around(),
                Some(event) = self.streams.next() => {
                    // A receiver that has just gone is noticed above.
                    let _ = sender.send(event);
                }
            }
        }
    }
}

/// Ends with its dataplane.
fn stream_of(identity: Arc<Identity>, events: Receiver<Event>) -> BoxStream<'static, Event> {
    stream::unfold((identity, events), async |(identity, mut events)| {
        let mut event = match events.recv().await {
            Ok(event) => event,
            Err(RecvError::Lagged(missed)) => Event::now(EventKind::Lagged { missed }),
            Err(RecvError::Closed) => return None,
        };
        event.gateway = Some(identity.name.clone());
        if let EventKind::SessionStarted { id, .. } | EventKind::SessionEnded { id, .. } =
            &mut event.kind
        {
            *id = prefix::join(identity.number, id);
        }
        Some((event, (identity, events)))
    })
    .boxed()
}
