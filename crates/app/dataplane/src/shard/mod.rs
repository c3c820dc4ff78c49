//! A shard: one OS thread that owns its sockets, sessions and timers, and shares nothing that a
//! packet touches.
//!
//! The loop: wait for readiness, read batches, hand every packet to the TURN server, send what it
//! says in batches, run timers. Commands of the controller are taken between batches.

mod accept;
mod command;
mod core;
mod datagram;
mod dtls;
mod effects;
mod outbox;
mod peers;
mod ports;
mod relay;
mod sessions;
pub mod stats;
mod stream;
mod streams;
mod token;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stunner_net::poll::{Events, Poller, Ticker};
use stunner_net::udp::{RecvBatch, SendBatch};
use stunner_telemetry::metrics::ShardMetrics;
use stunner_turn::server::{EndReason, Policy, Server, Settings};

pub use self::command::{
    Command, Mode, OpenPort, PortId, PortState, SessionCounts, ShardHandle, Sockets, Update,
};
use self::core::Core;
pub use self::sessions::{parse_session_id, session_id};
use self::stats::Pulse;
use self::token::{Kind, Token};
use crate::clock::Clock;
use crate::shared::Shared;

/// Receive slots: how many datagrams, or groups of them, one system call may bring.
const SLOTS: usize = 64;
const EVENTS: usize = 512;
/// The loop turns at least this often: for timers, for publishing numbers, and so that a stuck shard
/// shows. A timer of its own, armed once, costs less than a timeout with every wait.
const TICK: Duration = Duration::from_millis(50);
/// How often timeouts of connections are looked at.
const SWEEP_MILLIS: u64 = 1_000;
/// One batch in so many has its way through the relay timed.
const LATENCY_SAMPLE: u32 = 64;

/// Starts a shard.
pub fn spawn(
    index: u8,
    clock: Clock,
    settings: Settings,
    policy: Arc<Policy>,
    shared: Arc<Shared>,
    metrics: ShardMetrics,
) -> io::Result<(ShardHandle, JoinHandle<()>)> {
    let poller = Poller::new()?;
    let waker = poller.waker(Token::new(Kind::Wake, 0).for_poll())?;
    let ticker = poller.ticker(Token::new(Kind::Tick, 0).for_poll(), TICK)?;
    let (sender, commands) = mpsc::channel();
    let pulse = Arc::new(Pulse::default());
    pulse.beat(clock.millis());
    let handle = ShardHandle::new(sender, Arc::new(waker), Arc::clone(&pulse));
    let server = Server::new(
        settings,
        Arc::clone(&shared.turn),
        policy,
        rand::random(),
        index,
    );
    let shard = Shard {
        core: Core::new(index, clock, server, poller, shared, metrics, pulse),
        rx: RecvBatch::new(SLOTS)?,
        tx: SendBatch::new(),
        ready_accepts: Vec::new(),
        ready_ports: VecDeque::new(),
        commands,
        unpublished: true,
        ticked: false,
        ticker,
        swept_millis: 0,
        batches: 0,
        stopping: false,
    };
    let thread = std::thread::Builder::new()
        .name(format!("shard-{index}"))
        .spawn(move || shard.run())?;
    Ok((handle, thread))
}

struct Shard {
    core: Core,
    rx: RecvBatch,
    tx: SendBatch,
    /// TCP ports with connections waiting.
    ready_accepts: Vec<(u32, bool)>,
    /// UDP ports with datagrams waiting.
    ready_ports: VecDeque<(u32, bool)>,
    commands: Receiver<Command>,
    /// Something happened since the numbers were published.
    unpublished: bool,
    /// The ticker fired since timers were looked at.
    ticked: bool,
    ticker: Ticker,
    swept_millis: u64,
    batches: u32,
    stopping: bool,
}

impl Shard {
    fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        while !self.stopping {
            let wait = self.has_work().then_some(Duration::ZERO);
            if let Err(error) = self.core.poller.wait(&mut events, wait) {
                tracing::error!(
                    scope = "turn",
                    "shard {} cannot wait for events: {error}",
                    self.core.index
                );
                std::thread::sleep(TICK);
            }
            self.core.now = self.core.clock.now();
            self.core.pulse.beat(self.core.now.millis);
            for event in events.iter() {
                self.dispatch(event.token.0, event.readable, event.writable);
            }
            self.accept();
            self.read_datagrams();
            self.core.continue_streams(&mut self.tx);
            self.run_timers();
            self.core.flush_streams();
            self.core.flush_dtls();
        }
        self.end_everything();
    }

    /// Whether something waits that no event will report again.
    fn has_work(&self) -> bool {
        let core = &self.core;
        !self.ready_ports.is_empty()
            || !core.ready_relays.is_empty()
            || !self.ready_accepts.is_empty()
            || core.has_stream_work()
    }

    fn dispatch(&mut self, token: u64, readable: bool, writable: bool) {
        let Some(token) = Token::from_u64(token) else {
            return;
        };
        self.unpublished |= token.kind != Kind::Tick;
        match token.kind {
            Kind::Wake => self.run_commands(),
            Kind::Tick => self.ticked |= self.ticker.take() > 0,
            Kind::Datagram => self.ready_ports.push_back((token.index, token.ipv6)),
            Kind::Accept => self.ready_accepts.push((token.index, token.ipv6)),
            Kind::Stream => self
                .core
                .stream_ready(&mut self.tx, token.index, readable, writable),
            Kind::Relay => self.core.ready_relays.push(token.index, token.ipv6),
            Kind::RelayAccept => self.core.accept_peers(token.index, token.ipv6),
            Kind::Peer => self.core.peer_ready(token.index, readable),
            Kind::Dtls => {}
        }
    }

    fn accept(&mut self) {
        for (port, ipv6) in std::mem::take(&mut self.ready_accepts) {
            if !self.core.accept_streams(port, ipv6) {
                self.ready_accepts.push((port, ipv6));
            }
        }
    }

    fn read_datagrams(&mut self) {
        for _ in 0..self.ready_ports.len() {
            let Some((port, ipv6)) = self.ready_ports.pop_front() else {
                break;
            };
            let started = self.sample();
            let drained =
                datagram::read_port(&mut self.core, &mut self.rx, &mut self.tx, port, ipv6);
            self.record(started);
            if !drained {
                self.ready_ports.push_back((port, ipv6));
            }
        }
        if !self.core.ready_relays.is_empty() {
            let started = self.sample();
            relay::read_relays(&mut self.core, &mut self.rx, &mut self.tx);
            self.record(started);
        }
    }

    fn sample(&mut self) -> Option<Instant> {
        self.batches = self.batches.wrapping_add(1);
        self.batches
            .is_multiple_of(LATENCY_SAMPLE)
            .then(Instant::now)
    }

    fn record(&mut self, started: Option<Instant>) {
        if let Some(started) = started {
            self.core
                .metrics
                .relay_latency
                .observe_seconds(started.elapsed());
        }
    }

    fn run_timers(&mut self) {
        if !std::mem::take(&mut self.ticked) {
            return;
        }
        let now = self.core.now;
        let deadline = self.core.server.next_deadline();
        if deadline.is_some_and(|deadline| deadline <= now.millis) {
            self.core.server.on_timeout(now);
            self.core.run_effects();
            self.unpublished = true;
        }
        self.core.dtls_timeouts();
        if now.millis.saturating_sub(self.swept_millis) >= SWEEP_MILLIS {
            self.swept_millis = now.millis;
            self.sweep();
        }
        if self.unpublished {
            self.publish();
        }
    }

    fn sweep(&mut self) {
        self.core.sweep_streams();
        self.core.sweep_dtls();
        self.core.sweep_stats();
        self.ready_accepts.append(&mut self.core.accept_later);
        self.unpublished = true;
    }

    fn publish(&mut self) {
        let core = &mut self.core;
        core.tally.publish(core.server.stats(), &mut core.metrics);
        self.unpublished = false;
    }

    fn run_commands(&mut self) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Update(update, done) => {
                    let sessions = self.core.apply(*update);
                    self.core.flush_streams();
                    self.core.flush_dtls();
                    self.publish();
                    let _ = done.send(sessions);
                }
                Command::Adopt(stream) => self.core.insert_stream(stream),
                Command::Sessions(answer) => {
                    let _ = answer.send(self.core.sessions());
                }
                Command::CountByListener(answer) => {
                    let _ = answer.send(self.core.sessions_by_listener());
                }
                Command::EndSession(id, answer) => {
                    let _ = answer.send(self.core.end_session(id));
                }
                Command::CountActive(answer) => {
                    let core = &self.core;
                    let stale = core.shared.stale_after_millis;
                    let _ = answer.send(core.server.active_allocation_count(core.now, stale));
                }
                Command::Stop => self.stopping = true,
            }
        }
    }

    /// Closes what is open, so that clients learn of it and every session is recorded.
    fn end_everything(&mut self) {
        let ids: Vec<_> = self
            .core
            .server
            .sessions()
            .map(|session| session.allocation)
            .collect();
        for id in ids {
            self.core
                .server
                .end_allocation(self.core.now, id, EndReason::Shutdown);
        }
        self.core.run_effects();
        self.core.close_all_streams();
        self.core.close_all_dtls();
        self.core.flush_dtls();
        self.publish();
    }
}
