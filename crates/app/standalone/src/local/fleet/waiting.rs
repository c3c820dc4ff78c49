//! Gateways that wait for something to pass, and when it is worth while to try again.

use std::collections::BTreeSet;
use std::future::pending;

use stunner_api::NamespacedName;
use tokio::time::sleep;

use super::{DRAIN_TICK, Fleet};
use crate::local::ports::Trouble;

impl Fleet {
    /// Whether there is something to try again.
    pub fn wants_retry(&self) -> bool {
        !self.leaving.is_empty() || self.waiting(Trouble::may_pass).next().is_some()
    }

    /// Waits until it is worth while to try again at once: a drain is over, or a port that another Gateway had is free.
    /// Whoever gives up waiting loses nothing.
    pub async fn stirs(&self) {
        let is_held = |trouble: &Trouble| matches!(trouble, Trouble::Held { .. });
        if self.leaving.is_empty() && self.waiting(is_held).next().is_none() {
            pending::<()>().await;
        }
        while self.freed().is_empty() && self.drained().is_empty() {
            sleep(DRAIN_TICK).await;
        }
    }

    /// Gateways that wait for a port which another one had and has no more.
    pub(super) fn freed(&self) -> BTreeSet<NamespacedName> {
        let host = &self.options.dataplane.host;
        let is_free = |trouble: &Trouble| match trouble {
            Trouble::Held { protocol, port, .. } => !host.is_listening(protocol.socket(), *port),
            _ => false,
        };
        self.waiting(is_free).collect()
    }

    /// Gateways that have such a trouble.
    pub(super) fn waiting(
        &self,
        which: impl Fn(&Trouble) -> bool,
    ) -> impl Iterator<Item = NamespacedName> {
        let troubled = self
            .running
            .iter()
            .filter(move |(_, running)| running.troubles.values().any(&which));
        let names: Vec<NamespacedName> = troubled.map(|(name, _)| name.clone()).collect();
        names.into_iter()
    }
}
