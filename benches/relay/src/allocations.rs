//! How fast allocations are made and what one costs in memory.

use std::net::SocketAddr;
use std::time::Duration;

use crate::process::Process;
use stunner_load::{SessionError, Sessions, Target, endpoint_options};

/// Allocate exchanges under way at the same time.
const WINDOW: usize = 32;
/// Allocations made first, so that what a server sets up once, and the free memory it already holds,
/// does not blur the cost of those counted.
const WARM_UP: usize = 500;

/// The figures of one round.
#[derive(Clone, Copy, Debug)]
pub struct AllocationOutcome {
    /// Allocations made.
    pub count: usize,
    /// Allocate exchanges (challenge included) per second.
    pub per_second: f64,
    /// Growth of resident memory per allocation with one permission and one channel.
    pub bytes_each: f64,
}

/// Makes `count` allocations on a fresh server and watches its process.
pub fn measure(
    target: &Target,
    process: &Process,
    peer: SocketAddr,
    count: usize,
) -> Result<AllocationOutcome, SessionError> {
    let mut warm_up = Sessions::open(target.clone(), peer, WARM_UP, endpoint_options(false))?;
    warm_up.allocate(WINDOW)?;
    warm_up.bind(WINDOW)?;
    let mut sessions = Sessions::open(target.clone(), peer, count, endpoint_options(false))?;
    let before = process.resident_bytes()?;
    let elapsed = sessions.allocate(WINDOW)?;
    sessions.bind(WINDOW)?;
    // Lets deferred work finish that the last answers did not wait for.
    std::thread::sleep(Duration::from_millis(100));
    let after = process.resident_bytes()?;
    Ok(AllocationOutcome {
        count,
        per_second: count as f64 / elapsed.as_secs_f64().max(1e-9),
        bytes_each: after.saturating_sub(before) as f64 / count as f64,
    })
}
