//! A TURN client as a state machine: no sockets, no clock, no randomness of its own.
//!
//! **Bytes and time go in, bytes and events come out.** Every call takes the time in milliseconds
//! of any monotonic clock. After each call, send what [`Client::poll_transmit`] returns, one datagram
//! or stream write each; call [`Client::on_timeout`] at [`Client::next_deadline`].
//!
//! ```
//! use stunner_turn::client::{AllocateOptions, Client, Event, Settings, Transport};
//!
//! let settings = Settings::with_password("user", "pass", Transport::Datagram);
//! let mut client = Client::new(settings, [7; 32]);
//! client.allocate(0, AllocateOptions::default()).unwrap();
//! let request = client.poll_transmit().expect("the Allocate request, to be sent to the server");
//! assert_eq!(client.next_deadline(), Some(500), "the first retransmission");
//! // A datagram that is not for this client changes nothing.
//! assert_eq!(client.handle(3, &request[..10]), Event::Ignored);
//! ```
//!
//! On a stream the caller cuts frames with [`stunner_stun::framing`] and hands over one at a time.
//!
//! Data packets allocate nothing: [`Client::send`] writes into the caller's buffer and
//! [`Event::Data`] is a range of the bytes the caller already holds.
//!
//! What it deliberately is not: it finds no servers, opens no connections and follows no
//! [`Event::TryAlternate`] by itself; those need sockets.

mod answer;
mod challenge;
mod event;
mod peers;
mod settings;
mod timers;
mod transaction;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use stunner_stun::{Class, MessageWriter, Method, attr, channel_data};

use challenge::Challenge;
pub use event::{Allocated, ClientError, Event, RequestId, SendError};
use peers::Peers;
pub use settings::{AllocateOptions, Credentials, RelayTransport, Settings, Transport};
pub use stunner_stun::Family;
use transaction::{IdSource, Operation, Transaction};

/// Peers in one CreatePermission: keeps the request well below any path's MTU.
const PEERS_PER_REQUEST: usize = 16;
/// RFC 8656 §8 leaves the margin to the client; a minute outlasts a whole retransmission schedule.
const REFRESH_MARGIN_MS: u64 = 60_000;

/// The allocation as the client knows it.
#[derive(Debug)]
struct Allocation {
    transport: RelayTransport,
    relayed: SocketAddr,
    additional: Option<SocketAddr>,
    /// The lifetime the caller asked for, repeated in automatic refreshes.
    wanted_lifetime: Option<u32>,
    refresh_at: Option<u64>,
    expires_at: u64,
}

/// A TURN client on one 5-tuple. See the module's introduction.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    ids: IdSource,
    next_request: u64,
    challenge: Option<Arc<Challenge>>,
    transactions: Vec<Transaction>,
    allocation: Option<Allocation>,
    peers: Peers,
    outbox: VecDeque<Vec<u8>>,
    events: VecDeque<Event>,
}

impl Client {
    /// A client that has sent nothing. The seed makes its transaction ids unguessable: draw it anew
    /// for every client.
    pub fn new(settings: Settings, seed: [u8; 32]) -> Self {
        Client {
            settings,
            ids: IdSource::new(seed),
            next_request: 0,
            challenge: None,
            transactions: Vec::new(),
            allocation: None,
            peers: Peers::default(),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// A client for a second connection to the same server, to be used with
    /// [`Client::connection_bind`]: it knows the realm and nonce already.
    pub fn data_connection(&mut self) -> Client {
        let mut client = Client::new(self.settings.clone(), self.ids.fork());
        client.challenge = self.challenge.clone();
        client
    }

    /// The settings the client was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The relayed transport address, once allocated.
    pub fn relayed(&self) -> Option<SocketAddr> {
        self.allocation
            .as_ref()
            .map(|allocation| allocation.relayed)
    }

    /// The relayed address of the other family, for a dual allocation.
    pub fn additional_relayed(&self) -> Option<SocketAddr> {
        self.allocation
            .as_ref()
            .and_then(|allocation| allocation.additional)
    }

    /// Whether packets of and to this address pass.
    pub fn has_permission(&self, peer: IpAddr) -> bool {
        self.peers.permits(peer)
    }

    /// The channel bound to a peer.
    pub fn channel(&self, peer: SocketAddr) -> Option<u16> {
        self.peers.channel(peer)
    }

    /// The request made last. It names the one of [`Client::bind_channel`], which returns the channel's number.
    pub fn last_request(&self) -> RequestId {
        RequestId(self.next_request)
    }

    /// Whether every request has been answered.
    pub fn is_idle(&self) -> bool {
        self.transactions.is_empty()
    }

    /// Asks for our address as the server sees it (RFC 8489 §12).
    pub fn binding(&mut self, now: u64) -> Result<RequestId, ClientError> {
        self.request(now, Operation::Binding)
    }

    /// Asks for a relay (RFC 8656 §7.1, RFC 6062 §4.1).
    pub fn allocate(
        &mut self,
        now: u64,
        options: AllocateOptions,
    ) -> Result<RequestId, ClientError> {
        let allocating =
            |transaction: &Transaction| matches!(transaction.operation, Operation::Allocate(_));
        if self.allocation.is_some() || self.transactions.iter().any(allocating) {
            return Err(ClientError::AlreadyAllocated);
        }
        self.check(&options)?;
        self.request(now, Operation::Allocate(options))
    }

    /// RFC 8656 §7.1 and RFC 6062 §4.1 exclude some combinations.
    fn check(&self, options: &AllocateOptions) -> Result<(), ClientError> {
        let tcp = options.transport == RelayTransport::Tcp;
        if tcp && self.settings.transport == Transport::Datagram {
            return Err(ClientError::WrongTransport);
        }
        let problem = if options.family.is_some() && options.additional_family.is_some() {
            "a family and an additional family"
        } else if options.reservation.is_some()
            && (options.even_port.is_some() || options.family.is_some())
        {
            "a reservation and an even port or a family"
        } else if options.additional_family.is_some()
            && (options.reservation.is_some() || options.even_port == Some(true))
        {
            "an additional family and a reservation"
        } else if options.additional_family == Some(Family::V4) {
            "an additional family other than IPv6"
        } else if tcp
            && (options.even_port.is_some()
                || options.dont_fragment
                || options.reservation.is_some())
        {
            "a TCP relay and an even port, a reservation or DONT-FRAGMENT"
        } else {
            return Ok(());
        };
        Err(ClientError::Options(problem))
    }

    /// Extends the allocation; `None` asks for the server's default, `Some(0)` ends it.
    pub fn refresh(&mut self, now: u64, lifetime: Option<u32>) -> Result<RequestId, ClientError> {
        self.allocation.as_ref().ok_or(ClientError::NoAllocation)?;
        self.request(
            now,
            Operation::Refresh {
                lifetime,
                family: None,
            },
        )
    }

    /// Ends one half of a dual allocation, or extends only that half (RFC 8656 §8.1).
    pub fn refresh_family(
        &mut self,
        now: u64,
        family: Family,
        lifetime: Option<u32>,
    ) -> Result<RequestId, ClientError> {
        self.allocation.as_ref().ok_or(ClientError::NoAllocation)?;
        self.request(
            now,
            Operation::Refresh {
                lifetime,
                family: Some(family),
            },
        )
    }

    /// Lets these peers' packets in (RFC 8656 §10.1). More than 16 peers are spread over several
    /// requests with one id and one event each.
    pub fn create_permission(
        &mut self,
        now: u64,
        peers: &[SocketAddr],
    ) -> Result<RequestId, ClientError> {
        self.allocation.as_ref().ok_or(ClientError::NoAllocation)?;
        if peers.is_empty() {
            return Err(ClientError::NoPeer);
        }
        let request = self.next_request_id();
        for chunk in peers.chunks(PEERS_PER_REQUEST) {
            self.start(
                now,
                request,
                Operation::CreatePermission {
                    peers: chunk.to_vec(),
                    renewal: false,
                },
            )?;
        }
        Ok(request)
    }

    /// Binds a channel to a peer, or renews it, and returns its number (RFC 8656 §12.1). Until
    /// [`Event::ChannelBound`], [`Client::send`] uses Send indications.
    pub fn bind_channel(&mut self, now: u64, peer: SocketAddr) -> Result<u16, ClientError> {
        let allocation = self.allocation.as_ref().ok_or(ClientError::NoAllocation)?;
        if allocation.transport == RelayTransport::Tcp {
            return Err(ClientError::WrongTransport);
        }
        let number = self
            .peers
            .reserve_channel(now, peer)
            .ok_or(ClientError::NoChannelNumber)?;
        self.request(now, Operation::ChannelBind { peer, number })?;
        Ok(number)
    }

    /// Asks the server to open a TCP connection to a peer (RFC 6062 §4.3).
    pub fn connect(&mut self, now: u64, peer: SocketAddr) -> Result<RequestId, ClientError> {
        let allocation = self.allocation.as_ref().ok_or(ClientError::NoAllocation)?;
        if allocation.transport == RelayTransport::Udp {
            return Err(ClientError::WrongTransport);
        }
        self.request(now, Operation::Connect { peer })
    }

    /// Makes this connection the data connection of `connection` (RFC 6062 §4.3). Call it on
    /// [`Client::data_connection`], over a new stream to the same server.
    pub fn connection_bind(&mut self, now: u64, connection: u32) -> Result<RequestId, ClientError> {
        if self.settings.transport == Transport::Datagram {
            return Err(ClientError::WrongTransport);
        }
        self.request(now, Operation::ConnectionBind { connection })
    }

    /// Writes a packet for a peer into `buf` and returns its length: ChannelData if a channel is
    /// bound, else a Send indication (RFC 8656 §11.1, §12.5).
    pub fn send(
        &mut self,
        peer: SocketAddr,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Result<usize, SendError> {
        match &self.allocation {
            Some(allocation) if allocation.transport == RelayTransport::Udp => {}
            _ => return Err(SendError::NoAllocation),
        }
        match self.peers.channel(peer) {
            Some(number) => self.write_channel_data(number, payload, buf),
            None if self.peers.permits(peer.ip()) => self.write_indication(peer, payload, buf),
            None => Err(SendError::NoPermission),
        }
    }

    fn write_channel_data(
        &self,
        number: u16,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Result<usize, SendError> {
        let length =
            u16::try_from(payload.len()).map_err(|_| SendError::TooLarge(payload.len()))?;
        let end = 4 + payload.len();
        // RFC 8656 §12.5: padding is a must on streams and a may in datagrams; the length field does not count it.
        let total = match self.settings.transport {
            Transport::Datagram if !self.settings.pad_datagrams => end,
            _ => end.next_multiple_of(4),
        };
        let packet = buf.get_mut(..total).ok_or(SendError::Buffer(total))?;
        packet[..4].copy_from_slice(&channel_data::header(number, length));
        packet[4..end].copy_from_slice(payload);
        packet[end..].fill(0);
        Ok(total)
    }

    fn write_indication(
        &mut self,
        peer: SocketAddr,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Result<usize, SendError> {
        // Header, XOR-PEER-ADDRESS and DATA with its padding.
        let address = if peer.is_ipv4() { 12 } else { 24 };
        let total = 20 + address + 4 + payload.len().next_multiple_of(4);
        if total - 20 > usize::from(u16::MAX) {
            return Err(SendError::TooLarge(payload.len()));
        }
        let id = self.ids.next();
        let mut writer = MessageWriter::new(buf, Class::Indication, Method::SEND, id);
        writer
            .xor_address(attr::XOR_PEER_ADDRESS, peer)
            .data(payload);
        writer.finish().map_err(|_| SendError::Buffer(total))
    }

    /// The next packet to send to the server.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.outbox.pop_front()
    }

    fn next_request_id(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request)
    }

    fn request(&mut self, now: u64, operation: Operation) -> Result<RequestId, ClientError> {
        let request = self.next_request_id();
        self.start(now, request, operation)?;
        Ok(request)
    }

    fn renew(&mut self, now: u64, operation: Operation) {
        // A renewal is no larger than the request it renews, which did fit.
        let _ = self.request(now, operation);
    }

    fn start(
        &mut self,
        now: u64,
        request: RequestId,
        operation: Operation,
    ) -> Result<(), ClientError> {
        let challenge = self.challenge.clone();
        let id = self.ids.next();
        let transaction =
            Transaction::start(now, id, request, operation, &self.settings, challenge)?;
        self.outbox.push_back(transaction.bytes.clone());
        self.transactions.push(transaction);
        Ok(())
    }

    /// Forgets the allocation, its peers, and requests that make no sense without it.
    fn lose_allocation(&mut self) {
        self.allocation = None;
        self.peers.clear();
        self.transactions.retain(|transaction| {
            matches!(
                transaction.operation,
                Operation::Binding | Operation::ConnectionBind { .. }
            )
        });
    }
}
