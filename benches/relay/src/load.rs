//! Traffic: stamped packets through all sessions, paced, received and counted by one thread.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use stunner_net::poll::{Events, Interest, Token};
use stunner_net::udp::{RecvBatch, SendBatch, UdpSocket};
use stunner_stun::channel_data;

use crate::gaps::Gaps;
use crate::session::{SessionError, Sessions, Target, endpoint_options};
use crate::stamp::{STAMP_LEN, Stamp};
use crate::statistics::Latencies;
use crate::traffic::{BurstMode, Direction, Outcome, Pace, Traffic};

const PEER: Token = Token(u64::MAX);
const RECEIVE_SLOTS: usize = 64;
/// Sessions that are set up at the same time.
const SETUP_WINDOW: usize = 32;
/// A generator this late was itself held up; it skips instead of sending a burst nobody asked for.
const MAX_LATE: u64 = 5_000_000;
/// With a window, packets not back after this long are lost.
const GIVE_UP: u64 = 20_000_000;
/// How long stragglers are waited for when sending has ended.
const DRAIN: u64 = 200_000_000;

/// Sessions, their peer, and the buffers between runs.
#[derive(Debug)]
pub struct Generator {
    sessions: Sessions,
    peer: UdpSocket,
    clock: Instant,
    run: u32,
    /// Counts bursts over all runs, so that every session gets its turn.
    turn: usize,
    received: RecvBatch,
    storage: SendBatch,
    events: Events,
    scratch: Vec<u8>,
}

impl Generator {
    /// Sets up `count` sessions with a channel each and proves that packets pass both ways.
    pub fn open(
        target: Target,
        peer: UdpSocket,
        count: usize,
        gro: bool,
    ) -> Result<Self, SessionError> {
        let mut sessions = Sessions::open(target, peer.local_addr(), count, gro)?;
        sessions.allocate(SETUP_WINDOW)?;
        sessions.bind(SETUP_WINDOW)?;
        sessions.poller.add(&peer, PEER, Interest::Readable)?;
        let mut generator = Generator {
            sessions,
            peer,
            clock: Instant::now(),
            run: 0,
            turn: 0,
            received: RecvBatch::new(RECEIVE_SLOTS)?,
            storage: SendBatch::new(),
            events: Events::with_capacity(256),
            scratch: Vec::new(),
        };
        generator.greet()?;
        Ok(generator)
    }

    /// A peer socket for [`Generator::open`].
    pub fn peer(address: SocketAddr, gro: bool) -> std::io::Result<UdpSocket> {
        UdpSocket::bind(address, &endpoint_options(gro))
    }

    /// One packet of each session, from whose source the peer learns the relayed address.
    fn greet(&mut self) -> Result<(), SessionError> {
        let traffic = Traffic {
            payload: STAMP_LEN,
            burst: 1,
            mode: BurstMode::Mmsg,
            direction: Direction::ToPeer,
        };
        let mut outcome = Outcome::default();
        let mut known = vec![false; self.sessions.list.len()];
        self.run += 1;
        for _ in 0..100 {
            for (index, _) in known.iter().enumerate().filter(|(_, known)| !**known) {
                send_burst(self, &traffic, index, Direction::ToPeer, &mut outcome);
                // A little at a time: the server may still be waking up.
                std::thread::sleep(Duration::from_micros(50));
            }
            let until = Instant::now() + Duration::from_millis(50);
            while Instant::now() < until {
                for (index, from) in self.greetings()? {
                    if let Some(known) = known.get_mut(index) {
                        *known = true;
                        self.sessions.list[index].relayed = Some(from);
                    }
                }
                if known.iter().all(|known| *known) {
                    return Ok(());
                }
            }
        }
        Err(SessionError::Timeout(
            known.iter().filter(|known| !**known).count(),
        ))
    }

    fn greetings(&mut self) -> Result<Vec<(usize, SocketAddr)>, SessionError> {
        let count = self.received.recv(&self.peer, 0, RECEIVE_SLOTS)?;
        let slots = (0..count).map(|slot| self.received.get(slot));
        Ok(slots
            .flat_map(|group| {
                group
                    .datagrams()
                    .map(move |datagram| (group.from, datagram))
            })
            .filter_map(|(from, datagram)| Some((Stamp::read(datagram)?.session as usize, from)))
            .collect())
    }

    /// Sends for `duration`, waits for stragglers, and reports.
    pub fn run(
        &mut self,
        traffic: &Traffic,
        pace: Pace,
        duration: Duration,
    ) -> Result<Outcome, SessionError> {
        let segmented = traffic.mode == BurstMode::Gso;
        self.peer.set_segmentation(segmented);
        for session in &self.sessions.list {
            session.socket.set_segmentation(segmented);
        }
        self.run += 1;
        let mut outcome = match pace {
            Pace::Rate(rate) => self.run_at_rate(traffic, rate, duration)?,
            Pace::Window(window) => self.run_with_window(traffic, window, duration)?,
        };
        outcome.received_in_time = outcome.received;
        let mut last = self.nanos();
        while outcome.received < outcome.sent && self.nanos() - last < DRAIN {
            if self.receive(&mut outcome)? > 0 {
                last = self.nanos();
            }
        }
        self.sessions.tick();
        Ok(outcome)
    }

    fn run_at_rate(
        &mut self,
        traffic: &Traffic,
        rate: u64,
        duration: Duration,
    ) -> Result<Outcome, SessionError> {
        let interval = 1e9 * traffic.burst as f64 / rate.max(1) as f64;
        let mut gaps = Gaps::new(interval);
        let mut outcome = Outcome {
            latencies: Latencies::with_capacity((rate as f64 * duration.as_secs_f64()) as usize),
            ..Outcome::default()
        };
        let start = self.nanos();
        let end = start + duration.as_nanos() as u64;
        let mut due = start;
        loop {
            let now = self.nanos();
            if now >= end {
                break;
            }
            if due <= now {
                if now - due > MAX_LATE {
                    let missed = (now - due) as f64 / interval;
                    outcome.skipped += missed as u64 * traffic.burst as u64;
                    due = now;
                }
                self.next_burst(traffic, &mut outcome);
                due += gaps.next();
            }
            self.receive(&mut outcome)?;
        }
        outcome.elapsed = Duration::from_nanos(self.nanos() - start);
        Ok(outcome)
    }

    fn run_with_window(
        &mut self,
        traffic: &Traffic,
        window: usize,
        duration: Duration,
    ) -> Result<Outcome, SessionError> {
        let window = window.max(traffic.burst) as u64;
        let burst = traffic.burst as u64;
        let mut outcome = Outcome::default();
        let start = self.nanos();
        let end = start + duration.as_nanos() as u64;
        let mut progress = start;
        let mut written_off = 0;
        loop {
            let now = self.nanos();
            if now >= end {
                break;
            }
            // Late arrivals of packets already written off must not make this negative.
            let under_way = outcome.sent.saturating_sub(outcome.received + written_off);
            if under_way + burst <= window {
                self.next_burst(traffic, &mut outcome);
            }
            if self.receive(&mut outcome)? > 0 {
                progress = now;
            } else if now - progress > GIVE_UP {
                written_off = outcome.sent - outcome.received.min(outcome.sent);
                progress = now;
            }
        }
        outcome.elapsed = Duration::from_nanos(self.nanos() - start);
        Ok(outcome)
    }

    fn next_burst(&mut self, traffic: &Traffic, outcome: &mut Outcome) {
        let turn = self.turn;
        self.turn += 1;
        let count = self.sessions.list.len();
        match traffic.direction {
            Direction::Both if turn.is_multiple_of(2) => {
                send_burst(self, traffic, turn / 2 % count, Direction::ToPeer, outcome);
            }
            Direction::Both => {
                // Half the sessions apart, so that no session sees a request-and-answer pattern.
                let index = (turn / 2 + count / 2) % count;
                send_burst(self, traffic, index, Direction::ToClient, outcome);
            }
            direction => send_burst(self, traffic, turn % count, direction, outcome),
        }
    }

    /// Reads everything that waits and returns the number of packets of this run.
    fn receive(&mut self, outcome: &mut Outcome) -> Result<u64, SessionError> {
        let before = outcome.received;
        if self
            .sessions
            .poller
            .wait(&mut self.events, Some(Duration::ZERO))?
            == 0
        {
            return Ok(0);
        }
        let Generator {
            sessions,
            peer,
            received,
            events,
            clock,
            run,
            ..
        } = self;
        for event in events.iter() {
            let index = event.token.0 as usize;
            let socket = match sessions.list.get(index) {
                Some(session) => &session.socket,
                None => &*peer,
            };
            let mut control: Vec<Vec<u8>> = Vec::new();
            loop {
                let count = received.recv(socket, 0, RECEIVE_SLOTS)?;
                let now = clock.elapsed().as_nanos() as u64;
                for slot in 0..count {
                    for datagram in received.get(slot).datagrams() {
                        let payload = if event.token == PEER {
                            datagram
                        } else {
                            match channel_data::parse(datagram) {
                                Ok(frame) => frame.payload,
                                Err(_) => {
                                    // An answer to a refresh: rare, so that a copy is fine.
                                    control.push(datagram.to_vec());
                                    continue;
                                }
                            }
                        };
                        if let Some(stamp) = Stamp::read(payload)
                            && stamp.run == *run
                        {
                            outcome.received += 1;
                            outcome.latencies.record(now.saturating_sub(stamp.sent_at));
                        }
                    }
                }
                if count < RECEIVE_SLOTS {
                    break;
                }
            }
            for packet in control {
                sessions.handle(index, &packet);
            }
        }
        Ok(outcome.received - before)
    }

    fn nanos(&self) -> u64 {
        self.clock.elapsed().as_nanos() as u64
    }

    /// Ends the allocations.
    pub fn close(mut self) -> Result<(), SessionError> {
        self.sessions.poller.remove(&self.peer)?;
        self.sessions.release(SETUP_WINDOW)
    }
}

/// Writes and sends the packets of one burst.
fn send_burst(
    generator: &mut Generator,
    traffic: &Traffic,
    index: usize,
    direction: Direction,
    outcome: &mut Outcome,
) {
    let session = &generator.sessions.list[index];
    let to_client = direction == Direction::ToClient;
    let header = if to_client {
        0
    } else {
        channel_data::HEADER_LEN
    };
    let payload = traffic.payload.max(STAMP_LEN);
    let size = header + payload;
    generator.scratch.resize(traffic.burst * size, 0xa5);
    let sent_at = generator.clock.elapsed().as_nanos() as u64;
    for (number, packet) in generator.scratch.chunks_exact_mut(size).enumerate() {
        if !to_client {
            packet[..header]
                .copy_from_slice(&channel_data::header(session.channel, payload as u16));
        }
        let stamp = Stamp {
            run: generator.run,
            session: index as u32,
            sequence: outcome.sent as u32 + number as u32,
            sent_at,
        };
        stamp.write(&mut packet[header..]);
    }
    let (socket, to) = match (to_client, session.relayed) {
        (true, Some(relayed)) => (&generator.peer, relayed),
        (true, None) => return,
        (false, _) => (&session.socket, generator.sessions.server()),
    };
    if traffic.burst == 1 {
        if socket.send_to(to, &generator.scratch).is_ok() {
            outcome.sent += 1;
        }
        return;
    }
    let mut out = generator.storage.begin();
    for packet in generator.scratch.chunks_exact(size) {
        // Sizes are far below what UDP carries.
        let _ = out.push(to, None, &[], packet, 0);
    }
    outcome.sent += out.flush(socket).sent;
}
