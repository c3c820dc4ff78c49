//! The ways that datagrams take: sockets of this host and allocations on TURN servers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stunner_client::{ClientError, Relay};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::candidate::LocalCandidate;

/// The longest UDP payload there is.
const DATAGRAM: usize = 65_535;
/// Datagrams that wait for the engine; what comes on top waits in the kernel.
const WAITING: usize = 256;
/// An allocation that cannot be given back in this time runs out by itself.
const GOODBYE: Duration = Duration::from_secs(2);

/// A candidate and the way behind it.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) candidate: LocalCandidate,
    pub(crate) way: Way,
}

#[derive(Debug)]
pub(crate) enum Way {
    Socket(Arc<UdpSocket>),
    Relay(Relay),
}

/// A datagram for the engine.
#[derive(Debug)]
pub(crate) struct Datagram {
    /// The local candidate that it came to.
    pub(crate) local: SocketAddr,
    pub(crate) source: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

/// All ways of one peer, being read.
#[derive(Debug)]
pub(crate) struct Paths {
    ways: Vec<(LocalCandidate, Way)>,
    peers: Arc<Mutex<HashMap<(SocketAddr, SocketAddr), Peer>>>,
    incoming: mpsc::Receiver<Datagram>,
    readers: Vec<JoinHandle<()>>,
}

/// What a TURN server thinks of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Peer {
    Asked,
    /// It did not say. The next datagram asks again.
    Unanswered,
    Open,
    Refused(String),
}

impl Paths {
    /// Begins to read all of them, in tasks of the current runtime.
    pub(crate) fn open(paths: Vec<Path>) -> Self {
        let (sender, incoming) = mpsc::channel(WAITING);
        let mut readers = Vec::new();
        let mut ways = Vec::new();
        for Path { candidate, way } in paths {
            let (local, sender) = (candidate.address, sender.clone());
            readers.push(match &way {
                Way::Socket(socket) => tokio::spawn(read_socket(Arc::clone(socket), local, sender)),
                Way::Relay(relay) => tokio::spawn(read_relay(relay.clone(), local, sender)),
            });
            ways.push((candidate, way));
        }
        Paths {
            ways,
            peers: Arc::default(),
            incoming,
            readers,
        }
    }

    pub(crate) fn candidates(&self) -> Vec<LocalCandidate> {
        self.ways
            .iter()
            .map(|(candidate, _)| candidate.clone())
            .collect()
    }

    /// What TURN servers said of peers that they do not relay to.
    pub(crate) fn refusals(&self) -> Vec<(SocketAddr, String)> {
        let peers = lock(&self.peers);
        let refused = peers.iter().filter_map(|((_, peer), state)| match state {
            Peer::Refused(why) => Some((*peer, why.clone())),
            Peer::Asked | Peer::Unanswered | Peer::Open => None,
        });
        let mut refused: Vec<_> = refused.collect();
        refused.sort();
        refused.dedup();
        refused
    }

    /// Whether TURN servers were asked for ways to peers, and said nothing so far to any of it.
    pub(crate) fn is_unanswered(&self) -> bool {
        let peers = lock(&self.peers);
        let is_open_question = |peer: &Peer| matches!(peer, Peer::Asked | Peer::Unanswered);
        !peers.is_empty() && peers.values().all(is_open_question)
    }

    /// The next datagram; never, when every way is dead.
    pub(crate) async fn receive(&mut self) -> Datagram {
        match self.incoming.recv().await {
            Some(datagram) => datagram,
            None => std::future::pending().await,
        }
    }

    /// Sends from a candidate. A datagram that does not go out is a lost one; the protocols above know how to live
    /// with that. A server that takes nothing any more is not waited for: it would hold up every deadline.
    pub(crate) async fn send(&self, local: SocketAddr, peer: SocketAddr, bytes: &[u8]) {
        let mut ways = self.ways.iter();
        match ways.find(|(candidate, _)| candidate.address == local) {
            Some((_, Way::Socket(socket))) => {
                let _ = socket.send_to(bytes, peer).await;
            }
            Some((_, Way::Relay(relay))) => self.relay(relay, local, peer, bytes),
            None => {}
        }
    }

    fn relay(&self, relay: &Relay, local: SocketAddr, peer: SocketAddr, bytes: &[u8]) {
        let known = lock(&self.peers).get(&(local, peer)).cloned();
        match known {
            Some(Peer::Open) => {
                let _ = relay.try_send(peer, bytes);
            }
            // Checks come again; the answer of the server is not far.
            Some(Peer::Asked | Peer::Refused(_)) => {}
            None | Some(Peer::Unanswered) => {
                lock(&self.peers).insert((local, peer), Peer::Asked);
                let (relay, peers) = (relay.clone(), Arc::clone(&self.peers));
                let bytes = bytes.to_vec();
                // A channel (RFC 8656 §12) has a permission with it, and the shortest header.
                tokio::spawn(async move {
                    let state = match relay.bind_channel(peer).await {
                        Ok(()) => Peer::Open,
                        Err(error @ ClientError::Refused { .. }) => {
                            Peer::Refused(error.to_string())
                        }
                        Err(error) => {
                            tracing::debug!(scope = "ice", "no way to {peer} yet: {error}");
                            Peer::Unanswered
                        }
                    };
                    let is_open = state == Peer::Open;
                    lock(&peers).insert((local, peer), state);
                    if is_open {
                        let _ = relay.try_send(peer, &bytes);
                    }
                });
            }
        }
    }

    /// Gives the allocations back.
    pub(crate) async fn close(mut self) {
        for reader in self.readers.drain(..) {
            reader.abort();
        }
        let relays = self.ways.drain(..).filter_map(|(_, way)| match way {
            Way::Relay(relay) => Some(tokio::spawn(relay.close())),
            Way::Socket(_) => None,
        });
        for closing in relays.collect::<Vec<_>>() {
            let _ = tokio::time::timeout(GOODBYE, closing).await;
        }
    }
}

impl Drop for Paths {
    fn drop(&mut self) {
        for reader in &self.readers {
            reader.abort();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn read_socket(socket: Arc<UdpSocket>, local: SocketAddr, sender: mpsc::Sender<Datagram>) {
    let mut buffer = vec![0; DATAGRAM];
    loop {
        // An ICMP error of one peer is no end for the others.
        let Ok((len, source)) = socket.recv_from(&mut buffer).await else {
            tokio::task::yield_now().await;
            continue;
        };
        // A socket of both families sees IPv4 sources as IPv6 ones.
        let source = SocketAddr::new(source.ip().to_canonical(), source.port());
        let bytes = buffer[..len].to_vec();
        let datagram = Datagram {
            local,
            source,
            bytes,
        };
        if sender.send(datagram).await.is_err() {
            return;
        }
    }
}

async fn read_relay(relay: Relay, local: SocketAddr, sender: mpsc::Sender<Datagram>) {
    let mut buffer = vec![0; DATAGRAM];
    while let Ok((len, source)) = relay.recv(&mut buffer).await {
        let bytes = buffer[..len].to_vec();
        let datagram = Datagram {
            local,
            source,
            bytes,
        };
        if sender.send(datagram).await.is_err() {
            return;
        }
    }
    tracing::debug!(scope = "ice", "the relay candidate {local} is gone");
}
