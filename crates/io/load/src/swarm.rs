//! Several generators in threads of their own, which start their sessions little by little and tell how it goes.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use thiserror::Error;

use crate::error::{FailureKind, SessionError};
use crate::generator::Generator;
use crate::peer::{PeerPlace, endpoint_options};
use crate::session::Sessions;
use crate::target::Target;
use crate::traffic::{Outcome, Traffic};
use crate::worker::Worker;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Load {
    pub target: Target,
    /// The far end: a socket on this address of ours, or an echo.
    pub peer: Far,
    pub sessions: usize,
    pub traffic: Traffic,
    /// Packets per second of each session, in each direction; `None` for as many as come back.
    pub rate: Option<f64>,
    /// Packets under way for each session, where no rate is given.
    pub window: usize,
    /// Over this time the sessions are started.
    pub ramp: Duration,
    /// How long traffic is measured once they are.
    pub duration: Duration,
    pub threads: usize,
    /// A session that carries no traffic this long after its start has failed.
    pub patience: Duration,
}

/// The far end of all sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// Sockets of ours on this address, one for each thread.
    Here(IpAddr),
    /// Somebody who sends everything back.
    Echo(SocketAddr),
}

/// Why there is no load at all.
#[derive(Debug, Error)]
pub enum SwarmError {
    #[error("no socket for the peer on {0}: {1}")]
    Peer(IpAddr, io::Error),
    #[error("{0}")]
    Start(#[from] SessionError),
    #[error("no thread: {0}")]
    Thread(#[from] io::Error),
}

/// Sessions that failed for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub what: String,
    pub kind: FailureKind,
    pub sessions: usize,
}

/// What happened in one thread since its last sample.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub worker: usize,
    /// Whether all sessions had been started: only then it counts.
    pub is_measured: bool,
    pub outcome: Outcome,
    /// Sessions that carry traffic now.
    pub ready: usize,
    /// Sessions that failed since the last sample, by reason.
    pub failures: Vec<Failure>,
}

/// The running load.
#[derive(Debug)]
pub struct Swarm {
    samples: Receiver<Sample>,
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
}

impl Swarm {
    /// Starts the threads.
    pub fn start(load: &Load) -> Result<Swarm, SwarmError> {
        let (sender, samples) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let threads = load.threads.clamp(1, load.sessions.max(1));
        let mut workers = Vec::with_capacity(threads);
        let mut first = 0;
        for number in 0..threads {
            let count = share(load.sessions, threads, number);
            let peer = match load.peer {
                Far::Echo(address) => PeerPlace::Echo(address),
                Far::Here(ip) => PeerPlace::here(SocketAddr::new(ip, 0), false)
                    .map_err(|error| SwarmError::Peer(ip, error))?,
            };
            let sessions = Sessions::numbered_from(
                first,
                load.target.clone(),
                peer.address(),
                endpoint_options(false),
            )?;
            first += count;
            let generator = Generator::with(sessions, peer)?;
            let (stop, sender) = (Arc::clone(&stop), sender.clone());
            let worker = Worker::new(number, count, load.clone(), generator, stop, sender);
            let name = format!("load-{number}");
            workers.push(thread::Builder::new().name(name).spawn(|| worker.run())?);
        }
        Ok(Swarm {
            samples,
            stop,
            workers,
        })
    }

    /// The next sample; `None` when all threads are done.
    pub fn next(&self) -> Option<Sample> {
        self.samples.recv().ok()
    }

    /// Something to end the load with from elsewhere, such as a signal.
    pub fn stopper(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }
}

impl Drop for Swarm {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

/// How many of `all` the thread `number` of `threads` gets.
fn share(all: usize, threads: usize, number: usize) -> usize {
    all / threads + usize::from(number < all % threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_shared_out_evenly_and_completely() {
        let shares = |all, threads| -> Vec<usize> {
            (0..threads)
                .map(|number| share(all, threads, number))
                .collect()
        };
        assert_eq!(shares(10, 3), [4, 3, 3]);
        assert_eq!(shares(2, 2), [1, 1]);
    }
}
