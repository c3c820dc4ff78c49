//! Attempts, as long as they may still work.

use std::sync::PoisonError;

use stunner_client::Lost;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use super::{Link, OpenError, Route};
use crate::tunnel::backoff;

impl Route {
    /// Attempts until one works, one fails for good, or the time is up.
    pub async fn reopen(&self, lost: Option<&Lost>) -> Result<Link, OpenError> {
        let deadline = Instant::now() + self.settings.reconnect_timeout;
        let mut attempt = 0;
        loop {
            // What the attempt is made with, at the earliest: others may learn better meanwhile.
            let known = self.target();
            let error = match self.open(lost).await {
                Ok(link) => {
                    self.outage.ends(link.relay.server());
                    return Ok(link);
                }
                Err(error) => error,
            };
            let wait = backoff::delay(attempt, rand::random());
            self.rediscover(Instant::now()).await;
            let is_final = error.is_final() && known == self.target();
            if is_final || Instant::now() + wait > deadline {
                return Err(error);
            }
            match error.is_silence() {
                true => self.outage.begins(&error),
                false if attempt == 0 => warn!("{error}; trying again"),
                false => {}
            }
            info!("trying again in {wait:?}: {error}");
            sleep(wait).await;
            attempt += 1;
        }
    }

    /// Looks whether a Gateway has moved or changed its credentials since an attempt failed. Clients by the thousand
    /// lose the same server at once: one of them asks.
    async fn rediscover(&self, failed: Instant) {
        let Some(discovery) = &self.discovery else {
            return;
        };
        let asking = async {
            match timeout(self.settings.connect_timeout, discovery.target()).await {
                Ok(Ok(target)) => {
                    *self.target.write().unwrap_or_else(PoisonError::into_inner) = target;
                }
                Ok(Err(error)) => info!("config discovery tells nothing new: {error}"),
                Err(_) => info!("config discovery does not answer"),
            }
        };
        self.rediscovery.ask(failed, asking).await;
    }
}
