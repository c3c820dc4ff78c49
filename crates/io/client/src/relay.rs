//! One allocation on one connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stunner_turn::client::{AllocateOptions, Allocated, Family};
use tokio::time::{Instant, timeout_at};

use crate::link::{Room, open_stream};
use crate::session::{Answer, Asked, Session};
use crate::{ClientError, Connect, Lost, PeerStream};

/// How often a server may send us elsewhere, or a request may be made anew in another way.
const MAX_TRIES: usize = 4;

/// An allocation that keeps itself alive. Cheap to clone; dropping the last clone ends it, as does [`Relay::close`].
#[derive(Clone, Debug)]
pub struct Relay {
    session: Arc<Session>,
    allocated: Arc<Allocated>,
}

/// What one attempt came to.
enum Attempt {
    Made(Relay),
    Elsewhere {
        server: SocketAddr,
        domain: Option<String>,
    },
}

impl Relay {
    /// Connects and allocates. Follows 300 (Try Alternate) a few times: [`Relay::server`] says where that led to.
    pub async fn allocate(
        connect: Connect,
        options: AllocateOptions,
    ) -> Result<Relay, ClientError> {
        let (mut connect, mut options) = (connect, options);
        // One deadline for all steps: the user waits for the whole.
        let deadline = connect.deadline();
        let mut visited = vec![connect.server];
        let mut failure = ClientError::TooManyRedirects {
            last: connect.server,
        };
        for _ in 0..MAX_TRIES {
            match Self::attempt(connect.clone(), options.clone(), deadline).await {
                Ok(Attempt::Made(relay)) => return Ok(relay),
                Ok(Attempt::Elsewhere { server, domain }) => {
                    // RFC 8489 §10: a server that was asked before is not asked again.
                    if visited.contains(&server) {
                        return Err(ClientError::TooManyRedirects { last: server });
                    }
                    visited.push(server);
                    failure = ClientError::TooManyRedirects { last: server };
                    connect.server = server;
                    connect.tls.sni = domain.or(connect.tls.sni);
                }
                // RFC 8656 §7.4: an earlier allocation had our port; a new socket has another.
                Err(error @ ClientError::Refused { code: 437, .. }) => failure = error,
                // Servers before RFC 6156 do not know REQUESTED-ADDRESS-FAMILY, and give that of their own address.
                Err(error @ ClientError::Refused { code: 420, .. })
                    if options.family == Some(Family::of(&connect.server.ip())) =>
                {
                    failure = error;
                    options.family = None;
                }
                Err(error) => return Err(error),
            }
        }
        Err(failure)
    }

    async fn attempt(
        connect: Connect,
        options: AllocateOptions,
        deadline: Instant,
    ) -> Result<Attempt, ClientError> {
        let session = Session::open(connect, deadline).await?;
        let asking = session.ask(Asked::Allocate, deadline, |machine, now| {
            machine.allocate(now, options)
        });
        match asking.await? {
            Answer::Allocated(allocated) => Ok(Attempt::Made(Relay {
                session: Arc::new(session),
                allocated: Arc::new(allocated),
            })),
            Answer::Elsewhere { server, domain } => Ok(Attempt::Elsewhere { server, domain }),
            _ => Err(ClientError::NotTurn {
                server: session.connect.server,
                transport: session.connect.transport,
            }),
        }
    }

    /// The server that made the allocation.
    pub fn server(&self) -> SocketAddr {
        self.session.connect.server
    }

    /// The name that its certificate was checked against, where it was not its address.
    pub fn server_name(&self) -> Option<&str> {
        self.session.connect.tls.sni.as_deref()
    }

    /// The relayed transport address: where peers send to.
    pub fn relayed(&self) -> SocketAddr {
        self.allocated.relayed
    }

    /// The relayed address of the other family, for a dual allocation.
    pub fn additional(&self) -> Option<SocketAddr> {
        self.allocated.additional
    }

    /// Our address as the server sees it.
    pub fn mapped(&self) -> Option<SocketAddr> {
        self.allocated.mapped
    }

    /// Our end of the connection to the server.
    pub fn local(&self) -> SocketAddr {
        self.session.local
    }

    /// The lifetime that the server granted last.
    pub fn lifetime(&self) -> Duration {
        self.session.core().lifetime
    }

    /// SOFTWARE of the server, where it tells it.
    pub fn software(&self) -> Option<String> {
        self.session.core().software.clone()
    }

    /// Lets packets of these peers in, and keeps them let in.
    pub async fn permit(&self, peers: &[SocketAddr]) -> Result<(), ClientError> {
        let asked = Asked::Permit(peers.to_vec());
        let deadline = self.session.deadline();
        let make = self.session.ask(asked, deadline, |machine, now| {
            machine.create_permission(now, peers)
        });
        make.await.map(drop)
    }

    /// Binds a channel to a peer, and keeps it bound: less overhead for every packet. Includes the permission.
    pub async fn bind_channel(&self, peer: SocketAddr) -> Result<(), ClientError> {
        let deadline = self.session.deadline();
        let make = self
            .session
            .ask(Asked::Channel(peer), deadline, |machine, now| {
                machine.bind_channel(now, peer)?;
                Ok(machine.last_request())
            });
        make.await.map(drop)
    }

    /// Extends the allocation now; a server that drains says so in its answer, see [`Relay::lost`].
    pub async fn refresh(&self) -> Result<(), ClientError> {
        let deadline = self.session.deadline();
        let make = self.session.ask(Asked::Refresh, deadline, |machine, now| {
            machine.refresh(now, None)
        });
        make.await.map(drop)
    }

    /// Sends a datagram to a peer, by its channel or else in a Send indication. Waits while the connection is full.
    pub async fn send(&self, peer: SocketAddr, payload: &[u8]) -> Result<(), ClientError> {
        while self.session.try_send(peer, payload)? == Room::Full {
            tokio::select! {
                ready = self.session.socket.writable() => ready.map_err(ClientError::Socket)?,
                // Nobody reads from a full connection any more: it may stay full for as long as the system lets it.
                () = self.session.over() => {
                    return Err(self.session.gone().unwrap_or(Lost::Closed).into());
                }
            }
        }
        Ok(())
    }

    /// As [`Relay::send`], but a full connection loses the datagram, as a full network would: `Ok(false)`.
    pub fn try_send(&self, peer: SocketAddr, payload: &[u8]) -> Result<bool, ClientError> {
        Ok(self.session.try_send(peer, payload)? == Room::Taken)
    }

    /// The next datagram of a peer; what does not fit the buffer is cut off. Safe to cancel.
    pub async fn recv(&self, buffer: &mut [u8]) -> Result<(usize, SocketAddr), ClientError> {
        self.session.recv(buffer).await
    }

    /// The next datagram that is already here.
    pub fn try_recv(&self, buffer: &mut [u8]) -> Result<Option<(usize, SocketAddr)>, ClientError> {
        self.session.try_recv(buffer)
    }

    /// The largest datagram that fits the way to the server, for this peer as it is reached now.
    pub fn max_payload(&self, peer: SocketAddr) -> usize {
        self.session.max_payload(peer)
    }

    /// Opens a TCP connection to a peer (RFC 6062), over a new connection of the same transport to the server.
    pub async fn connect(&self, peer: SocketAddr) -> Result<PeerStream, ClientError> {
        let deadline = self.session.deadline();
        let asking = self
            .session
            .ask(Asked::Connect(peer), deadline, |machine, now| {
                machine.connect(now, peer)
            });
        match asking.await? {
            Answer::Connected(connection) => self.data_connection(connection).await,
            _ => Err(ClientError::NotTurn {
                server: self.server(),
                transport: self.session.connect.transport,
            }),
        }
    }

    /// The next TCP connection that a permitted peer opens to the relay (RFC 6062). Safe to cancel while none came.
    pub async fn accept(&self) -> Result<(PeerStream, SocketAddr), ClientError> {
        let (connection, peer) = self.session.attempt().await?;
        Ok((self.data_connection(connection).await?, peer))
    }

    /// RFC 6062 §4.3: a connection that says which peer it is for and carries only that peer's bytes from then on.
    async fn data_connection(&self, connection: u32) -> Result<PeerStream, ClientError> {
        let session = &self.session;
        let deadline = session.deadline();
        let stream = open_stream(&session.connect, session.security.as_deref(), deadline).await?;
        let machine = session.core().machine.data_connection();
        let binding = PeerStream::bind(stream, session, machine, connection);
        let bound = timeout_at(deadline, binding).await;
        bound.unwrap_or_else(|_| Err(session.connect.timed_out(crate::Step::Request)))
    }

    /// Resolves when the allocation is over, or about to be, with the reason. Safe to cancel; says the same again.
    pub async fn lost(&self) -> Lost {
        self.session.lost().await
    }

    /// Datagrams of peers that were thrown away because nobody received them in time.
    pub fn dropped(&self) -> u64 {
        self.session.dropped()
    }

    /// Datagrams of ours that the network between server and peer reported as undeliverable (RFC 8656 §11.6).
    pub fn undeliverable(&self) -> u64 {
        self.session.undeliverable()
    }

    /// Ends the allocation, also for other clones, and waits for the server to say so, for a second at most.
    pub async fn close(self) {
        self.session.release();
        self.session.over().await;
    }
}
