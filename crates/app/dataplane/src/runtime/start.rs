//! From the command line to a dataplane and its first configuration.

use std::sync::Arc;

use stunner_config::uri::{default_config, parse_turn_uri};
use stunner_config::{Config, PortRange};
use stunner_telemetry::logging::LogHandle;
use tokio::sync::mpsc;

use super::process::Source;
use super::{RunError, origin_options};
use crate::certificate::self_signed;
use crate::cli::Options;
use crate::embed::{self, Host};

/// The part of the command line that is about the dataplane itself.
pub(super) fn plane_options(options: &Options, log: Option<LogHandle>) -> embed::Options {
    embed::Options {
        id: options.id.clone(),
        listen_addresses: Vec::new(),
        threads: options.udp_thread_num,
        host: Host::new(),
        relay_port_range: options
            .relay_port_range
            .map(|(first, last)| PortRange::new(first, last)),
        allow_loopback_peers: options.allow_loopback_peers,
        credential_grace: options.credential_grace,
        max_ephemeral_lifetime: options.max_ephemeral_lifetime,
        alternate_server: options.alternate_server,
        unauth_rate_limit: options.unauth_rate_limit,
        max_connections_per_source: options.max_connections_per_source,
        max_handshakes: options.max_handshakes,
        stale_allocation_timeout: options.stale_allocation_timeout,
        ready_while_draining: options.ready_while_draining,
        force_ready: options.force_ready_status,
        dry_run: options.dry_run,
        log,
        log_spec: options.log.clone(),
    }
}

/// The config to begin with, and where further ones come from.
pub(super) async fn first_config(options: &Options) -> Result<(Option<Config>, Source), RunError> {
    if let Some(uri) = &options.turn_uri {
        let uri = parse_turn_uri(uri)?;
        tracing::info!(
            scope = "stunnerd",
            "serving {uri} with the default configuration"
        );
        let identity = match uri.protocol.is_secure() {
            true => Some(self_signed(&uri.host)?),
            false => None,
        };
        return Ok((Some(default_config(&uri, identity)?), Source::Once));
    }
    let origin = options.config_origin()?;
    let mut cds = origin_options(options);
    let node = options.node.as_deref();
    if options.watch {
        tracing::info!(scope = "stunnerd", "watching the configuration at {origin}");
        let (sender, notices) = mpsc::unbounded_channel();
        cds.observer = Some(Arc::new(move |notice| {
            let _ = sender.send(notice);
        }));
        let updates = stunner_cds::watch(&origin, &options.id, node, &cds)?;
        return Ok((None, Source::Watch { updates, notices }));
    }
    tracing::info!(
        scope = "stunnerd",
        "loading the configuration from {origin}"
    );
    let update = stunner_cds::load_once(&origin, &options.id, node, &cds).await?;
    Ok((Some(update.config), Source::Once))
}
