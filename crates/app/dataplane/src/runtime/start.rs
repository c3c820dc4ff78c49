//! Putting the parts together.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

use stunner_config::admission::RelayPorts;
use stunner_config::uri::{default_config, parse_turn_uri};
use stunner_config::{Config, PortRange};
use stunner_net::host;
use stunner_process::Signals;
use stunner_telemetry::logging::LogHandle;
use stunner_telemetry::metrics::Stunnerd;
use stunner_turn::server as turn;
use tokio::sync::mpsc;

use super::process::{Process, Source};
use super::{RunError, VERSION, origin_options};
use crate::certificate::self_signed;
use crate::cli::Options;
use crate::clock::Clock;
use crate::control::{Controller, HttpServers, Names, Parts, Resolver, Settings};
use crate::http::Dataplane;
use crate::journal::Journal;
use crate::shard;
use crate::shared::{RelayPortPool, Shared, SourceTable, UserQuota};
use crate::state::{ReadyRules, State};

/// Connection ids carry the shard in one byte.
const MAX_SHARDS: usize = 255;

/// Starts the shards and everything around them, without any listener yet.
pub(super) fn assemble(
    options: Options,
    log: Option<LogHandle>,
    signals: Signals,
    open_files: u64,
    source: Source,
) -> Result<Process, RunError> {
    let clock = Clock::start();
    let shard_count = shard_count(options.udp_thread_num);
    let metrics = Stunnerd::new(shard_count, VERSION);
    let names = Arc::new(Mutex::new(Names::new(metrics.clone())));
    let relay_ports = Arc::new(RelayPorts::new());
    let unlimited = |limit: Option<u32>| limit.unwrap_or(0);
    let shared = Arc::new(Shared {
        turn: Arc::new(turn::Shared::new(
            rand::random(),
            options.unauth_rate_limit.unwrap_or(u32::MAX),
        )),
        quota: UserQuota::default(),
        relay_ports: RelayPortPool::new(Arc::clone(&relay_ports), open_files),
        connections: SourceTable::new(unlimited(options.max_connections_per_source)),
        handshakes: SourceTable::new(unlimited(options.max_handshakes)),
        journal: Journal::new(Arc::clone(&names)),
        stale_after_millis: options.stale_allocation_timeout.as_millis() as u64,
        shards: OnceLock::new(),
    });
    let config = silent_config(&options.id);
    let (shards, threads) = if options.dry_run {
        (Vec::new(), Vec::new())
    } else {
        start_shards(shard_count, clock, &config, &shared, &metrics)?
    };
    let _ = shared.shards.set(shards.clone());
    let ready = ReadyRules {
        always: options.force_ready_status,
        while_draining: options.ready_while_draining,
    };
    let state = Arc::new(State::new(
        clock,
        shards.clone(),
        Arc::clone(&shared),
        metrics.clone(),
        ready,
        Arc::new(config.clone()),
    ));
    let dataplane: Arc<OnceLock<Arc<dyn Dataplane>>> = Arc::default();
    let _ = dataplane.set(Arc::clone(&state) as Arc<dyn Dataplane>);
    let (resolver, answers) = Resolver::start();
    let controller = Controller::new(Parts {
        settings: settings(&options),
        clock,
        shards,
        shared,
        relay_ports,
        names,
        metrics,
        log,
        resolver,
        servers: HttpServers::new(dataplane),
        config,
    });
    Ok(Process {
        options,
        controller,
        state,
        threads,
        answers,
        source,
        admin: None,
        signals,
        refused: None,
    })
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

/// A config with nothing in it: the state before the first reconcile.
fn silent_config(id: &str) -> Config {
    let mut config = stunner_config::bootstrap(id);
    config.admin.healthcheck_endpoint = None;
    config.admin.metrics_endpoint = None;
    config
}

fn settings(options: &Options) -> Settings {
    Settings {
        dry_run: options.dry_run,
        relay_port_range: options
            .relay_port_range
            .map(|(first, last)| PortRange::new(first, last)),
        allow_loopback_peers: options.allow_loopback_peers,
        credential_grace: options.credential_grace,
        max_ephemeral_lifetime: options.max_ephemeral_lifetime,
        alternate_server: options.alternate_server,
        log: options.log.clone(),
    }
}

/// One shard per CPU that the cgroup grants, at most as many as asked for.
fn shard_count(wanted: u32) -> usize {
    let granted = host::cpus_granted();
    let wanted = if wanted == 0 {
        granted
    } else {
        wanted as usize
    };
    wanted.min(granted).clamp(1, MAX_SHARDS)
}

type Shards = (Vec<shard::ShardHandle>, Vec<JoinHandle<()>>);

fn start_shards(
    count: usize,
    clock: Clock,
    config: &Config,
    shared: &Arc<Shared>,
    metrics: &Stunnerd,
) -> io::Result<Shards> {
    let auth = turn::Credentials::new(config.auth.realm.as_str(), config.auth.method.clone(), None);
    let policy = Arc::new(turn::Policy {
        generation: 0,
        auth: turn::AuthPolicy::new(auth),
        listeners: Default::default(),
        draining: None,
    });
    let settings = turn::Settings {
        software: format!("stunnerd {VERSION}"),
        shards: count as u8,
        ..turn::Settings::default()
    };
    let mut handles = Vec::with_capacity(count);
    let mut threads = Vec::with_capacity(count);
    for index in 0..count {
        let (handle, thread) = shard::spawn(
            index as u8,
            clock,
            settings.clone(),
            Arc::clone(&policy),
            Arc::clone(shared),
            metrics.shard(index),
        )?;
        handles.push(handle);
        threads.push(thread);
    }
    Ok((handles, threads))
}
