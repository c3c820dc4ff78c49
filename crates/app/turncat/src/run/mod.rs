//! The life of the process: find the server, try it, serve clients, say what went through.

mod failure;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use stunner_flags::{EXIT_OK, EXIT_PROBLEM};
use stunner_process::{Signals, block_on, print_only, say};
use stunner_telemetry::logging;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{debug, info};

pub use failure::Failure;

use crate::VERSION;
use crate::cli::{self, Command, Options};
use crate::ends::PeerTransport;
use crate::local::Local;
use crate::server::{Discovery, ServerEnd, Target};
use crate::tunnel::{Route, Settings};

/// How long clients may take to give back their allocations in the end.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long the last log lines may take to be written.
const LOG_PATIENCE: Duration = Duration::from_secs(1);

/// The `turncat` program: reads the command line, does what it says, gives the exit code.
pub fn main() -> ExitCode {
    let env = |name: &str| std::env::var(name).ok();
    match cli::parse(std::env::args_os(), &env) {
        Ok(Command::Help) => print_only(&cli::help()),
        Ok(Command::Version) => print_only(&format!("turncat {VERSION}\n")),
        Ok(Command::Run(options)) => execute(*options),
        Err(error) => {
            say(&error.report());
            ExitCode::from(error.exit_code())
        }
    }
}

fn execute(options: Options) -> ExitCode {
    let log = logging::init_on(logging::Format::Text, &options.log, io::stderr()).ok();
    // A read of standard input that is under way cannot be ended.
    let result = block_on(&mut Builder::new_multi_thread(), supervise(options));
    let result = result.map_err(Failure::Start).flatten();
    if let Some(log) = log {
        log.flush(LOG_PATIENCE);
    }
    match result {
        Ok(()) => ExitCode::from(EXIT_OK),
        Err(failure) => {
            say(&failure.report());
            ExitCode::from(EXIT_PROBLEM)
        }
    }
}

/// Works until the work ends by itself or a signal ends it; a second signal ends it at once.
async fn supervise(options: Options) -> Result<(), Failure> {
    let signals = Signals::listen().map_err(Failure::Start)?;
    let (stop, stopped) = watch::channel(false);
    let work = work(options, stopped);
    tokio::pin!(work);
    tokio::select! {
        result = &mut work => return result,
        () = signals.at_least(1) => {}
    }
    debug!("stopping");
    // Nobody may be serving yet: then there is nothing to give back.
    let _ = stop.send(true);
    tokio::select! {
        _ = timeout(FAREWELL, work) => {}
        () = signals.at_least(2) => {}
    }
    Ok(())
}

async fn work(options: Options, mut stop: watch::Receiver<bool>) -> Result<(), Failure> {
    let starting = start(&options);
    let (local, route) = tokio::select! {
        started = starting => started?,
        _ = stop.wait_for(|stop| *stop) => return Ok(()),
    };
    let _report = Report(Arc::clone(&route));
    if !local.is_stdio() {
        let (server, peer) = (route.target().uri, &route.peer);
        say(&format!(
            "turncat: {local} leads through {server} to {peer}\n"
        ));
    }
    Ok(local.serve(route, stop).await?)
}

/// Everything up to the first client.
async fn start(options: &Options) -> Result<(Local, Arc<Route>), Failure> {
    let (target, discovery) = match &options.server {
        ServerEnd::Uri(uri) => (Target::of_uri(uri, options.secret.as_ref()), None),
        ServerEnd::Gateway(name) => {
            let secret = options.secret.clone();
            let discovery = Discovery::find(name, &options.kubectl, &options.cds, secret).await?;
            (discovery.target().await?, Some(discovery))
        }
    };
    info!("the server is {}", target.uri);
    let transport = target.uri.transport;
    if options.peer.transport == PeerTransport::Tcp && !transport.is_stream() {
        return Err(Failure::TcpPeer(transport));
    }
    // Clients that come while the server is being tried wait in the queue of the socket.
    let local = Local::open(&options.local).await?;
    let settings = Settings {
        sni: options.sni.clone(),
        insecure: options.insecure,
        connect_timeout: options.connect_timeout,
        reconnect_timeout: options.reconnect_timeout,
        idle_timeout: options.idle_timeout,
        linger: options.linger,
        max_datagram: options.max_datagram,
    };
    let route = Route::new(target, discovery, options.peer.clone(), settings);
    // With standard input the first allocation is made at once, and tells the same.
    if options.check && !local.is_stdio() {
        route.check().await?;
    }
    Ok((local, Arc::new(route)))
}

/// Says what went through, however the work ends.
struct Report(Arc<Route>);

impl Drop for Report {
    fn drop(&mut self) {
        let server = self.0.target().uri.to_string();
        let report = self.0.statistics.report(&server);
        for line in report.lines() {
            say(&format!("turncat: {line}\n"));
        }
    }
}
