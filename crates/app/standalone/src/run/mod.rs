//! `stunner run`: serves the Gateways of manifests in this process.
//!
//! [`engine`] turns what the files say into running dataplanes, [`output`] tells what happens, [`servers`] are the HTTP
//! servers beside them, [`console`] answers the web console. This file is the life of the process.

mod console;
mod engine;
mod output;
mod servers;
mod signals;
mod summary;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stunner_config::PortRange;
use stunner_dataplane::embed::{self, Host};
use stunner_flags::{EXIT_PROBLEM, EXIT_USAGE, report};
use stunner_net::host;
use stunner_telemetry::logging;
use tokio::time::Instant;

use self::console::Console;
use self::engine::Engine;
use self::output::{Output, Stopped};
use self::servers::Servers;
use self::signals::{Signal, Signals};
use self::summary::Summary;
use crate::cli::RunOptions;
use crate::local::{Fleet, FleetOptions, HostAddresses};
use crate::provider::Follower;

/// How soon a port that could not be opened is tried again.
const RETRY: Duration = Duration::from_secs(3);
/// How long the last log lines may take to be written.
const LOG_PATIENCE: Duration = Duration::from_secs(1);
/// Enough that a scrape does not wait for a translation.
const WORKERS: usize = 2;

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error("the manifests cannot be found")]
    Sources,
    #[error("no listener can be served")]
    NoListener,
    #[error("cannot start")]
    Io(#[from] io::Error),
}

impl RunError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            RunError::NoListener => Some(
                "the conditions above say why; without any Gateway, see that the manifests have one, and its GatewayClass",
            ),
            RunError::Sources | RunError::Io(_) => None,
        }
    }
}

/// Runs until told to stop, and gives the exit code.
pub fn run(options: RunOptions) -> ExitCode {
    let sources = match options.sources.clone().or_current_folder("run") {
        Ok(sources) => sources,
        Err(usage) => {
            eprint!("{}", usage.report());
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let options = RunOptions { sources, ..options };
    let log = logging::init_on(options.log_format, &options.log, io::stderr()).ok();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            eprint!("{}", report(&error, None));
            return ExitCode::from(EXIT_PROBLEM);
        }
    };
    let result = runtime.block_on(serve(&options));
    // A name that is still being looked up, or a file that hangs, must not hold up the end.
    runtime.shutdown_background();
    if let Some(log) = log {
        log.flush(LOG_PATIENCE);
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("{}", report(&error, error.hint()));
            ExitCode::from(EXIT_PROBLEM)
        }
    }
}

async fn serve(options: &RunOptions) -> Result<(), RunError> {
    let output = Output::new(options.output);
    let mut signals = Signals::listen()?;
    let found = options.sources.find();
    if found.problems.iter().any(|problem| problem.is_error()) {
        for problem in &found.problems {
            output.problem(problem, None);
        }
        return Err(RunError::Sources);
    }
    let (first, mut follower) = Follower::start(options.sources.clone())?;
    let fleet = Fleet::new(fleet_options(options));
    let console = Arc::new(Console::new(fleet.roster()));
    let servers = Servers::open(options, &fleet.roster(), Arc::clone(&console) as _);
    for missing in &servers.missing {
        output.no_server(missing);
    }
    let addresses = HostAddresses::given_or_found(&options.addresses);
    let mut engine = Engine::new(addresses, options.port_offset, fleet);
    let report = engine.take(first).await;
    console.publish(&engine);
    for problem in &report.new_problems {
        output.problem(problem, None);
    }
    // Perhaps all there is to serve is in a file that takes its time.
    while engine.fleet().open_listeners() == 0 && !follower.has_read_all() {
        let report = engine.take(follower.next().await).await;
        for problem in &report.new_problems {
            output.problem(problem, None);
        }
        console.publish(&engine);
    }
    let summary = || Summary::of(&engine, &servers.urls, unix_seconds());
    output.ready_or_not(&summary(), engine.fleet().open_listeners() > 0);
    if engine.fleet().open_listeners() == 0 {
        servers.stop().await;
        engine.into_fleet().stop().await;
        return Err(RunError::NoListener);
    }
    let signal = follow(
        &mut engine,
        &mut follower,
        &mut signals,
        &output,
        &servers,
        &console,
    )
    .await;
    let drained = match signal {
        Signal::Interrupt => engine.fleet().sessions().await == 0,
        Signal::Terminate => drain(&engine, &mut signals, &output, options).await,
    };
    servers.stop().await;
    engine.into_fleet().stop().await;
    output.stopped(Stopped {
        by: signal.as_str(),
        drained,
    });
    Ok(())
}

/// Follows the files until told to stop.
async fn follow(
    engine: &mut Engine,
    follower: &mut Follower,
    signals: &mut Signals,
    output: &Output,
    servers: &Servers,
    console: &Console,
) -> Signal {
    let mut retry_at = Instant::now() + RETRY;
    loop {
        let report = tokio::select! {
            signal = signals.next() => return signal,
            news = follower.next() => engine.take(news).await,
            () = tokio::time::sleep_until(retry_at) => {
                retry_at = Instant::now() + RETRY;
                match engine.fleet().wants_retry() {
                    true => engine.retry().await,
                    false => continue,
                }
            }
        };
        if !report.is_empty() {
            let summary = Summary::of(engine, &servers.urls, unix_seconds());
            output.changed(&report, &summary);
            console.publish(engine);
        }
    }
}

/// Waits for sessions to end; `true` when none was left. A second signal ends the wait.
async fn drain(
    engine: &Engine,
    signals: &mut Signals,
    output: &Output,
    options: &RunOptions,
) -> bool {
    let sessions = engine.fleet().sessions().await;
    if sessions > 0 {
        output.draining(sessions, options.drain_timeout.as_secs());
    }
    tokio::select! {
        drained = engine.fleet().drain() => drained,
        _ = signals.next() => false,
    }
}

fn fleet_options(options: &RunOptions) -> FleetOptions {
    FleetOptions {
        dataplane: embed::Options {
            host: Host::new(),
            relay_port_range: options
                .relay_port_range
                .map(|(first, last)| PortRange::new(first, last)),
            allow_loopback_peers: options.allow_loopback_peers,
            credential_grace: options.credential_grace,
            max_ephemeral_lifetime: options.max_ephemeral_lifetime,
            unauth_rate_limit: options.unauth_rate_limit,
            max_connections_per_source: options.max_connections_per_source,
            max_handshakes: options.max_handshakes,
            stale_allocation_timeout: options.stale_allocation_timeout,
            ..embed::Options::default()
        },
        threads: (options.udp_thread_num > 0).then_some(options.udp_thread_num),
        cpus: host::cpus_granted(),
        drain_timeout: options.drain_timeout,
    }
}

fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}
