//! Several generators in threads of their own, which start their sessions little by little and tell how it goes.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::error::{FailureKind, SessionError};
use crate::generator::Generator;
use crate::pacer::{Pacer, Window};
use crate::peer::{PeerPlace, endpoint_options};
use crate::phase::Phase;
use crate::session::Sessions;
use crate::target::Target;
use crate::traffic::{Direction, Outcome, Traffic};

/// Sessions of one thread that are being set up at the same time.
const SETUP_WINDOW: usize = 64;
/// How often a thread looks after its sessions.
const SLICE: Duration = Duration::from_millis(5);
/// How often a thread tells how it goes.
const TELL: Duration = Duration::from_millis(100);

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
            let worker = Worker {
                number,
                count,
                load: load.clone(),
                generator: Generator::with(sessions, peer)?,
                begun: Vec::new(),
                under_way: 0,
                stop: Arc::clone(&stop),
                sender: sender.clone(),
            };
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

/// How fast packets leave.
enum Speed {
    /// Packets per second of each session and direction.
    Rate(f64, Pacer),
    Window(Window),
}

struct Worker {
    number: usize,
    /// Sessions of this thread.
    count: usize,
    load: Load,
    generator: Generator,
    /// When each session was started.
    begun: Vec<Instant>,
    /// Packets that have been sent and not been seen again.
    under_way: u64,
    stop: Arc<AtomicBool>,
    sender: Sender<Sample>,
}

impl Worker {
    fn run(mut self) {
        // What fails here fails each session by itself, and has been told by then.
        let _ = self.work();
        let _ = self.generator.close();
    }

    fn work(&mut self) -> Result<(), SessionError> {
        let start = Instant::now();
        self.generator.begin(&self.load.traffic);
        let now = self.generator.nanos();
        let mut speed = match self.load.rate {
            Some(rate) => Speed::Rate(rate, Pacer::starting(now)),
            None => Speed::Window(Window::starting(now)),
        };
        let mut measuring_since = None;
        let mut sample = Sample::default();
        let mut told = Instant::now();
        loop {
            let now = Instant::now();
            self.start_sessions(now - start);
            if measuring_since.is_none() && self.is_complete(now - start) {
                self.tell(&mut sample, now - told, false);
                told = now;
                measuring_since = Some(now);
                // A new run: what was sent before does not count when it arrives.
                self.generator.begin(&self.load.traffic);
                self.under_way = 0;
            }
            let measured = measuring_since.map_or(Duration::ZERO, |since| now - since);
            let is_over = measured >= self.load.duration || self.has_none_left();
            if is_over || self.stop.load(Ordering::Relaxed) {
                break;
            }
            self.generator.greet();
            self.slice(&mut speed, &mut sample.outcome)?;
            self.generator.sessions.tick();
            self.give_up_waiting();
            self.generator.forget_lost();
            if told.elapsed() >= TELL {
                self.tell(&mut sample, told.elapsed(), measuring_since.is_some());
                told = Instant::now();
            }
        }
        sample.outcome.elapsed = told.elapsed();
        sample.outcome.received_in_time = sample.outcome.total().received;
        let missing = self.missing(&sample.outcome);
        self.generator.drain(missing, &mut sample.outcome)?;
        self.send(&mut sample, measuring_since.is_some());
        Ok(())
    }

    /// Starts the sessions whose time has come, unless too many are being set up already.
    fn start_sessions(&mut self, elapsed: Duration) {
        let due = match self.load.ramp.is_zero() {
            true => self.count,
            false => {
                let share = elapsed.as_secs_f64() / self.load.ramp.as_secs_f64();
                (self.count as f64 * share).ceil() as usize
            }
        };
        let sessions = &mut self.generator.sessions;
        let under_way = sessions.count(|phase| phase < Phase::Ready);
        let room = SETUP_WINDOW.saturating_sub(under_way);
        let wanted = due.min(self.count).saturating_sub(self.begun.len());
        for _ in 0..wanted.min(room) {
            self.begun.push(Instant::now());
            match sessions.add() {
                Ok(index) => sessions.advance(index),
                // A session that cannot even begin has no place in the list, and no number.
                Err(error) => sessions.failures.push((usize::MAX, error)),
            }
        }
    }

    /// Whether every session has been started and either carries traffic or has failed.
    fn is_complete(&self, elapsed: Duration) -> bool {
        let sessions = &self.generator.sessions;
        elapsed >= self.load.ramp
            && self.begun.len() == self.count
            && sessions.count(|phase| phase < Phase::Ready) == 0
    }

    fn has_none_left(&self) -> bool {
        let sessions = &self.generator.sessions;
        self.begun.len() == self.count && sessions.count(|phase| phase < Phase::Over) == 0
    }

    fn slice(&mut self, speed: &mut Speed, outcome: &mut Outcome) -> Result<(), SessionError> {
        let traffic = &self.load.traffic;
        let end = self.generator.nanos() + SLICE.as_nanos() as u64;
        let ready = self.generator.ready().max(1);
        match speed {
            Speed::Rate(rate, pacer) => {
                let directions = match traffic.direction {
                    Direction::Both => 2.0,
                    Direction::ToPeer | Direction::ToClient => 1.0,
                };
                let rate = *rate * directions * ready as f64;
                self.generator
                    .send_at_rate(traffic, rate, pacer, end, outcome)
            }
            Speed::Window(window) => {
                let limit = self.load.window * ready;
                self.generator
                    .send_with_window(traffic, window, limit, end, outcome)
            }
        }
    }

    /// Sessions that take too long are given up.
    fn give_up_waiting(&mut self) {
        let patience = self.load.patience;
        let sessions = &mut self.generator.sessions;
        for index in 0..sessions.list.len() {
            let phase = sessions.list[index].phase;
            let is_late = self
                .begun
                .get(index)
                .is_some_and(|at| at.elapsed() > patience);
            if phase < Phase::Ready && is_late {
                let error = match phase {
                    Phase::Greeting => SessionError::NothingPasses,
                    _ => SessionError::Late(patience),
                };
                sessions.fail(index, error);
            }
        }
    }

    fn missing(&mut self, outcome: &Outcome) -> u64 {
        let total = outcome.total();
        self.under_way = (self.under_way + total.sent).saturating_sub(total.received);
        self.under_way
    }

    fn tell(&mut self, sample: &mut Sample, elapsed: Duration, is_measured: bool) {
        sample.outcome.elapsed = elapsed;
        sample.outcome.received_in_time = sample.outcome.total().received;
        self.missing(&sample.outcome);
        self.send(sample, is_measured);
    }

    fn send(&mut self, sample: &mut Sample, is_measured: bool) {
        let mut failures: BTreeMap<String, Failure> = BTreeMap::new();
        for (_, error) in self.generator.sessions.failures.drain(..) {
            let what = error.to_string();
            let failure = failures.entry(what.clone()).or_insert(Failure {
                what,
                kind: error.kind(),
                sessions: 0,
            });
            failure.sessions += 1;
        }
        let told = Sample {
            worker: self.number,
            is_measured,
            outcome: std::mem::take(&mut sample.outcome),
            ready: self.generator.ready(),
            failures: failures.into_values().collect(),
        };
        // Nobody listens any more: the end is near.
        let _ = self.sender.send(told);
    }
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
