//! Sessions: a client socket each, an allocation and a channel to the one peer.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use stunner_net::poll::{Events, Interest, Poller, Token};
use stunner_net::udp::{RecvBatch, UdpOptions, UdpSocket};
use stunner_stun::Method;
use stunner_turn::client::{AllocateOptions, Client, ClientError, Event, Settings, Transport};
use thiserror::Error;

use crate::server::{PASSWORD, Protocol, USERNAME};

/// The channel number the forwarder is spoken to with; the client machine hands out the same first.
const FORWARD_CHANNEL: u16 = 0x4000;
/// How long one step of all sessions may take altogether.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);
const RECEIVE_SLOTS: usize = 64;

/// Why sessions could not be made.
#[derive(Debug, Error)]
pub enum SessionError {
    /// A socket or epoll call failed.
    #[error("a socket failed: {0}")]
    Io(#[from] io::Error),
    /// The client machine refused a call.
    #[error("a request cannot be made: {0}")]
    Request(#[from] ClientError),
    /// The server refused.
    #[error("the server refuses {method:?} with {code} {reason}")]
    Refused {
        /// Which request.
        method: Method,
        /// ERROR-CODE.
        code: u16,
        /// Reason phrase.
        reason: String,
    },
    /// The server did not answer in time.
    #[error("{0} sessions got no answer in time")]
    Timeout(usize),
}

/// A credential and an address.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where the server listens.
    pub address: SocketAddr,
    /// TURN, or nothing.
    pub protocol: Protocol,
    /// The credential of all sessions.
    pub username: String,
    /// Its password.
    pub password: String,
}

impl Target {
    /// A server started by this program.
    pub fn local(address: SocketAddr, protocol: Protocol) -> Self {
        Target {
            address,
            protocol,
            username: USERNAME.to_owned(),
            password: PASSWORD.to_owned(),
        }
    }
}

/// One client.
#[derive(Debug)]
pub struct Session {
    /// Its socket; every session has a loopback address of its own, as clients do.
    pub socket: UdpSocket,
    /// Its protocol machine; unused with a forwarder.
    pub client: Client,
    /// The channel to the peer.
    pub channel: u16,
    /// Where the peer sends to reach the client; learnt from the first packet.
    pub relayed: Option<SocketAddr>,
}

/// All clients of one server.
#[derive(Debug)]
pub struct Sessions {
    /// In the order of their poll tokens.
    pub list: Vec<Session>,
    /// Watches every session socket under its index.
    pub poller: Poller,
    target: Target,
    peer: SocketAddr,
    started: Instant,
    received: RecvBatch,
}

/// The socket options of clients and the peer.
pub fn endpoint_options(gro: bool) -> UdpOptions {
    UdpOptions {
        reuse_port: false,
        packet_info: false,
        gro,
        recv_buffer: Some(4 << 20),
        send_buffer: Some(4 << 20),
    }
}

impl Sessions {
    /// Opens the sockets of `count` clients and sends nothing yet.
    pub fn open(
        target: Target,
        peer: SocketAddr,
        count: usize,
        gro: bool,
    ) -> Result<Self, SessionError> {
        let poller = Poller::new()?;
        let mut list = Vec::with_capacity(count);
        for index in 0..count {
            let socket = UdpSocket::bind(client_address(&target, index), &endpoint_options(gro))?;
            poller.add(&socket, Token(index as u64), Interest::Readable)?;
            let settings =
                Settings::with_password(&target.username, &target.password, Transport::Datagram);
            list.push(Session {
                socket,
                client: Client::new(settings, seed(index)),
                channel: FORWARD_CHANNEL,
                relayed: None,
            });
        }
        Ok(Sessions {
            list,
            poller,
            target,
            peer,
            started: Instant::now(),
            received: RecvBatch::new(RECEIVE_SLOTS)?,
        })
    }

    /// The server's address.
    pub fn server(&self) -> SocketAddr {
        self.target.address
    }

    /// Makes an allocation for every session, at most `window` at a time, and says how long that took.
    pub fn allocate(&mut self, window: usize) -> Result<Duration, SessionError> {
        if self.target.protocol == Protocol::Forward {
            return Ok(Duration::ZERO);
        }
        let start = Instant::now();
        self.drive(
            window,
            |client, now, _| client.allocate(now, AllocateOptions::default()).map(drop),
            |event| matches!(event, Event::Allocated(_)),
        )?;
        Ok(start.elapsed())
    }

    /// Gives every session a permission and a channel to the peer.
    pub fn bind(&mut self, window: usize) -> Result<(), SessionError> {
        if self.target.protocol == Protocol::Forward {
            return Ok(());
        }
        self.drive(
            window,
            |client, now, peer| client.create_permission(now, &[peer]).map(drop),
            |event| matches!(event, Event::PermissionGranted { .. }),
        )?;
        self.drive(
            window,
            |client, now, peer| client.bind_channel(now, peer).map(drop),
            |event| matches!(event, Event::ChannelBound { .. }),
        )?;
        for session in &mut self.list {
            session.relayed = session.client.relayed();
            session.channel = session.client.channel(self.peer).unwrap_or(FORWARD_CHANNEL);
        }
        Ok(())
    }

    /// Ends all allocations, as a polite client does.
    pub fn release(&mut self, window: usize) -> Result<(), SessionError> {
        if self.target.protocol == Protocol::Forward {
            return Ok(());
        }
        self.drive(
            window,
            |client, now, _| client.refresh(now, Some(0)).map(drop),
            |event| matches!(event, Event::Released),
        )
    }

    /// Runs refreshes that are due; cheap enough for once a second.
    pub fn tick(&mut self) {
        let now = self.now();
        let server = self.target.address;
        for session in &mut self.list {
            if session.client.next_deadline().is_some_and(|at| at <= now) {
                session.client.on_timeout(now);
                transmit(session, server);
            }
        }
    }

    /// Hands a packet that is no ChannelData to its session's client.
    pub fn handle(&mut self, index: usize, bytes: &[u8]) {
        let now = self.now();
        let server = self.target.address;
        if let Some(session) = self.list.get_mut(index) {
            session.client.handle(now, bytes);
            transmit(session, server);
        }
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// Starts one request per session and waits until each is answered.
    fn drive(
        &mut self,
        window: usize,
        start: impl Fn(&mut Client, u64, SocketAddr) -> Result<(), ClientError>,
        is_done: impl Fn(&Event) -> bool,
    ) -> Result<(), SessionError> {
        let (count, server, peer) = (self.list.len(), self.target.address, self.peer);
        let deadline = Instant::now() + STEP_TIMEOUT;
        let mut events = Events::with_capacity(256);
        let (mut begun, mut done) = (0, 0);
        while done < count {
            let now = self.now();
            while begun < count && begun - done < window {
                let session = &mut self.list[begun];
                start(&mut session.client, now, peer)?;
                transmit(session, server);
                begun += 1;
            }
            if self
                .poller
                .wait(&mut events, Some(Duration::from_millis(20)))?
                == 0
            {
                if Instant::now() > deadline {
                    return Err(SessionError::Timeout(count - done));
                }
                self.tick();
                continue;
            }
            for event in events.iter() {
                done += self.answers(event.token.0 as usize, &is_done)?;
            }
        }
        Ok(())
    }

    /// Reads what came for one session and counts the answers `is_done` accepts.
    fn answers(
        &mut self,
        index: usize,
        is_done: &impl Fn(&Event) -> bool,
    ) -> Result<usize, SessionError> {
        let (now, server) = (self.now(), self.target.address);
        let Some(session) = self.list.get_mut(index) else {
            return Ok(0);
        };
        let mut done = 0;
        loop {
            let count = self.received.recv(&session.socket, 0, RECEIVE_SLOTS)?;
            for slot in 0..count {
                for datagram in self.received.get(slot).datagrams() {
                    match session.client.handle(now, datagram) {
                        Event::Error {
                            method,
                            code,
                            reason,
                            ..
                        } => {
                            return Err(SessionError::Refused {
                                method,
                                code,
                                reason,
                            });
                        }
                        event if is_done(&event) => done += 1,
                        _ => {}
                    }
                }
            }
            transmit(session, server);
            if count < RECEIVE_SLOTS {
                return Ok(done);
            }
        }
    }
}

fn transmit(session: &mut Session, server: SocketAddr) {
    while let Some(packet) = session.client.poll_transmit() {
        // A lost packet is retransmitted by the client's timer.
        let _ = session.socket.send_to(server, &packet);
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
        SocketAddr::V6(_) => SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, 0)),
    }
}

/// Transaction ids need not be secret on the benchmark's own machine, only different per client.
fn seed(index: usize) -> [u8; 32] {
    let mut seed = [0x5a; 32];
    seed[..8].copy_from_slice(&index.to_le_bytes());
    let nanos = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_nanos());
    seed[8..24].copy_from_slice(&nanos.to_le_bytes());
    seed
}
