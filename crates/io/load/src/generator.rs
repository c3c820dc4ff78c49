//! Traffic: stamped packets through all sessions, paced, received and counted by one thread.

use std::time::{Duration, Instant};

use stunner_net::poll::{Events, Interest, Token};
use stunner_net::udp::{RecvBatch, SendBatch};
use stunner_stun::channel_data;

use crate::arrivals::{Arrivals, RECEIVE_SLOTS, receive_batches};
use crate::error::SessionError;
use crate::greeting::Greeted;
use crate::link::Link;
use crate::pacer::{Pacer, Window};
use crate::peer::{PeerPlace, endpoint_options};
use crate::phase::Phase;
use crate::session::Sessions;
use crate::stamp::{STAMP_LEN, Stamp};
use crate::target::Target;
use crate::traffic::{BurstMode, Direction, Outcome, Pace, Traffic};

const PEER: Token = Token(u64::MAX);
/// Sessions that are set up at the same time.
const SETUP_WINDOW: usize = 32;
/// How long stragglers are waited for when sending has ended.
const DRAIN: u64 = 200_000_000;

/// Sessions, their peer, and the buffers between runs.
#[derive(Debug)]
pub struct Generator {
    pub(crate) sessions: Sessions,
    peer: PeerPlace,
    /// Sessions that carry traffic.
    pub(crate) ready: Vec<usize>,
    pub(crate) greeted: Vec<Greeted>,
    clock: Instant,
    pub(crate) run: u32,
    /// Counts bursts over all runs, so that every session gets its turn.
    turn: usize,
    received: RecvBatch,
    storage: SendBatch,
    events: Events,
    scratch: Vec<u8>,
}

impl Generator {
    /// Sets up `count` sessions with a channel each and proves that packets pass.
    pub fn open(
        target: Target,
        peer: PeerPlace,
        count: usize,
        gro: bool,
    ) -> Result<Self, SessionError> {
        let mut sessions = Sessions::open(target, peer.address(), count, endpoint_options(gro))?;
        sessions.bind(SETUP_WINDOW)?;
        let mut generator = Generator::with(sessions, peer)?;
        generator.greet_all()?;
        Ok(generator)
    }

    /// A generator whose sessions are made while it works.
    pub(crate) fn with(mut sessions: Sessions, peer: PeerPlace) -> Result<Self, SessionError> {
        if let PeerPlace::Here(socket) = &peer {
            sessions.poller.add(socket, PEER, Interest::Readable)?;
        }
        sessions.aim_at(Phase::Greeting);
        Ok(Generator {
            sessions,
            peer,
            ready: Vec::new(),
            greeted: Vec::new(),
            clock: Instant::now(),
            run: 1,
            turn: 0,
            received: RecvBatch::new(RECEIVE_SLOTS)?,
            storage: SendBatch::new(),
            events: Events::with_capacity(256),
            scratch: Vec::new(),
        })
    }

    /// Sends for `duration`, waits for stragglers, and reports.
    pub fn run(
        &mut self,
        traffic: &Traffic,
        pace: Pace,
        duration: Duration,
    ) -> Result<Outcome, SessionError> {
        self.begin(traffic);
        let mut outcome = Outcome::default();
        let start = self.nanos();
        let end = start + duration.as_nanos() as u64;
        match pace {
            Pace::Rate(rate) => {
                let mut pacer = Pacer::starting(start);
                self.send_at_rate(traffic, rate as f64, &mut pacer, end, &mut outcome)?;
            }
            Pace::Window(limit) => {
                let mut window = Window::starting(start);
                self.send_with_window(traffic, &mut window, limit, end, &mut outcome)?;
            }
        }
        outcome.elapsed = Duration::from_nanos(self.nanos() - start);
        let total = outcome.total();
        outcome.received_in_time = total.received;
        self.drain(total.sent.saturating_sub(total.received), &mut outcome)?;
        self.sessions.tick();
        match self.sessions.failures.pop() {
            Some(error) => Err(error),
            None => Ok(outcome),
        }
    }

    /// A new run: what is still under way does not count any more.
    pub(crate) fn begin(&mut self, traffic: &Traffic) {
        let segmented = traffic.mode == BurstMode::Gso;
        if let PeerPlace::Here(socket) = &self.peer {
            socket.set_segmentation(segmented);
        }
        for session in &self.sessions.list {
            if let Link::Udp(socket) = &session.link {
                socket.set_segmentation(segmented);
            }
        }
        self.run += 1;
    }

    /// Sends `rate` packets per second until `end`.
    pub(crate) fn send_at_rate(
        &mut self,
        traffic: &Traffic,
        rate: f64,
        pacer: &mut Pacer,
        end: u64,
        outcome: &mut Outcome,
    ) -> Result<(), SessionError> {
        let interval = 1e9 * traffic.burst as f64 / rate.max(1e-3);
        loop {
            let now = self.nanos();
            if now >= end {
                return Ok(());
            }
            if self.ready.is_empty() {
                pacer.restart(now);
            } else {
                let mut left_out = 0;
                if pacer.is_due(now, interval, &mut left_out) {
                    outcome.skipped += left_out * traffic.burst as u64;
                    self.next_burst(traffic, outcome);
                }
            }
            let rest = pacer.rest(now).min(end - now);
            self.receive(outcome, patience(rest))?;
        }
    }

    /// Keeps up to `limit` packets under way until `end`.
    pub(crate) fn send_with_window(
        &mut self,
        traffic: &Traffic,
        window: &mut Window,
        limit: usize,
        end: u64,
        outcome: &mut Outcome,
    ) -> Result<(), SessionError> {
        loop {
            let now = self.nanos();
            if now >= end {
                return Ok(());
            }
            if !self.ready.is_empty() && window.has_room(traffic.burst as u64, limit as u64) {
                let before = outcome.total().sent;
                self.next_burst(traffic, outcome);
                window.sent(outcome.total().sent - before);
            }
            window.received(self.receive(outcome, Duration::ZERO)?, now);
        }
    }

    /// Waits for this many stragglers, as long as they keep coming.
    pub(crate) fn drain(
        &mut self,
        mut missing: u64,
        outcome: &mut Outcome,
    ) -> Result<(), SessionError> {
        let mut last = self.nanos();
        while missing > 0 && self.nanos() - last < DRAIN {
            let came = self.receive(outcome, Duration::from_millis(1))?;
            if came > 0 {
                missing = missing.saturating_sub(came);
                last = self.nanos();
            }
        }
        Ok(())
    }

    /// Sessions that carry traffic.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Leaves out sessions that are over.
    pub(crate) fn forget_lost(&mut self) {
        let list = &self.sessions.list;
        self.ready
            .retain(|index| list[*index].phase == Phase::Ready);
    }

    fn next_burst(&mut self, traffic: &Traffic, outcome: &mut Outcome) {
        let turn = self.turn;
        self.turn += 1;
        let count = self.ready.len();
        let (at, direction) = match traffic.direction {
            Direction::Both if turn.is_multiple_of(2) => (turn / 2 % count, Direction::ToPeer),
            // Half the sessions apart, so that no session sees a request-and-answer pattern.
            Direction::Both => ((turn / 2 + count / 2) % count, Direction::ToClient),
            direction => (turn % count, direction),
        };
        self.send_burst(traffic, self.ready[at], direction, outcome);
    }

    /// Reads everything that waits, or comes within `patience`, and returns the number of packets of this run.
    pub(crate) fn receive(
        &mut self,
        outcome: &mut Outcome,
        patience: Duration,
    ) -> Result<u64, SessionError> {
        let before = outcome.total().received;
        let mut events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        let heard = self.sessions.poller.wait(&mut events, Some(patience));
        let taken = heard.map_err(SessionError::from).and_then(|_| {
            let mut tokens = events.iter().map(|event| event.token);
            tokens.try_for_each(|token| self.take(token, outcome))
        });
        self.events = events;
        taken.map(|()| outcome.total().received - before)
    }

    /// Reads what came on one connection, or at the peer.
    fn take(&mut self, token: Token, outcome: &mut Outcome) -> Result<(), SessionError> {
        let mut arrivals = Arrivals {
            run: self.run,
            clock: self.clock,
            outcome,
            greetings: Vec::new(),
            control: Vec::new(),
        };
        if token == PEER {
            if let PeerPlace::Here(socket) = &self.peer {
                receive_batches(&mut self.received, socket, |from, datagram| {
                    arrivals.at_peer(from, datagram);
                })?;
            }
            for (index, from) in arrivals.greetings {
                self.greeted_back(index, from);
            }
            return Ok(());
        }
        let index = token.0 as usize;
        let is_echo = matches!(self.peer, PeerPlace::Echo(_));
        let Some(session) = self.sessions.list.get_mut(index) else {
            return Ok(());
        };
        let heard = match &mut session.link {
            Link::Udp(socket) => receive_batches(&mut self.received, socket, |_, datagram| {
                arrivals.at_client(datagram, is_echo);
            })
            .map_err(SessionError::from),
            Link::Framed(_) => self.sessions.read(index, &mut |frame| {
                arrivals.at_client(frame, is_echo);
            }),
        };
        let Arrivals {
            greetings, control, ..
        } = arrivals;
        if let Err(error) = heard {
            self.sessions.fail(index, error);
        }
        for packet in control {
            self.sessions.handle(index, &packet);
        }
        for (index, from) in greetings {
            self.greeted_back(index, from);
        }
        Ok(())
    }

    /// Writes and sends the packets of one burst.
    pub(crate) fn send_burst(
        &mut self,
        traffic: &Traffic,
        index: usize,
        direction: Direction,
        outcome: &mut Outcome,
    ) {
        let sent_at = self.nanos();
        let server = self.sessions.server();
        let is_padded = self.sessions.is_padded();
        let session = &mut self.sessions.list[index];
        let to_client = direction == Direction::ToClient;
        let header = if to_client {
            0
        } else {
            channel_data::HEADER_LEN
        };
        let payload = traffic.payload.max(STAMP_LEN);
        let size = match is_padded && !to_client {
            true => (header + payload).next_multiple_of(4),
            false => header + payload,
        };
        let flow = match to_client {
            true => &mut outcome.to_client,
            false => &mut outcome.to_peer,
        };
        self.scratch.resize(traffic.burst * size, 0xa5);
        for (number, packet) in self.scratch.chunks_exact_mut(size).enumerate() {
            if !to_client {
                packet[..header]
                    .copy_from_slice(&channel_data::header(session.channel, payload as u16));
            }
            let stamp = Stamp {
                run: self.run,
                session: index as u32,
                sequence: flow.sent as u32 + number as u32,
                sent_at,
            };
            stamp.write(&mut packet[header..]);
        }
        let (socket, to) = match (&mut session.link, &self.peer, session.relayed) {
            (_, PeerPlace::Here(peer), Some(relayed)) if to_client => (peer, relayed),
            _ if to_client => return,
            (Link::Udp(socket), ..) => (&*socket, server),
            (Link::Framed(framed), ..) => {
                for packet in self.scratch.chunks_exact(size) {
                    match framed.send(packet) {
                        Ok(true) => flow.sent += 1,
                        Ok(false) => outcome.skipped += 1,
                        Err(error) => {
                            return self.sessions.fail(index, SessionError::Broken(error));
                        }
                    }
                }
                return;
            }
        };
        if traffic.burst == 1 {
            if socket.send_to(to, &self.scratch).is_ok() {
                flow.sent += 1;
            }
            return;
        }
        let mut out = self.storage.begin();
        for packet in self.scratch.chunks_exact(size) {
            // Sizes are far below what UDP carries.
            let _ = out.push(to, None, &[], packet, 0);
        }
        flow.sent += out.flush(socket).sent;
    }

    pub(crate) fn nanos(&self) -> u64 {
        self.clock.elapsed().as_nanos() as u64
    }

    /// Ends the allocations.
    pub fn close(mut self) {
        self.release();
    }

    /// Ends the allocations; sessions that do not end well are among the failures.
    pub(crate) fn release(&mut self) {
        if let PeerPlace::Here(socket) = &self.peer {
            let _ = self.sessions.poller.remove(socket);
        }
        self.sessions.release();
    }
}

/// How long to sleep before the next burst: whole milliseconds, the poller's unit; the rest is spent looking.
fn patience(nanos: u64) -> Duration {
    Duration::from_millis(nanos / 1_000_000)
}
