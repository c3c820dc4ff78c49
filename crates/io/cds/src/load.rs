//! The two ways to get a configuration: once, or again and again.

use stunner_config::Config;
use tokio::sync::mpsc;

use crate::cache::ConfigCache;
use crate::error::LoadError;
use crate::file;
use crate::file_watch::watch_file;
use crate::id::ConfigId;
use crate::interpret::{CDS_SCOPE, FILE_SCOPE, interpret, on_one_line};
use crate::options::Options;
use crate::origin::{Origin, OriginError};
use crate::outbox::{Outbox, Provenance};
use crate::rest::get_config;
use crate::subscription::{Subscription, read_cache};

/// A configuration to be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub config: Config,
    pub provenance: Provenance,
}

/// The text of a configuration, as the origin has it now.
///
/// `id` names the configuration at a discovery service; a file does not need it.
pub async fn fetch(
    origin: &Origin,
    id: &str,
    node: Option<&str>,
    options: &Options,
) -> Result<String, LoadError> {
    match origin {
        Origin::File(path) => file::read(path).await,
        Origin::Cds(server) => get_config(server, &ConfigId::parse(id)?, node, options).await,
        Origin::Kubernetes => Err(OriginError::KubernetesUnsupported.into()),
    }
}

/// Reads a configuration once. Warnings about it are logged.
///
/// When a discovery service cannot be reached and there is a cached configuration, that one is returned.
pub async fn load_once(
    origin: &Origin,
    id: &str,
    node: Option<&str>,
    options: &Options,
) -> Result<Update, LoadError> {
    let scope = match origin {
        Origin::File(_) => FILE_SCOPE,
        Origin::Cds(_) | Origin::Kubernetes => CDS_SCOPE,
    };
    let cache = cache_of(origin, id, options)?;
    let text = match fetch(origin, id, node, options).await {
        Ok(text) => text,
        Err(error) => {
            if let Some(cache) = cache.filter(|_| error.is_silence())
                && let Some((update, _)) = read_cache(&cache, options).await
            {
                tracing::warn!(
                    scope = scope,
                    "{}: starting with the last good config from {}, which may be STALE",
                    error.chain(),
                    cache.path().display()
                );
                return Ok(update);
            }
            return Err(error);
        }
    };
    let place = origin.to_string();
    let (config, warnings) = interpret(&text, options).map_err(|problems| LoadError::Invalid {
        place: place.clone(),
        problems,
    })?;
    if !warnings.is_empty() {
        tracing::warn!(scope = scope, "{}", on_one_line(&place, &warnings));
    }
    if let Some(cache) = cache {
        cache.store(text.into()).await;
    }
    Ok(Update {
        config,
        provenance: Provenance::Live,
    })
}

/// Follows an origin: every configuration that is good and differs from the one before comes out of the receiver,
/// only the newest where the consumer is slow. Dropping the receiver ends the watch.
///
/// Never ends by itself: an origin that is away or talks nonsense is logged and tried again, for ever.
/// Must be called inside a tokio runtime.
pub fn watch(
    origin: &Origin,
    id: &str,
    node: Option<&str>,
    options: &Options,
) -> Result<mpsc::Receiver<Update>, OriginError> {
    let cache = cache_of(origin, id, options)?;
    match origin {
        Origin::File(path) => {
            let (outbox, updates) = Outbox::open(None);
            tokio::spawn(watch_file(path.clone(), options.clone(), outbox));
            Ok(updates)
        }
        Origin::Cds(server) => {
            let subscription = Subscription {
                server: server.clone(),
                id: ConfigId::parse(id)?,
                node: node.map(str::to_owned),
                options: options.clone(),
            };
            let (outbox, updates) = Outbox::open(cache.clone());
            tokio::spawn(subscription.run(outbox, cache));
            Ok(updates)
        }
        Origin::Kubernetes => Err(OriginError::KubernetesUnsupported),
    }
}

/// A file needs no cache: it is one.
fn cache_of(
    origin: &Origin,
    id: &str,
    options: &Options,
) -> Result<Option<ConfigCache>, OriginError> {
    match (origin, &options.cache_dir) {
        (Origin::Cds(_), Some(dir)) => Ok(Some(ConfigCache::new(dir, &ConfigId::parse(id)?))),
        _ => Ok(None),
    }
}
