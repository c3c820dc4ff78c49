//! `stunner bench`: load for a TURN server, and what became of it.
//!
//! One client goes ahead and allocates, as its errors say best what is wrong; then the sessions of [`stunner_load`] follow.

mod json;
mod numbers;
mod options;
mod problem;
mod report;
mod screen;
mod tally;

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use openssl::error::ErrorStack;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stunner_client::{
    AllocateOptions, Connect, Relay, RelayTransport, ServerTransport, ServerUri, UriError,
};
use stunner_flags::EXIT_PROBLEM;
use stunner_load::{BurstMode, Far, Handshake, Load, Protocol, Swarm, Target, Traffic, Transport};
use stunner_process::{Signals, block_on, print};
use tokio::net::lookup_host;
use tokio::runtime::Builder;
use tokio::task::block_in_place;

pub use options::BenchOptions;

use problem::Problem;
use report::Shape;
use screen::{Scene, Screen};
use tally::Tally;

/// A session that carries no traffic this long after its start has failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// Minted credentials outlive the measurement by this.
const CREDENTIAL_SLACK: Duration = Duration::from_secs(3600);
/// Files of the process itself.
const OTHER_FILES: u64 = 64;

/// Puts load on a server and prints the result.
pub fn bench(options: BenchOptions) -> ExitCode {
    let runtime = &mut Builder::new_multi_thread();
    let done = block_on(runtime.worker_threads(1), measure(&options)).unwrap_or_else(|error| {
        let hint = "look at the limits of processes and memory";
        Err(Problem::new(format!("no runtime: {error}"), hint))
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(EXIT_PROBLEM),
        Err(problem) => {
            if options.json {
                // The exit code says already that something is wrong.
                let _ = print(&format!("{}\n", json::failure(&problem)));
            }
            problem.tell();
            ExitCode::from(EXIT_PROBLEM)
        }
    }
}

/// Whether all is well: every session worked, and no more was lost than allowed.
async fn measure(options: &BenchOptions) -> Result<bool, Problem> {
    allow_files(options.sessions)?;
    let uri: ServerUri = options.server.parse().map_err(|error: UriError| {
        let example = "for example `turn://user:password@192.0.2.7:3478?transport=udp`";
        Problem::new(format!("no TURN server: {error}"), example)
    })?;
    let (load, peer) = prepare(options, &uri).await?;
    let start = Instant::now();
    let swarm = Swarm::start(&load)
        .map_err(|error| Problem::new(error.to_string(), "see --peer-address"))?;
    tokio::spawn(end_on_signal(swarm.stopper()));
    let tally = block_in_place(|| follow(options, swarm, start));
    let server = load.target.address.to_string();
    let shape = Shape {
        server: &server,
        transport: &uri.transport.to_string(),
        options,
    };
    let is_printed = match options.json {
        true => print(&format!("{}\n", json::result(shape, &tally))),
        false => print(&report::report(shape, &tally)),
    };
    let problems = problem::of(&tally, options.max_loss, &peer);
    problems.iter().for_each(Problem::tell);
    Ok(problems.is_empty() && is_printed)
}

/// The first signal ends the measurement with what there is, the second one at once.
async fn end_on_signal(stop: Arc<AtomicBool>) {
    if let Ok(signals) = Signals::listen() {
        signals.at_least(1).await;
        stop.store(true, Ordering::Relaxed);
        signals.at_least(2).await;
        std::process::exit(130);
    }
}

/// Follows the load to its end.
fn follow(options: &BenchOptions, swarm: Swarm, start: Instant) -> Tally {
    let mut tally = Tally::new(options.sessions);
    let mut screen = Screen::open(options.quiet);
    let scene = Scene {
        size: options.size,
        duration: options.duration,
    };
    while let Some(sample) = swarm.next() {
        if tally.add(sample, start.elapsed()) {
            screen.show(scene, &tally);
        }
    }
    tally.finish(start.elapsed());
    screen.close();
    tally
}

/// Finds server and peer, and sees whether one client gets through to the server.
async fn prepare(options: &BenchOptions, uri: &ServerUri) -> Result<(Load, String), Problem> {
    let (username, password) = credential(options, uri)?;
    let servers = Connect::to_each(uri).await?.into_iter().map(|mut connect| {
        connect.tls.insecure = options.insecure;
        if options.sni.is_some() {
            connect.tls.sni.clone_from(&options.sni);
        }
        connect.with_password(&username, &password)
    });
    let servers: Vec<Connect> = servers.collect();
    let echo = match &options.echo {
        Some(echo) => Some(resolve(echo, servers[0].server.is_ipv4()).await?),
        None => None,
    };
    let (connect, local) = go_ahead(servers, echo).await?;
    let (far, peer) = match echo {
        Some(echo) => (Far::Echo(echo), echo.to_string()),
        None => {
            let address: IpAddr = options.peer_address.unwrap_or(local);
            (Far::Here(address), address.to_string())
        }
    };
    let server = connect.server;
    let transport = transport(&connect)
        .map_err(|error| Problem::new(format!("TLS cannot be used: {error}"), "try without TLS"))?;
    let load = Load {
        target: Target {
            address: server,
            protocol: Protocol::Turn(transport),
            username,
            password,
        },
        peer: far,
        sessions: options.sessions,
        traffic: Traffic {
            payload: options.size,
            burst: 1,
            mode: BurstMode::Mmsg,
            direction: options.direction,
        },
        rate: options.rate,
        window: options.window,
        ramp: options.ramp,
        duration: options.duration,
        threads: options.threads,
        patience: PATIENCE,
    };
    Ok((load, peer))
}

/// Allocates once at the first address of the server that answers; that address, and ours on the way to it.
async fn go_ahead(
    servers: Vec<Connect>,
    echo: Option<SocketAddr>,
) -> Result<(Connect, IpAddr), Problem> {
    let mut failure = None;
    for connect in servers {
        let wanted = match echo {
            Some(echo) => connect.options_for(echo, RelayTransport::Udp),
            None => AllocateOptions::default(),
        };
        match Relay::allocate(connect.clone(), wanted).await {
            Ok(relay) => {
                let local = relay.local().ip();
                relay.close().await;
                return Ok((connect, local));
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Err(failure.map_or_else(
        || Problem::new("the server has no address", "check its name"),
        Problem::from,
    ))
}

fn credential(options: &BenchOptions, uri: &ServerUri) -> Result<(String, String), Problem> {
    let (username, password) = options.credential(uri);
    if let Some(secret) = &options.secret {
        let now = SystemTime::UNIX_EPOCH
            .elapsed()
            .map_or(0, |age| age.as_secs());
        let ttl = options.ramp + options.duration + CREDENTIAL_SLACK;
        let user = username.unwrap_or_default();
        let minted = stunner_credentials::mint(secret, now, ttl.as_secs(), &user);
        return Ok((minted.username, minted.password));
    }
    match (username, password) {
        (Some(username), Some(password)) => Ok((username, password)),
        _ => Err(Problem::new(
            "there is no credential for the server",
            "write it into the URI (turn://user:password@host:port), or give --username and --password, or --secret",
        )),
    }
}

async fn resolve(echo: &str, is_ipv4: bool) -> Result<SocketAddr, Problem> {
    let hint = "give --echo an address and port, such as `192.0.2.9:7`";
    let found = lookup_host(echo)
        .await
        .map_err(|error| Problem::new(format!("no such peer `{echo}`: {error}"), hint))?;
    let found: Vec<SocketAddr> = found.collect();
    let fitting = found.iter().find(|address| address.is_ipv4() == is_ipv4);
    let any = fitting.or(found.first()).copied();
    any.ok_or_else(|| Problem::new(format!("`{echo}` has no address"), hint))
}

/// The client that went ahead has judged the certificate.
fn transport(connect: &Connect) -> Result<Transport, ErrorStack> {
    let address = connect.server.ip().to_string();
    let name = connect.tls.sni.as_deref().unwrap_or(&address);
    Ok(match connect.transport {
        ServerTransport::Udp => Transport::Udp,
        ServerTransport::Tcp => Transport::Tcp,
        ServerTransport::Tls => Transport::Tls(Handshake::tls(name)?),
        ServerTransport::Dtls => Transport::Dtls(Handshake::dtls(name)?),
    })
}

/// A session is a file or two; most limits are lower than they need be.
fn allow_files(sessions: usize) -> Result<(), Problem> {
    let needed = sessions as u64 + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let wanted = Rlimit {
        current: Some(limit.maximum.map_or(needed, |most| needed.min(most))),
        maximum: limit.maximum,
    };
    let _ = setrlimit(Resource::Nofile, wanted);
    match limit.maximum {
        Some(most) if most < needed => Err(Problem::new(
            format!("{sessions} sessions need {needed} open files, and the limit is {most}"),
            format!("raise it with `ulimit -n {needed}`, or ask for fewer sessions"),
        )),
        _ => Ok(()),
    }
}
