//! One watch at work.

use std::time::Duration;

use futures_util::StreamExt;
use kube::api::Api;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Error};
use stunner_api::NamespacedName;
use stunner_translate::Object;
use tokio::sync::mpsc;

use super::decode::{Unreadable, decode};
use super::raw::Raw;
use super::trim::trim;
use super::wanted::{Wanted, WatchKey};
use crate::cluster::Refusal;

/// Within this time the server ends a watch, and the connection to one that vanished without a word is noticed a little
/// later. It goes on from where it was.
const WATCH_SECONDS: u32 = 60;
/// Those of single objects are many, and little happens there.
const OBJECT_WATCH_SECONDS: u32 = 240;
const FIRST_RETRY: Duration = Duration::from_millis(200);
/// A missing kind or right may appear at any time, and somebody is likely to be waiting for it.
const SLOWEST_RETRY: Duration = Duration::from_secs(5);

/// What a watch saw.
#[derive(Debug)]
pub enum Report {
    /// A list begins: objects that do not show up until [`Report::Listed`] are gone.
    Listing,
    Object(Object),
    /// The object is there, in a version that makes no sense.
    Unreadable(Unreadable),
    Gone(NamespacedName),
    /// Everything there is has been reported.
    Listed,
    /// It is tried again.
    Failed(Refusal),
}

/// A report and the watch it is from.
#[derive(Debug)]
pub struct WatchEvent {
    pub watch: WatchKey,
    /// Tells a watch from an earlier one of the same key.
    pub number: u64,
    pub report: Report,
}

pub(super) struct Task {
    pub(super) client: Client,
    pub(super) key: WatchKey,
    pub(super) number: u64,
    pub(super) wanted: Wanted,
    pub(super) events: mpsc::Sender<WatchEvent>,
}

impl Task {
    /// Runs until nobody listens any more.
    pub(super) async fn run(self) {
        let mut stream = std::pin::pin!(watcher(self.api(), self.config()));
        let mut failures = 0;
        while let Some(event) = stream.next().await {
            let (report, delay) = match event {
                Ok(event) => {
                    // A list that has just begun is no success yet.
                    if !matches!(event, Event::Init) {
                        failures = 0;
                    }
                    (self.report(event), None)
                }
                Err(error) => match refusal(&error) {
                    // The server forgot the version that we were at; a new list follows.
                    None => continue,
                    Some(refusal) => {
                        let delay = retry_delay(failures);
                        failures = failures.saturating_add(1);
                        (Report::Failed(refusal), Some(delay))
                    }
                },
            };
            let event = WatchEvent {
                watch: self.key.clone(),
                number: self.number,
                report,
            };
            if self.events.send(event).await.is_err() {
                return;
            }
            if let Some(delay) = delay {
                tokio::time::sleep(delay).await;
            }
        }
    }

    fn api(&self) -> Api<Raw> {
        let client = self.client.clone();
        match &self.key.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.wanted.resource),
            None => Api::all_with(client, &self.wanted.resource),
        }
    }

    fn config(&self) -> watcher::Config {
        let seconds = match self.key.name {
            Some(_) => OBJECT_WATCH_SECONDS,
            None => WATCH_SECONDS,
        };
        let mut config = watcher::Config::default().timeout(seconds);
        if let Some(labels) = &self.wanted.labels {
            config = config.labels(labels);
        }
        // RBAC by resource name applies to lists and watches with this selector.
        if let Some(name) = &self.key.name {
            config = config.fields(&format!("metadata.name={name}"));
        }
        config
    }

    fn report(&self, event: Event<Raw>) -> Report {
        match event {
            Event::Init => Report::Listing,
            Event::InitDone => Report::Listed,
            Event::Delete(raw) => Report::Gone(raw.name()),
            Event::Apply(raw) | Event::InitApply(raw) => {
                let name = raw.name();
                let mut value = raw.value;
                trim(self.key.kind, &mut value);
                match decode(self.key.kind, name, value) {
                    Ok(object) => Report::Object(object),
                    Err(unreadable) => Report::Unreadable(unreadable),
                }
            }
        }
    }
}

/// `None`: nothing is wrong, the watch only starts anew.
fn refusal(error: &watcher::Error) -> Option<Refusal> {
    match error {
        watcher::Error::InitialListFailed(Error::Api(status))
        | watcher::Error::WatchStartFailed(Error::Api(status))
        | watcher::Error::WatchError(status)
            if status.code == 410 =>
        {
            None
        }
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Some(Refusal::of(error)),
        watcher::Error::WatchError(status) => Some(Refusal::of_status(status)),
        watcher::Error::NoResourceVersion => Some(Refusal::Other(error.to_string())),
    }
}

/// Doubling, with a part by chance, so that the watches of all replicas do not come back in step.
fn retry_delay(failures: u32) -> Duration {
    let delay = FIRST_RETRY.saturating_mul(1 << failures.min(10));
    delay
        .min(SLOWEST_RETRY)
        .mul_f64(rand::random_range(0.75..1.25))
}
