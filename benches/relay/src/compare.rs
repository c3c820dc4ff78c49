//! Several servers, one machine: every round measures every server, so that a slow minute of the
//! machine hits all of them, and medians of rounds are compared.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use thiserror::Error;

use stunner_load::{
    BurstMode, Direction, Generator, Outcome, Pace, PeerPlace, SessionError, Traffic,
};

use crate::allocations;
use crate::process::{Cores, count_cores, load_average, machine};
use crate::report::{
    AllocationReport, Machine, Method, RatedReport, RelayReport, Report, SCHEMA, SaturatedReport,
    ServerReport,
};
use crate::server::{PEER_IP, Server, ServerError, ServerKind};

/// What to compare and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The servers, in the order of the report.
    pub servers: Vec<ServerKind>,
    /// How often everything is measured.
    pub rounds: usize,
    /// Payload sizes.
    pub payloads: Vec<usize>,
    /// Packets in a row.
    pub bursts: Vec<usize>,
    /// How bursts are sent.
    pub modes: Vec<BurstMode>,
    /// Which way packets go.
    pub direction: Direction,
    /// Sessions per server.
    pub sessions: usize,
    /// Packets per second for CPU and latency.
    pub rates: Vec<u64>,
    /// Packets under way for packets/s.
    pub window: usize,
    /// Length of each measurement.
    pub duration: Duration,
    /// Allocations for memory and allocations/s; 0 leaves them out.
    pub allocations: usize,
    /// Whether clients and peer receive groups (UDP_GRO).
    pub receive_gro: bool,
    /// Where generator and servers run; `None` leaves it to the scheduler.
    pub cores: Option<Cores>,
}

/// Why a comparison ended early.
#[derive(Debug, Error)]
pub enum CompareError {
    /// A server did not come up.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Traffic through a server failed.
    #[error("`{server}`: {error}")]
    Traffic {
        /// Which server.
        server: String,
        /// What happened.
        error: SessionError,
    },
}

/// A server with its sessions.
struct Running {
    index: usize,
    server: Server,
    generator: Generator,
}

/// Runs the plan; `progress` gets a line now and then.
pub fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> Result<Report, CompareError> {
    let mut report = empty_report(plan);
    for round in 0..plan.rounds {
        progress(&format!("round {} of {}", round + 1, plan.rounds));
        let order = order(plan.servers.len(), round);
        if plan.allocations > 0 {
            for &index in &order {
                measure_allocations(plan, index, &mut report)?;
            }
        }
        let mut running = Vec::new();
        for &index in &order {
            running.push(start(plan, index, &mut report)?);
        }
        for (shape, traffic) in shapes(plan).into_iter().enumerate() {
            for (index, &rate) in plan.rates.iter().enumerate() {
                for one in &mut running {
                    let figures = &mut report.servers[one.index].relay[shape].rated[index];
                    measure_at_rate(plan, one, &traffic, rate, figures)?;
                }
            }
            for one in &mut running {
                let figures = &mut report.servers[one.index].relay[shape].saturated;
                measure_saturated(plan, one, &traffic, figures)?;
            }
        }
    }
    Ok(report)
}

/// Every round begins with another server.
fn order(count: usize, round: usize) -> Vec<usize> {
    (0..count).map(|index| (index + round) % count).collect()
}

/// Every shape of traffic once; the burst mode makes no difference to single packets.
fn shapes(plan: &Plan) -> Vec<Traffic> {
    let mut shapes = Vec::new();
    for &payload in &plan.payloads {
        for &burst in &plan.bursts {
            for &mode in plan
                .modes
                .iter()
                .take(if burst == 1 { 1 } else { plan.modes.len() })
            {
                shapes.push(Traffic {
                    payload,
                    burst,
                    mode,
                    direction: plan.direction,
                });
            }
        }
    }
    shapes
}

fn start(plan: &Plan, index: usize, report: &mut Report) -> Result<Running, CompareError> {
    let kind = &plan.servers[index];
    let at = |error| CompareError::Traffic {
        server: kind.name(),
        error,
    };
    let peer = PeerPlace::here(SocketAddr::from((PEER_IP, 0)), plan.receive_gro)
        .map_err(|error| at(error.into()))?;
    let server = kind.start(peer.address(), plan.cores.map(|cores| cores.server))?;
    if report.servers[index].command.is_empty() {
        report.servers[index].command = server.command.clone();
    }
    let target = server.target();
    let mut generator =
        Generator::open(target, peer, plan.sessions, plan.receive_gro).map_err(at)?;
    // Caches, lazily made buffers and branch predictors are not what is compared.
    let warm_up = Traffic {
        payload: plan.payloads.first().copied().unwrap_or(200),
        burst: 1,
        mode: BurstMode::Mmsg,
        direction: plan.direction,
    };
    let brief = Duration::from_millis(200).min(plan.duration);
    generator
        .run(&warm_up, Pace::Rate(20_000), brief)
        .map_err(at)?;
    Ok(Running {
        index,
        server,
        generator,
    })
}

fn measure_allocations(plan: &Plan, index: usize, report: &mut Report) -> Result<(), CompareError> {
    let kind = &plan.servers[index];
    let Some(figures) = &mut report.servers[index].allocations else {
        return Ok(());
    };
    let peer = SocketAddr::from((PEER_IP, 9));
    let server = kind.start(peer, plan.cores.map(|cores| cores.server))?;
    let target = server.target();
    let outcome = allocations::measure(&target, &server.process, peer, plan.allocations).map_err(
        |error| CompareError::Traffic {
            server: kind.name(),
            error,
        },
    )?;
    figures.per_second.add(outcome.per_second);
    figures.bytes_each.add(outcome.bytes_each);
    Ok(())
}

/// CPU time per packet and latency, at a rate all servers are given.
fn measure_at_rate(
    plan: &Plan,
    one: &mut Running,
    traffic: &Traffic,
    rate: u64,
    figures: &mut RatedReport,
) -> Result<(), CompareError> {
    let (outcome, cpu, _) = metered(plan, one, traffic, Pace::Rate(rate))?;
    figures.cpu_us_per_packet.add(micros_each(cpu, &outcome));
    figures.loss.add(outcome.loss());
    let wanted = outcome.total().sent + outcome.skipped;
    figures
        .skipped
        .add(outcome.skipped as f64 / wanted.max(1) as f64);
    if let Some(p50) = outcome.latencies.percentile(50.0) {
        figures.latency_p50_us.add(micros(p50));
    }
    if let Some(p99) = outcome.latencies.percentile(99.0) {
        figures.latency_p99_us.add(micros(p99));
    }
    Ok(())
}

/// Packets per second with a full window, and whether the server was the limit.
fn measure_saturated(
    plan: &Plan,
    one: &mut Running,
    traffic: &Traffic,
    figures: &mut SaturatedReport,
) -> Result<(), CompareError> {
    let (outcome, cpu, elapsed) = metered(plan, one, traffic, Pace::Window(plan.window))?;
    figures.packets_per_second.add(outcome.packets_per_second());
    figures.cpu_us_per_packet.add(micros_each(cpu, &outcome));
    figures.loss.add(outcome.loss());
    figures
        .busy
        .add(cpu as f64 / elapsed.as_nanos().max(1) as f64);
    Ok(())
}

fn micros(latency: Duration) -> f64 {
    latency.as_nanos() as f64 / 1000.0
}

fn micros_each(cpu_nanos: u64, outcome: &Outcome) -> f64 {
    cpu_nanos as f64 / 1000.0 / outcome.total().received.max(1) as f64
}

/// Runs traffic and reads the server's CPU clock around it.
fn metered(
    plan: &Plan,
    one: &mut Running,
    traffic: &Traffic,
    pace: Pace,
) -> Result<(Outcome, u64, Duration), CompareError> {
    let at = |error: SessionError| CompareError::Traffic {
        server: one.server.name.clone(),
        error,
    };
    let before = one
        .server
        .process
        .cpu_nanos()
        .map_err(|error| at(error.into()))?;
    let start = Instant::now();
    let outcome = one
        .generator
        .run(traffic, pace, plan.duration)
        .map_err(at)?;
    let elapsed = start.elapsed();
    let after = one
        .server
        .process
        .cpu_nanos()
        .map_err(|error| at(error.into()))?;
    Ok((outcome, after.saturating_sub(before), elapsed))
}

/// The names of the command line.
pub fn mode_name(mode: BurstMode) -> &'static str {
    match mode {
        BurstMode::Gso => "gso",
        BurstMode::Mmsg => "mmsg",
    }
}

/// The names of the command line.
pub fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::ToPeer => "to-peer",
        Direction::ToClient => "to-client",
        Direction::Both => "both",
    }
}

fn empty_report(plan: &Plan) -> Report {
    let (cpu, kernel) = machine();
    let servers = plan.servers.iter().map(|kind| ServerReport {
        name: kind.name(),
        command: String::new(),
        allocations: (kind.is_turn() && plan.allocations > 0).then(|| AllocationReport {
            count: plan.allocations,
            ..AllocationReport::default()
        }),
        relay: shapes(plan)
            .iter()
            .map(|shape| {
                RelayReport::new(
                    shape.payload,
                    shape.burst,
                    mode_name(shape.mode),
                    &plan.rates,
                )
            })
            .collect(),
    });
    Report {
        schema: SCHEMA,
        machine: Machine {
            cpu,
            cores: count_cores(),
            kernel,
            load_average: load_average(),
            generator_core: plan.cores.map(|cores| cores.generator),
            server_core: plan.cores.map(|cores| cores.server),
        },
        method: Method {
            rounds: plan.rounds,
            sessions: plan.sessions,
            rates: plan.rates.clone(),
            window: plan.window,
            seconds: plan.duration.as_secs_f64(),
            direction: direction_name(plan.direction).to_owned(),
            receive: if plan.receive_gro { "gro" } else { "plain" }.to_owned(),
        },
        servers: servers.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_begins_with_another_server() {
        assert_eq!(order(2, 0), [0, 1]);
        assert_eq!(order(2, 1), [1, 0]);
        assert_eq!(order(3, 2), [2, 0, 1]);
    }
}
