//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use stunner_load::{BurstMode, Direction, STAMP_LEN};

use crate::compare::{self, CompareError, Plan};
use crate::forwarder;
use crate::process::{Cores, allow_many_files, count_cores, pin_self};
use crate::server::{Forwarding, ServerKind};

#[derive(Debug, Parser)]
#[command(
    about = "Relay benchmark: TURN servers side by side on this machine",
    version
)]
struct Cli {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Measure several servers in turns and print medians.
    Compare(Compare),
    /// Forward packets without TURN; started by `compare` for the forwarder servers.
    #[command(hide = true)]
    Forward {
        #[arg(long)]
        mode: ForwardArg,
        #[arg(long)]
        listen: SocketAddr,
        #[arg(long)]
        peer: SocketAddr,
    },
}

#[derive(Debug, Args)]
struct Compare {
    /// Servers to compare.
    #[arg(long, value_delimiter = ',', default_values = ["stunnerd", "coturn"])]
    servers: Vec<ServerArg>,
    /// Another TURN server: NAME=COMMAND with {port}, {user}, {pass}, {realm} and {peer} filled in.
    #[arg(long, value_name = "NAME=COMMAND", value_parser = external)]
    external: Vec<ServerKind>,
    /// The stunnerd to run instead of this workspace's release build.
    #[arg(long, value_name = "PATH")]
    stunnerd: Option<PathBuf>,
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Packets a sender sends in a row.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 32])]
    bursts: Vec<usize>,
    /// How bursts reach the kernel: one segmented message, or one sendmmsg.
    #[arg(long, value_delimiter = ',', default_values = ["gso"])]
    burst_mode: Vec<BurstArg>,
    /// Payload bytes.
    #[arg(long, value_delimiter = ',', default_values_t = [200])]
    payload: Vec<usize>,
    /// Clients, each with one channel.
    #[arg(long, default_value_t = 50)]
    sessions: usize,
    /// Packets per second for the CPU and latency figures.
    #[arg(long, value_delimiter = ',', default_values_t = [20_000, 100_000])]
    rates: Vec<u64>,
    /// Packets under way for the packets/s figure.
    #[arg(long, default_value_t = 128)]
    window: usize,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[arg(long, default_value = "both")]
    direction: DirectionArg,
    /// Whether clients and peer receive packet by packet, as most applications do, or in groups.
    #[arg(long, default_value = "plain")]
    receive: ReceiveArg,
    /// Allocations for memory and allocations/s; 0 leaves them out.
    #[arg(long, default_value_t = 2000)]
    allocations: usize,
    /// The generator's core.
    #[arg(long, default_value_t = 0)]
    generator_core: usize,
    /// The servers' core.
    #[arg(long, default_value_t = 1)]
    server_core: usize,
    /// Leave placement to the scheduler.
    #[arg(long)]
    no_pin: bool,
    /// Write the result here too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ServerArg {
    Stunnerd,
    Coturn,
    ForwarderSingle,
    ForwarderMmsg,
    ForwarderGso,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BurstArg {
    Gso,
    Mmsg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ForwardArg {
    Single,
    Mmsg,
    Gso,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DirectionArg {
    Both,
    ToPeer,
    ToClient,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum ReceiveArg {
    Plain,
    Gro,
}

fn external(text: &str) -> Result<ServerKind, String> {
    match text.split_once('=') {
        Some((name, command)) if !name.is_empty() && !command.trim().is_empty() => {
            Ok(ServerKind::External {
                name: name.to_owned(),
                command: command.to_owned(),
            })
        }
        _ => Err("expected NAME=COMMAND".to_owned()),
    }
}

impl Compare {
    fn plan(&self) -> Plan {
        let servers = self.servers.iter().map(|server| match server {
            ServerArg::Stunnerd => ServerKind::Stunnerd {
                binary: self.stunnerd.clone(),
            },
            ServerArg::Coturn => ServerKind::Coturn,
            ServerArg::ForwarderSingle => ServerKind::Forwarder(Forwarding::Single),
            ServerArg::ForwarderMmsg => ServerKind::Forwarder(Forwarding::Batch),
            ServerArg::ForwarderGso => ServerKind::Forwarder(Forwarding::Offload),
        });
        let modes = self.burst_mode.iter().map(|mode| match mode {
            BurstArg::Gso => BurstMode::Gso,
            BurstArg::Mmsg => BurstMode::Mmsg,
        });
        Plan {
            servers: servers.chain(self.external.iter().cloned()).collect(),
            rounds: self.rounds.max(1),
            payloads: self
                .payload
                .iter()
                .map(|size| size.clamp(&STAMP_LEN, &1400))
                .copied()
                .collect(),
            bursts: self
                .bursts
                .iter()
                .map(|burst| burst.clamp(&1, &64))
                .copied()
                .collect(),
            modes: modes.collect(),
            direction: match self.direction {
                DirectionArg::Both => Direction::Both,
                DirectionArg::ToPeer => Direction::ToPeer,
                DirectionArg::ToClient => Direction::ToClient,
            },
            sessions: self.sessions.max(1),
            rates: self.rates.iter().map(|rate| (*rate).max(1)).collect(),
            window: self.window.max(1),
            duration: Duration::from_secs_f64(self.seconds.clamp(0.1, 3600.0)),
            allocations: self.allocations,
            receive_gro: self.receive == ReceiveArg::Gro,
            cores: (!self.no_pin).then_some(Cores {
                generator: self.generator_core,
                server: self.server_core,
            }),
        }
    }
}

/// Runs the command line and says what went wrong, if anything.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Action::Compare(arguments) => match run_compare(&arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        },
        Action::Forward { mode, listen, peer } => {
            let mode = match mode {
                ForwardArg::Single => Forwarding::Single,
                ForwardArg::Mmsg => Forwarding::Batch,
                ForwardArg::Gso => Forwarding::Offload,
            };
            match forwarder::run(mode, listen, peer) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("error: the forwarder stopped: {error}");
                    ExitCode::FAILURE
                }
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum CliError {
    #[error(transparent)]
    Compare(#[from] CompareError),
    #[error("`{0}` cannot be written: {1}")]
    Json(PathBuf, std::io::Error),
}

fn run_compare(arguments: &Compare) -> Result<(), CliError> {
    let mut plan = arguments.plan();
    allow_many_files();
    if let Some(cores) = plan.cores
        && (count_cores() < 2 || pin_self(cores.generator).is_err())
    {
        eprintln!("warning: nothing is pinned; generator and servers share cores");
        plan.cores = None;
    }
    let report = compare::run(&plan, |line| eprintln!("{line}"))?;
    print!("{}", report.table());
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&report).map_err(std::io::Error::from);
        text.and_then(|text| std::fs::write(path, text + "\n"))
            .map_err(|error| CliError::Json(path.clone(), error))?;
    }
    Ok(())
}
