//! Staying subscribed to a configuration, whatever becomes of the discovery service.

use tokio::time::{Instant, sleep};

use crate::backoff::Backoff;
use crate::cache::ConfigCache;
use crate::id::ConfigId;
use crate::interpret::{CDS_SCOPE as SCOPE, interpret, on_one_line};
use crate::load::Update;
use crate::options::{Notice, Options};
use crate::origin::CdsServer;
use crate::outbox::{Outbox, Provenance, Published};
use crate::session::Session;

/// What is subscribed to, and how.
pub(crate) struct Subscription {
    pub(crate) server: CdsServer,
    pub(crate) id: ConfigId,
    pub(crate) node: Option<String>,
    pub(crate) options: Options,
}

impl Subscription {
    /// Publishes every good configuration the service sends, until nobody listens.
    pub(crate) async fn run(self, outbox: Outbox, cache: Option<ConfigCache>) {
        tokio::select! {
            () = outbox.closed() => {}
            () = self.reconnect_forever(&outbox) => {}
            () = self.stand_in(cache, &outbox) => {}
        }
    }

    async fn reconnect_forever(&self, outbox: &Outbox) {
        let timing = &self.options.timing;
        let mut backoff = Backoff::new(timing.backoff_first, timing.backoff_max);
        loop {
            let opened =
                Session::open(&self.server, &self.id, self.node.as_deref(), &self.options).await;
            let error = match opened {
                Ok(session) => {
                    tracing::info!(
                        scope = SCOPE,
                        "watching config {} at {}",
                        self.id,
                        self.server.url()
                    );
                    let origin = self.server.url();
                    self.options.tell(Notice::Up {
                        origin: origin.clone(),
                    });
                    let since = Instant::now();
                    let error = session.run(|text| self.receive(text, outbox)).await;
                    // A service that accepts and drops at once is not well, and is spared like one that refuses.
                    if since.elapsed() >= timing.ping_interval {
                        backoff.reset();
                    }
                    self.options.tell(Notice::Down {
                        origin,
                        why: error.chain(),
                    });
                    error
                }
                Err(error) => error,
            };
            let wait = backoff.next(rand::random());
            tracing::warn!(
                scope = SCOPE,
                "{}; the running config stays, next attempt in {:.1}s",
                error.chain(),
                wait.as_secs_f32()
            );
            sleep(wait).await;
        }
    }

    /// Handles one text frame. A frame that is no good is ignored: the configuration it should have replaced stays.
    fn receive(&self, text: &str, outbox: &Outbox) {
        let place = self.server.url();
        if text.trim().is_empty() {
            tracing::warn!(scope = SCOPE, "ignoring an empty frame from {place}");
            return;
        }
        let config = match interpret(text, &self.options) {
            Ok((config, warnings)) => {
                if !warnings.is_empty() {
                    tracing::warn!(scope = SCOPE, "{}", on_one_line(&place, &warnings));
                }
                config
            }
            Err(problems) => {
                let why = on_one_line(&place, &problems);
                tracing::warn!(
                    scope = SCOPE,
                    "ignoring a bad config, the running one stays: {why}"
                );
                self.options.tell(Notice::BadConfig { why });
                return;
            }
        };
        if config.is_deletion(&self.id.to_string()) {
            outbox.origin_spoke();
            tracing::info!(
                scope = SCOPE,
                "config {} was deleted at {place}; the running config stays",
                self.id
            );
            return;
        }
        let update = Update {
            config,
            provenance: Provenance::Live,
        };
        match outbox.publish(update, text) {
            Published::Sent => tracing::debug!(scope = SCOPE, "new config from {place}"),
            Published::Unchanged => tracing::debug!(scope = SCOPE, "unchanged config from {place}"),
        }
    }

    /// Publishes the cached configuration if the service gives none within a few seconds of the start.
    async fn stand_in(&self, cache: Option<ConfigCache>, outbox: &Outbox) {
        if let Some(cache) = cache {
            sleep(self.options.timing.cache_after).await;
            if !outbox.has_origin_spoken()
                && let Some((update, text)) = read_cache(&cache, &self.options).await
                && !outbox.has_origin_spoken()
            {
                tracing::warn!(
                    scope = SCOPE,
                    "{} gave no config for {} within {}s: starting with the last good one from {}, which may be STALE",
                    self.server.url(),
                    self.id,
                    self.options.timing.cache_after.as_secs_f32(),
                    cache.path().display()
                );
                outbox.publish(update, &text);
            }
        }
        std::future::pending().await
    }
}

/// The cached configuration, if it is there and still good.
pub(crate) async fn read_cache(cache: &ConfigCache, options: &Options) -> Option<(Update, String)> {
    let text = cache.load().await?;
    match interpret(&text, options) {
        Ok((config, _)) => Some((
            Update {
                config,
                provenance: Provenance::Cached,
            },
            text,
        )),
        Err(problems) => {
            let place = cache.path().display().to_string();
            tracing::warn!(
                scope = SCOPE,
                "ignoring a bad cached config: {}",
                on_one_line(&place, &problems)
            );
            None
        }
    }
}
