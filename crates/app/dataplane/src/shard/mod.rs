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

use stunner_net::poll::{Events, Poller};
use stunner_net::udp::{RecvBatch, SendBatch};
use stunner_telemetry::metrics::ShardMetrics;
use stunner_turn::server::{EndReason, Policy, Server, Settings};

pub use self::command::{Command, Mode, OpenPort, PortId, PortState, ShardHandle, Sockets, Update};
use self::core::Core;
pub use self::sessions::{parse_session_id, session_id};
use self::stats::Pulse;
use self::token::{Kind, Token};
use crate::clock::Clock;
use crate::shared::Shared;

/// Receive slots: how many datagrams, or groups of them, one system call may bring.
const SLOTS: usize = 64;
const EVENTS: usize = 512;
/// The loop turns at least this often, so that a stuck shard shows.
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// How often timeouts of connections are looked at.
const SWEEP_MILLIS: u64 = 1_000;
/// How old published numbers may become while there is something new to say.
const PUBLISH_MILLIS: u64 = 20;
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
        ready_ports: VecDeque::new(),
        commands,
        published_millis: 0,
        unpublished: true,
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
    /// UDP ports with datagrams waiting.
    ready_ports: VecDeque<(u32, bool)>,
    commands: Receiver<Command>,
    published_millis: u64,
    /// Something happened since the numbers were published.
    unpublished: bool,
    swept_millis: u64,
    batches: u32,
    stopping: bool,
}

impl Shard {
    fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        while !self.stopping {
            let timeout = self.timeout();
            if let Err(error) = self.core.poller.wait(&mut events, Some(timeout)) {
                tracing::error!(
                    scope = "turn",
                    "shard {} cannot wait for events: {error}",
                    self.core.index
                );
                std::thread::sleep(LONGEST_WAIT);
            }
            self.core.now = self.core.clock.now();
            self.core.pulse.beat(self.core.now.millis);
            self.unpublished |= !events.is_empty();
            for event in events.iter() {
                self.dispatch(event.token.0, event.readable, event.writable);
            }
            self.read_datagrams();
            self.core.continue_streams(&mut self.tx);
            self.run_timers();
            self.core.flush_streams();
            self.core.flush_dtls();
        }
        self.end_everything();
    }

    /// How long the loop may sleep.
    fn timeout(&self) -> Duration {
        let core = &self.core;
        if !self.ready_ports.is_empty() || !core.ready_relays.is_empty() || core.has_stream_work() {
            return Duration::ZERO;
        }
        let now = core.clock.millis();
        let deadline = [core.server.next_deadline(), core.dtls.next_deadline()]
            .into_iter()
            .flatten()
            .min()
            .map_or(LONGEST_WAIT, |at| {
                Duration::from_millis(at.saturating_sub(now))
            });
        let publish = match self.unpublished {
            true => Duration::from_millis(PUBLISH_MILLIS),
            false => LONGEST_WAIT,
        };
        deadline.min(publish)
    }

    fn dispatch(&mut self, token: u64, readable: bool, writable: bool) {
        let Some(token) = Token::from_u64(token) else {
            return;
        };
        match token.kind {
            Kind::Wake => self.run_commands(),
            Kind::Datagram => self.ready_ports.push_back((token.index, token.ipv6)),
            Kind::Accept => {
                if !self.core.accept_streams(token.index, token.ipv6) {
                    self.core.accept_later.push((token.index, token.ipv6));
                }
            }
            Kind::Stream => self
                .core
                .stream_ready(&mut self.tx, token.index, readable, writable),
            Kind::Relay => self.core.ready_relays.push(token.index, token.ipv6),
            Kind::RelayAccept => self.core.accept_peers(token.index, token.ipv6),
            Kind::Peer => self.core.peer_ready(token.index, readable),
            Kind::Dtls => {}
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
        let now = self.core.now;
        if self
            .core
            .server
            .next_deadline()
            .is_some_and(|deadline| deadline <= now.millis)
        {
            self.core.server.on_timeout(now);
            self.core.run_effects();
        }
        self.core.dtls_timeouts();
        if now.millis.saturating_sub(self.swept_millis) >= SWEEP_MILLIS {
            self.swept_millis = now.millis;
            self.core.sweep_streams();
            self.core.sweep_dtls();
            self.core.sweep_stats();
            self.unpublished = true;
            for (port, ipv6) in std::mem::take(&mut self.core.accept_later) {
                if !self.core.accept_streams(port, ipv6) {
                    self.core.accept_later.push((port, ipv6));
                }
            }
        }
        if self.unpublished && now.millis.saturating_sub(self.published_millis) >= PUBLISH_MILLIS {
            self.publish();
        }
    }

    fn publish(&mut self) {
        let core = &mut self.core;
        core.tally.publish(core.server.stats(), &mut core.metrics);
        self.published_millis = core.now.millis;
        self.unpublished = false;
    }

    fn run_commands(&mut self) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Update(update, done) => {
                    self.core.apply(*update);
                    self.core.flush_streams();
                    self.core.flush_dtls();
                    self.publish();
                    let _ = done.send(());
                }
                Command::Adopt(stream) => self.core.insert_stream(stream),
                Command::Sessions(answer) => {
                    let _ = answer.send(self.core.sessions());
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
