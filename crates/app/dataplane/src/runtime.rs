//! The life of the process: start, follow the configuration, drain, stop.

use std::io;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use stunner_cds::{LoadError, Origin, OriginError, Provenance, Update};
use stunner_config::admission::RelayPorts;
use stunner_config::uri::{UriError, default_config, parse_turn_uri};
use stunner_config::{Config, PortRange};
use stunner_net::host;
use stunner_telemetry::logging::{self, Format, LogHandle};
use stunner_telemetry::metrics::Stunnerd;
use stunner_turn::server as turn;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::certificate::self_signed;
use crate::cli::{self, Command, LogFormat, Options};
use crate::clock::Clock;
use crate::control::{
    Answers, Controller, HttpServers, Names, Parts, ReconcileError, Resolver, Settings, judge,
};
use crate::http::{BindAddress, Dataplane, EventKind, HttpServer, Running, admin_router};
use crate::journal::Journal;
use crate::shard;
use crate::shared::{RelayPortPool, Shared, SourceTable, UserQuota};
use crate::state::{Phase, ReadyRules, State};

/// Name and version, as in SOFTWARE attributes and the first log line.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How often housekeeping is done, and a drain looked at.
const TICK: Duration = Duration::from_millis(250);
/// How long the last log lines may take to be written.
const LOG_PATIENCE: Duration = Duration::from_secs(1);
/// Connection ids carry the shard in one byte.
const MAX_SHARDS: usize = 255;

/// Why the process ends with a problem.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the TURN URI cannot be used: {0}")]
    Uri(#[from] UriError),
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error(transparent)]
    Origin(#[from] OriginError),
    #[error("cannot load the configuration: {0}")]
    Load(#[from] LoadError),
    #[error("cannot apply the configuration: {0}")]
    Reconcile(#[from] ReconcileError),
    #[error("cannot start: {0}")]
    Io(#[from] io::Error),
}

impl RunError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Uri(_) => Some(
                "write it as `turn://USER:PASSWORD@ADDRESS:PORT?transport=udp|tcp|tls|dtls`"
                    .to_owned(),
            ),
            Self::Origin(error) => Some(error.hint().to_owned()),
            Self::Load(error) => error.hint(),
            Self::Reconcile(ReconcileError::Prepare(error)) => Some(error.hint()),
            Self::Certificate(_) | Self::Io(_) => None,
        }
    }
}

/// The `stunnerd` program: reads the command line, does what it says, gives the exit code.
pub fn main() -> ExitCode {
    let env = |name: &str| std::env::var(name).ok();
    let command = match cli::parse(std::env::args_os(), &env) {
        Ok(command) => command,
        Err(usage) => {
            eprint!("{}", usage.report());
            return ExitCode::from(cli::EXIT_USAGE);
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprint!("{}", cli::report(&error, None));
            return ExitCode::from(cli::EXIT_PROBLEM);
        }
    };
    match command {
        Command::Help(text) => print!("{text}"),
        Command::Version => println!("stunnerd {VERSION}"),
        Command::Check { origin, options } => {
            let cds = origin_options(&options);
            let report = runtime.block_on(cli::check(&origin, &options, &cds, &judge));
            print!("{}", report.text);
            return ExitCode::from(report.exit_code());
        }
        Command::Run(options) => {
            if let Err(error) = runtime.block_on(run(*options)) {
                eprint!("{}", cli::report(&error, error.hint().as_deref()));
                return ExitCode::from(cli::EXIT_PROBLEM);
            }
        }
    }
    ExitCode::SUCCESS
}

/// Options of the config origin, with certificates judged as the runtime would.
fn origin_options(options: &Options) -> stunner_cds::Options {
    stunner_cds::Options {
        judge: Some(Arc::new(judge)),
        cache_dir: options.config_cache.clone(),
        ..stunner_cds::Options::default()
    }
}

/// Runs until told to stop.
async fn run(options: Options) -> Result<(), RunError> {
    let spec = options
        .log
        .clone()
        .unwrap_or_else(|| stunner_config::defaults::LOGLEVEL.to_owned());
    let format = match options.log_format {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
    };
    let log = logging::init(format, &spec).ok();
    let result = Process::start(options, log.clone()).await;
    let result = match result {
        Ok(process) => process.serve().await,
        Err(error) => Err(error),
    };
    if let Some(log) = log {
        log.flush(LOG_PATIENCE);
    }
    result
}

/// Where configurations come from after the first.
enum Source {
    /// There are no more.
    Once,
    Watch(mpsc::Receiver<Update>),
}

impl Source {
    async fn next(&mut self) -> Option<Update> {
        match self {
            Self::Once => std::future::pending().await,
            Self::Watch(updates) => updates.recv().await,
        }
    }
}

struct Process {
    options: Options,
    controller: Controller,
    state: Arc<State>,
    threads: Vec<JoinHandle<()>>,
    answers: mpsc::Receiver<Answers>,
    source: Source,
    admin: Option<Running>,
    term: Signal,
    interrupt: Signal,
}

impl Process {
    async fn start(options: Options, log: Option<LogHandle>) -> Result<Self, RunError> {
        let term = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        tracing::info!(
            scope = "stunnerd",
            "starting stunnerd {VERSION}, id `{}`",
            options.id
        );
        for warning in &options.warnings {
            tracing::warn!(scope = "stunnerd", "{warning}");
        }
        if let Err(error) = host::raise_open_files() {
            tracing::warn!(
                scope = "stunnerd",
                "cannot raise the limit of open files: {error}"
            );
        }
        let (first, source) = first_config(&options).await?;
        let mut process = Self::assemble(options, log, term, interrupt, source)?;
        process.open_admin();
        match first {
            Some(config) => process.apply_first(config).await?,
            None => process.bootstrap().await,
        }
        Ok(process)
    }

    fn assemble(
        options: Options,
        log: Option<LogHandle>,
        term: Signal,
        interrupt: Signal,
        source: Source,
    ) -> Result<Self, RunError> {
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
            relay_ports: RelayPortPool::new(Arc::clone(&relay_ports)),
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
        Ok(Self {
            options,
            controller,
            state,
            threads,
            answers,
            source,
            admin: None,
            term,
            interrupt,
        })
    }

    /// The admin API is a convenience: where its port is taken, the gateway goes on without it.
    fn open_admin(&mut self) {
        let Some(address) = self.options.admin_address.filter(|_| !self.options.dry_run) else {
            return;
        };
        let dataplane = Arc::clone(&self.state) as Arc<dyn Dataplane>;
        let served = HttpServer::bind(&BindAddress::from(address))
            .and_then(|bound| bound.serve(admin_router(dataplane)));
        match served {
            Ok(running) => self.admin = Some(running),
            Err(error) => tracing::warn!(
                scope = "stunnerd",
                "no admin API: cannot listen on {address}: {error}; choose another address with \
                 --admin-address, or `off`"
            ),
        }
    }

    async fn apply_first(&mut self, config: Config) -> Result<(), RunError> {
        let changes = self.controller.reconcile(config).await?;
        self.applied(&changes.to_string());
        Ok(())
    }

    /// Waiting for the first configuration: health is served, and says not ready.
    async fn bootstrap(&mut self) {
        let config = stunner_config::bootstrap(&self.options.id);
        if let Err(error) = self.controller.reconcile(config).await {
            tracing::error!(
                scope = "stunnerd",
                "cannot serve health checks yet: {error}"
            );
        }
        self.state.set_config(Arc::clone(self.controller.config()));
        tracing::info!(scope = "stunnerd", "waiting for the first configuration");
    }

    fn applied(&self, changes: &str) {
        self.state.set_config(Arc::clone(self.controller.config()));
        if self.state.phase() == Phase::NotReady {
            self.state.set_phase(Phase::Ready);
        }
        tracing::info!(scope = "reconciler", "configuration applied: {changes}");
        let admin = &self.controller.config().admin;
        if admin.offload_engine != stunner_config::OffloadEngine::None {
            tracing::warn!(
                scope = "offload",
                "offload engine `{}` is asked for, but this build has none: packets go through the \
                 dataplane itself",
                admin.offload_engine.as_str()
            );
        }
    }

    async fn serve(mut self) -> Result<(), RunError> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut drain: Option<Instant> = None;
        loop {
            tokio::select! {
                Some(update) = self.source.next() => self.update(update).await,
                Some(answers) = self.answers.recv() => self.controller.set_answers(answers).await,
                _ = ticks.tick() => {
                    self.controller.tick().await;
                    if let Some(deadline) = drain
                        && self.is_drained(deadline).await
                    {
                        break;
                    }
                }
                _ = self.term.recv() => if self.signalled(&mut drain).await { break },
                _ = self.interrupt.recv() => if self.signalled(&mut drain).await { break },
            }
        }
        self.stop().await;
        Ok(())
    }

    async fn update(&mut self, update: Update) {
        if update.provenance == Provenance::Cached {
            tracing::warn!(
                scope = "stunnerd",
                "using the cached configuration: it may be out of date"
            );
        }
        match self.controller.reconcile(update.config).await {
            Ok(changes) => self.applied(&changes.to_string()),
            Err(error) => {
                let ReconcileError::Prepare(prepare) = &error;
                tracing::error!(
                    scope = "reconciler",
                    "the new configuration is refused, the running one stays as it is: {error}; hint: {}",
                    prepare.hint()
                );
            }
        }
    }

    /// The first signal drains, the second stops. Whether to stop now.
    async fn signalled(&mut self, drain: &mut Option<Instant>) -> bool {
        if drain.is_some() {
            tracing::info!(scope = "stunnerd", "second signal: stopping at once");
            return true;
        }
        self.state.set_phase(Phase::Terminating);
        self.controller.metrics().draining.set(1);
        self.controller.start_draining().await;
        let remaining = self.state.active_allocations().await;
        tracing::info!(
            scope = "stunnerd",
            "draining: {remaining} live allocation(s), at most {} s; a second signal stops at once",
            self.options.drain_timeout.as_secs()
        );
        *drain = Some(Instant::now() + self.options.drain_timeout);
        false
    }

    async fn is_drained(&self, deadline: Instant) -> bool {
        let remaining = self.state.active_allocations().await;
        self.controller
            .metrics()
            .drain_remaining_allocations
            .set(remaining);
        self.state
            .shared
            .journal
            .tell(EventKind::Draining { remaining });
        if remaining == 0 {
            tracing::info!(scope = "stunnerd", "drained");
            return true;
        }
        let late = Instant::now() >= deadline;
        if late {
            tracing::warn!(
                scope = "stunnerd",
                "--drain-timeout is over, ending {remaining} allocation(s)"
            );
        }
        late
    }

    async fn stop(mut self) {
        self.controller.stop().await;
        if let Some(admin) = self.admin.take() {
            admin.stop().await;
        }
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!(scope = "stunnerd", "a shard had panicked");
            }
        }
        tracing::info!(scope = "stunnerd", "stopped");
    }
}

/// The config to begin with, and where further ones come from.
async fn first_config(options: &Options) -> Result<(Option<Config>, Source), RunError> {
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
    let origin = Origin::parse(&options.origin)?.with_cds_server(
        options.cds_server_address.as_deref(),
        options.cds_server_port,
    )?;
    let cds = origin_options(options);
    let node = options.node.as_deref();
    if options.watch {
        tracing::info!(scope = "stunnerd", "watching the configuration at {origin}");
        let updates = stunner_cds::watch(&origin, &options.id, node, &cds)?;
        return Ok((None, Source::Watch(updates)));
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
