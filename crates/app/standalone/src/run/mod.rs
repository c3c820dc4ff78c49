//! `stunner run`: serves the Gateways of manifests in this process.
//!
//! [`engine`] turns what the files say into running dataplanes and [`attend`] keeps it at that, [`output`] tells what
//! happens, [`servers`] are the HTTP servers beside them, [`console`] answers the web console. This file is the life of
//! the process.

mod attend;
mod console;
mod engine;
mod output;
mod servers;
mod signals;
mod summary;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stunner_config::PortRange;
use stunner_dataplane::embed::{self, Host};
use stunner_flags::{EXIT_PROBLEM, EXIT_USAGE, report};
use stunner_net::host;
use stunner_process::{block_on, say};
use stunner_telemetry::logging;
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, sleep_until};

use self::attend::Attendant;
use self::console::Console;
use self::engine::Engine;
use self::output::{Output, Stopped};
use self::servers::Servers;
use self::signals::{Signal, Signals};
use self::summary::Summary;
use crate::cli::RunOptions;
use crate::local::{DRAIN_TICK, Fleet, FleetOptions, HostAddresses};
use crate::provider::Follower;

/// How long the last log lines may take to be written.
const LOG_PATIENCE: Duration = Duration::from_secs(1);
/// How long the last events may.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(1);
/// Enough that a scrape does not wait for a translation.
const WORKERS: usize = 2;

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error("the manifests cannot be found")]
    Sources,
    #[error("there is nothing to serve: the manifests have no Gateway")]
    NoGateway,
    #[error("no listener can be served")]
    NoListener,
    #[error("cannot start")]
    Io(#[from] io::Error),
}

impl RunError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            RunError::NoGateway => Some(
                "add a Gateway and its GatewayClass; `stunner init DIR` writes a starter folder that has both",
            ),
            RunError::NoListener => Some("what is said above is in the way"),
            RunError::Sources | RunError::Io(_) => None,
        }
    }
}

/// Runs until told to stop, and gives the exit code.
pub fn run(options: RunOptions) -> ExitCode {
    let sources = match options.sources.clone().or_current_folder("run") {
        Ok(sources) => sources,
        Err(usage) => {
            say(&usage.report());
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let options = RunOptions { sources, ..options };
    let log = logging::init_on(options.log_format, &options.log, io::stderr()).ok();
    let output = match Output::new(options.output) {
        Ok(output) => output,
        Err(error) => {
            say(&report(&error, None));
            return ExitCode::from(EXIT_PROBLEM);
        }
    };
    let runtime = &mut Builder::new_multi_thread();
    let served = block_on(runtime.worker_threads(WORKERS), serve(&options, &output));
    if let Some(log) = log {
        log.flush(LOG_PATIENCE);
    }
    let code = match served.map_err(RunError::from).flatten() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.complain(report(&error, error.hint()));
            ExitCode::from(EXIT_PROBLEM)
        }
    };
    output.flush(OUTPUT_PATIENCE);
    code
}

async fn serve(options: &RunOptions, output: &Output) -> Result<(), RunError> {
    let mut signals = Signals::listen()?;
    let found = options.sources.find();
    if found.problems.iter().any(|problem| problem.is_error()) {
        for problem in &found.problems {
            output.problem(problem, None);
        }
        return Err(RunError::Sources);
    }
    let sources = options.sources.clone();
    // Standard input, or a file system, may keep it waiting.
    let starting = tokio::task::spawn_blocking(|| Follower::start(sources));
    let (first, mut follower) = tokio::select! {
        started = starting => started.map_err(io::Error::other)??,
        signal = signals.next() => {
            output.stopped(Stopped { by: signal.as_str(), drained: true });
            return Ok(());
        }
    };
    let fleet = Fleet::new(fleet_options(options));
    let console = Arc::new(Console::new(fleet.roster()));
    let servers = Servers::open(options, &fleet.roster(), Arc::clone(&console) as _);
    for missing in &servers.missing {
        output.no_server(missing);
    }
    let addresses = HostAddresses::given_or_found(&options.addresses);
    let max_lifetime = options
        .max_ephemeral_lifetime
        .map(|lifetime| lifetime.as_secs());
    let mut engine = Engine::new(addresses, options.port_offset, max_lifetime, fleet);
    let report = engine.take(first).await;
    console.publish(&engine);
    output.problems(&report);
    // Perhaps all there is to serve is in a file that takes its time.
    while engine.fleet().open_listeners() == 0 && !follower.has_read_all() {
        let news = tokio::select! {
            news = follower.next() => news,
            signal = signals.next() => {
                output.stopped(Stopped { by: signal.as_str(), drained: true });
                return Ok(());
            }
        };
        let report = engine.take(news).await;
        output.problems(&report);
        console.publish(&engine);
    }
    let is_ready = engine.fleet().open_listeners() > 0;
    if !is_ready && let Some(question) = engine.question() {
        let report = engine.hear(question.answer());
        output.problems(&report);
    }
    let summary = Summary::of(&engine, &servers.urls, unix_seconds());
    if is_ready {
        output.ready(&summary);
    } else {
        let error = match engine.snapshot().gateways().next() {
            Some(_) => RunError::NoListener,
            None => RunError::NoGateway,
        };
        output.not_ready(&summary, &error.to_string());
        servers.stop().await;
        engine.into_fleet().stop().await;
        return Err(error);
    }
    let mut attendant = Attendant::new(
        engine,
        follower,
        output.clone(),
        servers.urls.clone(),
        console,
    );
    let signal = attend(&mut attendant, &mut signals).await;
    let drained = match signal {
        Signal::Interrupt => attendant.engine.fleet().is_drained().await,
        Signal::Terminate => drain(&mut attendant, &mut signals, options).await,
    };
    servers.stop().await;
    attendant.engine.into_fleet().stop().await;
    output.stopped(Stopped {
        by: signal.as_str(),
        drained,
    });
    Ok(())
}

/// Follows the files until told to stop.
async fn attend(attendant: &mut Attendant, signals: &mut Signals) -> Signal {
    loop {
        let call = tokio::select! {
            signal = signals.next() => return signal,
            call = attendant.next() => call,
        };
        attendant.answer(call).await;
    }
}

/// Waits for sessions to end; `true` when none was left. A second signal ends the wait, an edit does not.
async fn drain(attendant: &mut Attendant, signals: &mut Signals, options: &RunOptions) -> bool {
    let deadline = Instant::now() + options.drain_timeout;
    attendant.engine.fleet_mut().start_draining().await;
    let sessions = attendant.engine.fleet().sessions();
    let sessions = sessions.kept + sessions.draining;
    if sessions > 0 {
        let seconds = options.drain_timeout.as_secs();
        attendant.output.draining(sessions, seconds);
    }
    loop {
        if attendant.engine.fleet().is_drained().await {
            return true;
        }
        let call = tokio::select! {
            _ = signals.next() => return false,
            () = sleep_until(deadline) => return false,
            () = sleep(DRAIN_TICK) => continue,
            call = attendant.next() => call,
        };
        attendant.answer(call).await;
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
            listen_addresses: listen_addresses(&options.addresses),
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

/// Where listeners are to be reached. A public address may be that of a NAT, which cannot be bound, so that they listen
/// everywhere; whoever names nothing but loopback wants to be alone.
fn listen_addresses(given: &[IpAddr]) -> Vec<IpAddr> {
    if given.is_empty() || !given.iter().all(IpAddr::is_loopback) {
        return Vec::new();
    }
    // `localhost` may be either.
    let both: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let of_family = |usual: IpAddr| {
        let mut given = given.iter();
        let found = given.find(|address| address.is_ipv4() == usual.is_ipv4());
        found.copied().unwrap_or(usual)
    };
    both.map(of_family).to_vec()
}

fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}
