//! Bringing a configuration into force, listener by listener where it must be.

use std::collections::BTreeMap;
use std::io;

use stunner_api::NamespacedName;
use stunner_config::Config;
use stunner_dataplane::embed::{Instance, PrepareError};

use super::leaving::Leaving;
use super::target::{Target, fallback};
use crate::local::localise::short_name;
use crate::local::ports::{Trouble, socket};

#[derive(Debug)]
pub(super) struct Brought {
    pub(super) instance: Option<Instance>,
    /// What is in force now.
    pub(super) config: Option<Config>,
    pub(super) troubles: BTreeMap<String, Trouble>,
    /// Sessions that ended, because their listener is gone.
    pub(super) ended: u64,
}

/// Puts in force what can be. A dataplane takes all of a configuration or nothing of it, so that a listener which cannot
/// be opened is taken out, or left as it was, and the rest tried again. Gateways that are `leaving` may have its port.
pub(super) async fn bring(
    name: &NamespacedName,
    instance: io::Result<Instance>,
    target: Target,
    before: Option<Config>,
    leaving: &BTreeMap<NamespacedName, Leaving>,
) -> Brought {
    let Target {
        mut config,
        mut troubles,
    } = target;
    let instance = match instance {
        Ok(instance) => instance,
        Err(error) => {
            all_in_trouble(name, &config, &error.to_string(), &mut troubles);
            return Brought {
                instance: None,
                config: None,
                troubles,
                ended: 0,
            };
        }
    };
    loop {
        let error = match instance.apply(config.clone()).await {
            Ok(applied) => {
                return Brought {
                    instance: Some(instance),
                    config: Some(config),
                    troubles,
                    ended: applied.ended,
                };
            }
            Err(error) => error,
        };
        let place = error.listener().and_then(|name| {
            let mut listeners = config.listeners.iter();
            listeners.position(|listener| listener.name == name)
        });
        let Some(place) = place else {
            // Nothing was touched: what ran before still runs.
            all_in_trouble(name, &config, &error.to_string(), &mut troubles);
            return Brought {
                instance: Some(instance),
                config: before,
                troubles,
                ended: 0,
            };
        };
        let listener = config.listeners.remove(place);
        let short = short_name(name, &listener).to_owned();
        // Once is enough: what it had cannot be had any more either.
        let again = troubles.contains_key(&short);
        let stays = fallback(&listener, &config, before.as_ref()).filter(|_| !again);
        let stays_at = stays.as_ref().map(|stays| stays.port);
        let (protocol, port) = socket_of(&error).unwrap_or((listener.protocol, listener.port));
        let trouble = match &error {
            PrepareError::Identity { cause, .. } => Trouble::Unusable {
                why: cause.to_string(),
                hint: error.hint(),
            },
            PrepareError::Taken { holder, .. } => Trouble::Held {
                by: holder.clone(),
                is_by_sessions: leaving.keys().any(|name| name.to_string() == *holder),
                protocol,
                port,
                stays_at,
            },
            PrepareError::Port { cause, .. } => Trouble::Refused {
                protocol,
                port,
                why: plain(cause),
                hint: error.hint(),
                stays_at,
            },
            PrepareError::Endpoint { .. } | PrepareError::Stopped => Trouble::NotStarted {
                why: error.to_string(),
            },
        };
        tracing::debug!(
            scope = "fleet",
            "{name}: listener {short} is left out of {:?}: {error}",
            socket(&listener)
        );
        troubles.entry(short).or_insert(trouble);
        if let Some(stays) = stays {
            let place = place.min(config.listeners.len());
            config.listeners.insert(place, stays);
        }
    }
}

fn socket_of(error: &PrepareError) -> Option<(stunner_config::Protocol, u16)> {
    error.port()
}

/// Without the number that the standard library puts behind its text.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}

fn all_in_trouble(
    name: &NamespacedName,
    config: &Config,
    why: &str,
    troubles: &mut BTreeMap<String, Trouble>,
) {
    for listener in &config.listeners {
        let trouble = Trouble::NotStarted {
            why: why.to_owned(),
        };
        let short = short_name(name, listener).to_owned();
        troubles.entry(short).or_insert(trouble);
    }
}
