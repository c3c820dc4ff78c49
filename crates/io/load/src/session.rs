//! Sessions: a connection each, an allocation and a channel to the one peer.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use stunner_net::poll::{Events, Interest, Poller, Token};
use stunner_net::udp::{RecvBatch, UdpOptions};
use stunner_turn::client::{self, Client, Settings};

use crate::arrivals::{RECEIVE_SLOTS, receive_batches};
use crate::error::SessionError;
use crate::link::Link;
use crate::phase::Phase;
use crate::target::{Target, Transport};

/// The channel number a forwarder is spoken to with; the client machine hands out the same first.
const FORWARD_CHANNEL: u16 = 0x4000;
/// How long one step of all sessions may take altogether.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// One client.
#[derive(Debug)]
pub(crate) struct Session {
    /// On loopback every session has an address of its own, as clients do.
    pub(crate) link: Link,
    /// Its protocol machine; unused with a forwarder.
    pub(crate) client: Client,
    /// The channel to the peer.
    pub(crate) channel: u16,
    /// Where the peer sends to reach the client.
    pub(crate) relayed: Option<SocketAddr>,
    pub(crate) phase: Phase,
    pub(crate) begun: Instant,
}

/// All clients of one server, in one thread.
#[derive(Debug)]
pub struct Sessions {
    /// In the order of their poll tokens.
    pub(crate) list: Vec<Session>,
    /// Watches every session's connection under its index.
    pub(crate) poller: Poller,
    /// What became of sessions that are over before their time, since it was last taken.
    pub(crate) failures: Vec<SessionError>,
    pub(crate) target: Target,
    pub(crate) peer: SocketAddr,
    options: UdpOptions,
    pub(crate) goal: Phase,
    /// The number of the first session, where several threads share the addresses of clients.
    first: usize,
    started: Instant,
    received: RecvBatch,
}

impl Sessions {
    /// Opens the sockets of `count` clients and sends nothing yet.
    pub fn open(
        target: Target,
        peer: SocketAddr,
        count: usize,
        options: UdpOptions,
    ) -> Result<Self, SessionError> {
        let mut sessions = Sessions::numbered_from(0, target, peer, options)?;
        for _ in 0..count {
            sessions.add(Instant::now())?;
        }
        Ok(sessions)
    }

    /// No sessions yet; those to come have numbers from `first`.
    pub(crate) fn numbered_from(
        first: usize,
        target: Target,
        peer: SocketAddr,
        options: UdpOptions,
    ) -> Result<Self, SessionError> {
        Ok(Sessions {
            list: Vec::new(),
            poller: Poller::new()?,
            failures: Vec::new(),
            target,
            peer,
            options,
            goal: Phase::New,
            first,
            started: Instant::now(),
            received: RecvBatch::new(RECEIVE_SLOTS)?,
        })
    }

    /// One more session, which begins now; its number in the list.
    pub(crate) fn add(&mut self, now: Instant) -> Result<usize, SessionError> {
        let index = self.list.len();
        let transport = self.target.protocol.transport();
        let local = client_address(&self.target, self.first + index);
        let link = Link::open(transport, local, self.target.address, &self.options)
            .map_err(SessionError::Connect)?;
        let (interest, kind) = match transport {
            Transport::Udp => (Interest::Readable, client::Transport::Datagram),
            Transport::Dtls(_) => (Interest::Both, client::Transport::Datagram),
            Transport::Tcp | Transport::Tls(_) => (Interest::Both, client::Transport::Stream),
        };
        self.poller.add(&link, Token(index as u64), interest)?;
        let settings = Settings::with_password(&self.target.username, &self.target.password, kind);
        self.list.push(Session {
            link,
            client: Client::new(settings, seed(self.first + index)),
            channel: FORWARD_CHANNEL,
            relayed: None,
            phase: Phase::New,
            begun: now,
        });
        Ok(index)
    }

    pub(crate) fn server(&self) -> SocketAddr {
        self.target.address
    }

    /// ChannelData is padded to four bytes on streams (RFC 8656 §12.5), and on DTLS for servers that read it as one.
    pub(crate) fn is_padded(&self) -> bool {
        !matches!(self.target.protocol.transport(), Transport::Udp)
    }

    /// Makes an allocation for every session, at most `window` at a time, and says how long that took.
    pub fn allocate(&mut self, window: usize) -> Result<Duration, SessionError> {
        let start = Instant::now();
        self.reach(Phase::Allocated, window)?;
        Ok(start.elapsed())
    }

    /// Gives every session a channel to the peer, and so a permission (RFC 8656 §12.1).
    pub fn bind(&mut self, window: usize) -> Result<(), SessionError> {
        self.reach(Phase::Bound, window)
    }

    /// Lets all sessions, also those to come, go on to this phase as far as it is in their hands.
    pub(crate) fn aim_at(&mut self, goal: Phase) {
        self.goal = goal;
    }

    /// Takes all sessions to a phase, at most `window` of them at a time.
    fn reach(&mut self, goal: Phase, window: usize) -> Result<(), SessionError> {
        self.aim_at(goal);
        let deadline = Instant::now() + STEP_TIMEOUT;
        let mut events = Events::with_capacity(256);
        let mut begun = 0;
        loop {
            let count = self.list.len();
            let done = self.count(|phase| phase >= goal);
            if done == count {
                return Ok(());
            }
            while begun < count && begun < done + window {
                self.advance(begun);
                begun += 1;
            }
            let heard = self
                .poller
                .wait(&mut events, Some(Duration::from_millis(20)))?;
            if heard == 0 {
                self.tick();
            }
            for event in events.iter() {
                self.hear(event.token.0 as usize)?;
            }
            if let Some(error) = self.failures.pop() {
                return Err(error);
            }
            if Instant::now() > deadline {
                return Err(SessionError::Timeout(count - done));
            }
        }
    }

    pub(crate) fn count(&self, counts: impl Fn(Phase) -> bool) -> usize {
        let phases = self.list.iter().map(|session| session.phase);
        phases.filter(|phase| counts(*phase)).count()
    }

    /// Reads what came for one session that does not carry traffic yet, or any more; whether that was anything.
    pub(crate) fn hear(&mut self, index: usize) -> Result<bool, SessionError> {
        let mut packets = Vec::new();
        let mut broken = None;
        if let Some(session) = self.list.get_mut(index) {
            match &mut session.link {
                Link::Udp(socket) => {
                    receive_batches(&mut self.received, socket, |_, datagram| {
                        packets.push(datagram.to_vec());
                    })?;
                }
                Link::Framed(_) => {
                    let heard = self.read(index, &mut |packet| packets.push(packet.to_vec()));
                    broken = heard.err();
                }
            }
        }
        for packet in &packets {
            self.handle(index, packet);
        }
        // A server may answer the last request and hang up.
        if let Some(error) = broken {
            self.fail(index, error);
        }
        Ok(!packets.is_empty())
    }

    /// Goes on with a framed connection and reads its frames.
    pub(crate) fn read(
        &mut self,
        index: usize,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<(), SessionError> {
        self.advance(index);
        let Some(session) = self.list.get_mut(index) else {
            return Ok(());
        };
        match &mut session.link {
            Link::Framed(framed) if session.phase > Phase::Connecting => {
                framed.flush().map_err(SessionError::Broken)?;
                framed.receive(each).map_err(SessionError::Broken)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

/// On loopback every client gets an address of its own, as on the internet: servers limit and hash
/// by source address.
fn client_address(target: &Target, index: usize) -> SocketAddr {
    match target.address {
        SocketAddr::V4(server) if server.ip().is_loopback() => {
            let high = (index / 250 % 250) as u8;
            let low = (index % 250) as u8 + 1;
            SocketAddr::from((Ipv4Addr::new(127, 1, high, low), 0))
        }
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    }
}

/// Transaction ids need not be secret in a load test, only different per client.
fn seed(index: usize) -> [u8; 32] {
    let mut seed = [0x5a; 32];
    seed[..8].copy_from_slice(&index.to_le_bytes());
    let nanos = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_nanos());
    seed[8..24].copy_from_slice(&nanos.to_le_bytes());
    seed
}
