//! One thread of a swarm: starts its sessions, keeps them busy, and tells how it goes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use crate::error::SessionError;
use crate::generator::Generator;
use crate::pacer::{Pacer, Window};
use crate::phase::Phase;
use crate::swarm::{Failure, Load, Sample};
use crate::traffic::{Direction, Outcome};

/// Sessions of one thread that are being set up at the same time.
const SETUP_WINDOW: usize = 64;
/// How often a thread looks after its sessions.
const SLICE: Duration = Duration::from_millis(5);
/// How often a thread tells how it goes.
const TELL: Duration = Duration::from_millis(100);

/// How fast packets leave.
enum Speed {
    /// Packets per second of each session and direction.
    Rate(f64, Pacer),
    Window(Window),
}

pub(crate) struct Worker {
    number: usize,
    /// Sessions of this thread.
    count: usize,
    load: Load,
    generator: Generator,
    start: Instant,
    /// Sessions whose time has come, those that could not even begin included.
    begun: usize,
    /// Set once all sessions have been started.
    measuring_since: Option<Instant>,
    /// What happened since the last sample, and when that was.
    outcome: Outcome,
    told: Instant,
    /// Packets that have been sent and not been seen again.
    under_way: u64,
    stop: Arc<AtomicBool>,
    sender: Sender<Sample>,
}

impl Worker {
    /// The thread `number`, which has `count` of the sessions.
    pub(crate) fn new(
        number: usize,
        count: usize,
        load: Load,
        generator: Generator,
        stop: Arc<AtomicBool>,
        sender: Sender<Sample>,
    ) -> Self {
        let now = Instant::now();
        Worker {
            number,
            count,
            load,
            generator,
            start: now,
            begun: 0,
            measuring_since: None,
            outcome: Outcome::default(),
            told: now,
            under_way: 0,
            stop,
            sender,
        }
    }

    pub(crate) fn run(mut self) {
        let ended = self.work();
        let is_well = self.conclude(ended);
        self.generator.release();
        // What ends the thread has been told for every session.
        if is_well {
            self.tell_lost();
        }
    }

    fn work(&mut self) -> Result<(), SessionError> {
        self.generator.begin(&self.load.traffic);
        let now = self.generator.nanos();
        let mut speed = match self.load.rate {
            Some(rate) => Speed::Rate(rate, Pacer::starting(now)),
            None => Speed::Window(Window::starting(now)),
        };
        loop {
            let now = Instant::now();
            self.start_sessions(now);
            if self.measuring_since.is_none() && self.is_complete(now) {
                self.tell(now);
                self.measuring_since = Some(now);
                // A new run: what was sent before does not count when it arrives.
                self.generator.begin(&self.load.traffic);
                self.under_way = 0;
            }
            let measured = self.measuring_since.map_or(Duration::ZERO, |at| now - at);
            let is_over = measured >= self.load.duration || self.has_none_left();
            if is_over || self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.generator.greet();
            self.slice(&mut speed)?;
            self.generator.sessions.tick();
            self.give_up_waiting(Instant::now());
            self.generator.forget_lost();
            if self.told.elapsed() >= TELL {
                self.tell(Instant::now());
            }
        }
    }

    /// Starts the sessions whose time has come, unless too many are being set up already.
    fn start_sessions(&mut self, now: Instant) {
        let due = match self.load.ramp.is_zero() {
            true => self.count,
            false => {
                let share = (now - self.start).as_secs_f64() / self.load.ramp.as_secs_f64();
                (self.count as f64 * share).ceil() as usize
            }
        };
        let sessions = &mut self.generator.sessions;
        let under_way = sessions.count(|phase| phase < Phase::Ready);
        let room = SETUP_WINDOW.saturating_sub(under_way);
        let wanted = due.min(self.count).saturating_sub(self.begun);
        for _ in 0..wanted.min(room) {
            self.begun += 1;
            match sessions.add(now) {
                Ok(index) => sessions.advance(index),
                // A session that cannot even begin has no place in the list.
                Err(error) => sessions.failures.push(error),
            }
        }
    }

    /// Whether every session has been started and either carries traffic or has failed.
    fn is_complete(&self, now: Instant) -> bool {
        let sessions = &self.generator.sessions;
        now - self.start >= self.load.ramp
            && self.begun == self.count
            && sessions.count(|phase| phase < Phase::Ready) == 0
    }

    fn has_none_left(&self) -> bool {
        self.begun == self.count && self.alive() == 0
    }

    /// Sessions that are neither released nor lost.
    fn alive(&self) -> usize {
        self.generator.sessions.count(|phase| phase < Phase::Over)
    }

    fn slice(&mut self, speed: &mut Speed) -> Result<(), SessionError> {
        let traffic = &self.load.traffic;
        let outcome = &mut self.outcome;
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
    fn give_up_waiting(&mut self, now: Instant) {
        let patience = self.load.patience;
        let sessions = &mut self.generator.sessions;
        for index in 0..sessions.list.len() {
            let session = &sessions.list[index];
            let phase = session.phase;
            if phase < Phase::Ready && now.saturating_duration_since(session.begun) > patience {
                let error = match phase {
                    Phase::Greeting => SessionError::NothingPasses,
                    _ => SessionError::Late(patience),
                };
                sessions.fail(index, error);
            }
        }
    }

    /// Waits for stragglers and tells the rest; whether the thread is well. An error is one of the whole thread, and so of all
    /// sessions that it has left.
    fn conclude(&mut self, ended: Result<(), SessionError>) -> bool {
        self.close_interval(Instant::now());
        let drained = ended.and_then(|()| self.generator.drain(self.under_way, &mut self.outcome));
        let mut failures = self.failures();
        let is_well = drained.is_ok();
        if let Err(error) = drained {
            failures.push(Failure {
                what: error.to_string(),
                kind: error.kind(),
                sessions: self.alive() + self.count - self.begun,
            });
        }
        self.send(failures);
        is_well
    }

    /// Sessions whose end shows that their server is gone.
    fn tell_lost(&mut self) {
        let failures = self.failures();
        if !failures.is_empty() {
            self.generator.forget_lost();
            self.send(failures);
        }
    }

    fn tell(&mut self, now: Instant) {
        self.close_interval(now);
        let failures = self.failures();
        self.send(failures);
        self.told = now;
    }

    fn close_interval(&mut self, now: Instant) {
        let total = self.outcome.total();
        self.outcome.elapsed = now - self.told;
        self.outcome.received_in_time = total.received;
        self.under_way = (self.under_way + total.sent).saturating_sub(total.received);
    }

    /// Sessions that failed since the last sample, by reason.
    fn failures(&mut self) -> Vec<Failure> {
        let mut failures: BTreeMap<String, Failure> = BTreeMap::new();
        for error in self.generator.sessions.failures.drain(..) {
            let what = error.to_string();
            let failure = failures.entry(what.clone()).or_insert(Failure {
                what,
                kind: error.kind(),
                sessions: 0,
            });
            failure.sessions += 1;
        }
        failures.into_values().collect()
    }

    fn send(&mut self, failures: Vec<Failure>) {
        let sample = Sample {
            worker: self.number,
            is_measured: self.measuring_since.is_some(),
            outcome: std::mem::take(&mut self.outcome),
            ready: self.generator.ready(),
            failures,
        };
        // Nobody listens any more: the end is near.
        let _ = self.sender.send(sample);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
    use std::sync::mpsc::{self, Receiver};

    use super::*;
    use crate::error::FailureKind;
    use crate::peer::{PeerPlace, endpoint_options};
    use crate::session::Sessions;
    use crate::swarm::Far;
    use crate::target::{Protocol, Target, Transport};
    use crate::traffic::{BurstMode, Traffic};

    const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const SECOND: Duration = Duration::from_secs(1);

    /// A worker with two sessions, a ramp and a patience of ten seconds; and what it tells.
    fn worker(server: SocketAddr) -> (Worker, Receiver<Sample>) {
        let load = Load {
            target: Target {
                address: server,
                protocol: Protocol::Turn(Transport::Tcp),
                username: String::new(),
                password: String::new(),
            },
            peer: Far::Here(LOCALHOST),
            sessions: 2,
            traffic: Traffic {
                payload: 100,
                burst: 1,
                mode: BurstMode::Mmsg,
                direction: Direction::Both,
            },
            rate: Some(50.0),
            window: 8,
            ramp: 10 * SECOND,
            duration: SECOND,
            threads: 1,
            patience: 10 * SECOND,
        };
        let peer = PeerPlace::here(SocketAddr::new(LOCALHOST, 0), false).expect("a peer");
        let options = endpoint_options(false);
        let sessions = Sessions::numbered_from(0, load.target.clone(), peer.address(), options)
            .expect("no sessions yet");
        let generator = Generator::with(sessions, peer).expect("a generator");
        let (sender, samples) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        (Worker::new(0, 2, load, generator, stop, sender), samples)
    }

    #[test]
    fn a_session_is_given_up_by_its_own_age_when_others_could_not_begin() {
        // No socket connects to a broadcast address.
        let (mut worker, _samples) = worker(SocketAddr::from(([255; 4], 3478)));
        let start = worker.start;
        worker.start_sessions(start + SECOND);
        assert_eq!(worker.generator.sessions.failures.len(), 1);
        assert_eq!(worker.alive(), 0);
        let silent = TcpListener::bind((LOCALHOST, 0)).expect("a server");
        worker.generator.sessions.target.address = silent.local_addr().expect("its address");
        worker.start_sessions(start + 9 * SECOND);
        worker.give_up_waiting(start + 18 * SECOND);
        assert_eq!(worker.alive(), 1, "it has waited for nine seconds");
        worker.give_up_waiting(start + 20 * SECOND);
        assert_eq!(worker.alive(), 0);
        let last = worker.generator.sessions.failures.last();
        assert!(matches!(last, Some(SessionError::Late(_))), "{last:?}");
    }

    #[test]
    fn an_error_of_the_thread_is_told_with_everything_before_it() {
        let silent = TcpListener::bind((LOCALHOST, 0)).expect("a server");
        let (mut worker, samples) = worker(silent.local_addr().expect("its address"));
        worker.start_sessions(worker.start + SECOND);
        worker.generator.sessions.fail(0, SessionError::Lost);
        worker.outcome.to_peer.sent = 7;
        worker.outcome.to_peer.received = 5;
        worker.conclude(Err(std::io::Error::other("no memory").into()));
        let sample = samples.try_recv().expect("the last sample");
        assert_eq!(sample.outcome.to_peer.sent, 7);
        assert_eq!(sample.outcome.received_in_time, 5);
        let failure = |what: &str, kind| Failure {
            what: what.to_owned(),
            kind,
            sessions: 1,
        };
        assert_eq!(
            sample.failures,
            [
                failure("the allocation was lost", FailureKind::Lost),
                // The session that was still to come.
                failure("a socket failed: no memory", FailureKind::Local),
            ]
        );
    }
}
