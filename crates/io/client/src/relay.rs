//! One allocation on one connection.

use std::net::SocketAddr;
use std::time::Duration;

use stunner_turn::client::AllocateOptions;

use crate::{ClientError, Connect, Lost, PeerStream};

/// An allocation that keeps itself alive. Cheap to clone; dropping the last one ends it, as does [`Relay::close`].
#[derive(Clone, Debug)]
pub struct Relay {
    server: SocketAddr,
}

impl Relay {
    /// Connects and allocates. Follows 300 (Try Alternate) a few times: [`Relay::server`] is where it ended.
    pub async fn allocate(
        connect: Connect,
        options: AllocateOptions,
    ) -> Result<Relay, ClientError> {
        let _ = options;
        Err(crate::probe::unfinished(&connect))
    }

    /// The server that made the allocation.
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// The relayed transport address: where peers send to.
    pub fn relayed(&self) -> SocketAddr {
        self.server
    }

    /// The relayed address of the other family, for a dual allocation.
    pub fn additional(&self) -> Option<SocketAddr> {
        None
    }

    /// Our address as the server sees it.
    pub fn mapped(&self) -> Option<SocketAddr> {
        None
    }

    /// Our end of the connection to the server.
    pub fn local(&self) -> SocketAddr {
        self.server
    }

    /// The lifetime that the server granted last.
    pub fn lifetime(&self) -> Duration {
        Duration::ZERO
    }

    /// SOFTWARE of the server, where it tells it.
    pub fn software(&self) -> Option<String> {
        None
    }

    /// Lets packets of these peers in, and keeps them let in.
    pub async fn permit(&self, peers: &[SocketAddr]) -> Result<(), ClientError> {
        let _ = peers;
        Ok(())
    }

    /// Binds a channel to a peer, and keeps it bound: less overhead for every packet. Includes the permission.
    pub async fn bind_channel(&self, peer: SocketAddr) -> Result<(), ClientError> {
        let _ = peer;
        Ok(())
    }

    /// Extends the allocation now; a server that drains says so in its answer, see [`Relay::lost`].
    pub async fn refresh(&self) -> Result<(), ClientError> {
        Ok(())
    }

    /// Sends a datagram to a peer, by its channel or else in a Send indication. Waits while the connection is full.
    pub async fn send(&self, peer: SocketAddr, payload: &[u8]) -> Result<(), ClientError> {
        let _ = (peer, payload);
        Ok(())
    }

    /// As [`Relay::send`], but a full connection loses the datagram, as a full network would: `Ok(false)`.
    pub fn try_send(&self, peer: SocketAddr, payload: &[u8]) -> Result<bool, ClientError> {
        let _ = (peer, payload);
        Ok(false)
    }

    /// The next datagram of a peer; what does not fit the buffer is cut off. Safe to cancel.
    pub async fn recv(&self, buffer: &mut [u8]) -> Result<(usize, SocketAddr), ClientError> {
        let _ = buffer;
        std::future::pending().await
    }

    /// The next datagram that is already here.
    pub fn try_recv(&self, buffer: &mut [u8]) -> Result<Option<(usize, SocketAddr)>, ClientError> {
        let _ = buffer;
        Ok(None)
    }

    /// The largest datagram that fits the way to the server, for this peer as it is reached now.
    pub fn max_payload(&self, peer: SocketAddr) -> usize {
        let _ = peer;
        0
    }

    /// Opens a TCP connection to a peer (RFC 6062), over a new connection of the same transport to the server.
    pub async fn connect(&self, peer: SocketAddr) -> Result<PeerStream, ClientError> {
        let _ = peer;
        std::future::pending().await
    }

    /// The next TCP connection that a permitted peer opens to the relay (RFC 6062). Safe to cancel while none came.
    pub async fn accept(&self) -> Result<(PeerStream, SocketAddr), ClientError> {
        std::future::pending().await
    }

    /// Resolves when the allocation is over, or about to be, with the reason. Safe to cancel; says the same again.
    pub async fn lost(&self) -> Lost {
        std::future::pending().await
    }

    /// Datagrams of peers that were thrown away because nobody received them in time.
    pub fn dropped(&self) -> u64 {
        0
    }

    /// Datagrams of ours that the network between server and peer reported as undeliverable (RFC 8656 §11.6).
    pub fn undeliverable(&self) -> u64 {
        0
    }

    /// Ends the allocation and waits for the server to say so, for a second at most.
    pub async fn close(self) {}
}
