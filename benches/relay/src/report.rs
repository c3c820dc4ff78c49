//! The result as values, which serialise to the JSON that README.md documents.

use serde::Serialize;

use crate::statistics::median;

/// Raised when a field changes its meaning.
pub const SCHEMA: u32 = 1;

/// One measured quantity: a sample per round and their median.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figure {
    /// The middle of the samples.
    pub median: Option<f64>,
    /// In the order of the rounds.
    pub samples: Vec<f64>,
}

impl Figure {
    /// Adds the sample of a round.
    pub fn add(&mut self, sample: f64) {
        self.samples.push((sample * 1000.0).round() / 1000.0);
        self.median = median(&self.samples);
    }
}

/// Everything a comparison found out.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Where it ran.
    pub machine: Machine,
    /// How it ran.
    pub method: Method,
    /// In the order asked for.
    pub servers: Vec<ServerReport>,
}

/// Where a comparison ran.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Model name.
    pub cpu: String,
    /// How many of them.
    pub cores: usize,
    /// Release.
    pub kernel: String,
    /// Of the minute before the first round.
    pub load_average: Option<f64>,
    /// The generator's core; absent when nothing is pinned.
    pub generator_core: Option<usize>,
    /// The core of all threads of each server.
    pub server_core: Option<usize>,
}

/// How a comparison ran.
#[derive(Clone, Debug, Serialize)]
pub struct Method {
    /// Rounds, each with every server.
    pub rounds: usize,
    /// Sessions per server.
    pub sessions: usize,
    /// Packets per second of the CPU and latency figures.
    pub rates: Vec<u64>,
    /// Packets under way for the packets/s figure.
    pub window: usize,
    /// Seconds per measurement.
    pub seconds: f64,
    /// `both`, `to-peer` or `to-client`.
    pub direction: String,
    /// `plain` or `gro`: whether clients and peer take groups of packets.
    pub receive: String,
}

/// The figures of one server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerReport {
    /// `stunnerd`, `coturn`, ...
    pub name: String,
    /// How it was started, with the port of the first round.
    pub command: String,
    /// Absent for what is no TURN server.
    pub allocations: Option<AllocationReport>,
    /// One per payload, burst and burst mode.
    pub relay: Vec<RelayReport>,
}

/// Figures of allocations.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AllocationReport {
    /// How many per round.
    pub count: usize,
    /// Allocate exchanges per second.
    pub per_second: Figure,
    /// Resident bytes per allocation with a permission and a channel.
    pub bytes_each: Figure,
}

/// Figures of one shape of traffic.
#[derive(Clone, Debug, Serialize)]
pub struct RelayReport {
    /// Bytes.
    pub payload: usize,
    /// Packets in a row.
    pub burst: usize,
    /// `gso` or `mmsg`; meaningless for a burst of 1.
    pub burst_mode: String,
    /// At each fixed rate.
    pub rated: Vec<RatedReport>,
    /// With a full window: as fast as the server goes.
    pub saturated: SaturatedReport,
}

/// Figures at a fixed rate, the same for all servers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RatedReport {
    /// Packets per second, all sessions together.
    pub rate: u64,
    /// Server CPU time per relayed packet.
    pub cpu_us_per_packet: Figure,
    /// From before the sender's system call to after the receiver's.
    pub latency_p50_us: Figure,
    /// The same.
    pub latency_p99_us: Figure,
    /// Share of packets lost.
    pub loss: Figure,
    /// Share of packets the generator left out because it was late itself: a sign of a busy machine.
    pub skipped: Figure,
}

/// Figures with a full window.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SaturatedReport {
    /// Relayed packets.
    pub packets_per_second: Figure,
    /// Server CPU time per relayed packet.
    pub cpu_us_per_packet: Figure,
    /// Share of packets lost.
    pub loss: Figure,
    /// Share of time the server's threads were on a CPU: well below 1 means that the generator was
    /// the limit, or that others used the server's core.
    pub busy: Figure,
}

impl RelayReport {
    /// No samples yet.
    pub fn new(payload: usize, burst: usize, burst_mode: &str, rates: &[u64]) -> Self {
        let rated = |&rate: &u64| RatedReport {
            rate,
            ..RatedReport::default()
        };
        RelayReport {
            payload,
            burst,
            burst_mode: burst_mode.to_owned(),
            rated: rates.iter().map(rated).collect(),
            saturated: SaturatedReport::default(),
        }
    }
}
