//! What the client tells its caller.

use std::net::SocketAddr;
use std::ops::Range;

use stunner_stun::Method;
use thiserror::Error;

/// Names one request of the caller, from the call that made it to the event that ends it.
/// Retries after a challenge keep the id; refreshes the client makes itself get their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// The server's answer to Allocate (RFC 8656 §7.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocated {
    /// The relayed transport address.
    pub relayed: SocketAddr,
    /// The second one of a dual allocation.
    pub additional: Option<SocketAddr>,
    /// ADDRESS-ERROR-CODE: why the additional family was not granted.
    pub additional_refused: Option<u16>,
    /// The client's address as the server sees it.
    pub mapped: Option<SocketAddr>,
    /// Seconds until the allocation ends without a refresh.
    pub lifetime: u32,
    /// RESERVATION-TOKEN for the next higher port.
    pub reservation: Option<[u8; 8]>,
}

/// The outcome of one packet, or of time passing.
///
/// Automatic refreshes report with the same events as the requests of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Not for us, a duplicate, or not authentic; nothing changed.
    Ignored,
    /// A step of a request that goes on, such as a challenge that was answered: see `poll_transmit`.
    Pending,
    /// Binding answered: our address as the server sees it.
    Reflexive {
        /// XOR-MAPPED-ADDRESS.
        mapped: SocketAddr,
    },
    /// The allocation exists.
    Allocated(Allocated),
    /// The allocation lives on.
    Refreshed {
        /// Seconds from now.
        lifetime: u32,
    },
    /// The allocation ended because we asked for lifetime zero.
    Released,
    /// Permissions are installed or renewed.
    PermissionGranted {
        /// The addresses of one CreatePermission request.
        peers: Vec<SocketAddr>,
    },
    /// A channel is bound or renewed.
    ChannelBound {
        /// The peer at the other end.
        peer: SocketAddr,
        /// Its channel number.
        number: u16,
    },
    /// A packet of a peer.
    Data {
        /// Who sent it.
        peer: SocketAddr,
        /// Where its payload lies in the bytes given to `handle`.
        range: Range<usize>,
    },
    /// The server relays an ICMP error of a packet we sent (RFC 8656 §11.6).
    Unreachable {
        /// The peer that could not be reached.
        peer: SocketAddr,
        /// ICMP type.
        icmp_type: u8,
        /// ICMP code.
        icmp_code: u16,
    },
    /// A peer opened a TCP connection to the relay (RFC 6062 §4.4); bind it within 30 s.
    ConnectionAttempt {
        /// CONNECTION-ID for `connection_bind`.
        connection: u32,
        /// Who connected.
        peer: SocketAddr,
    },
    /// Connect succeeded (RFC 6062 §4.3); bind it within 30 s.
    Connected {
        /// CONNECTION-ID for `connection_bind`.
        connection: u32,
        /// The peer we asked for.
        peer: SocketAddr,
    },
    /// This stream is now the data connection: all further bytes are the peer's.
    ConnectionBound {
        /// CONNECTION-ID.
        connection: u32,
    },
    /// 300: the request should go to another server (RFC 8489 §10), with a new client.
    TryAlternate {
        /// ALTERNATE-SERVER.
        server: SocketAddr,
        /// ALTERNATE-DOMAIN, the name to check the other server's certificate against.
        domain: Option<String>,
    },
    /// The server refused a request for good.
    Error {
        /// Which request.
        request: RequestId,
        /// Its method.
        method: Method,
        /// ERROR-CODE.
        code: u16,
        /// The server's reason phrase.
        reason: String,
    },
    /// No authentic answer came in time.
    TimedOut {
        /// Which request.
        request: RequestId,
        /// Its method.
        method: Method,
    },
    /// The allocation is gone: the server answered 437 or its lifetime passed without a refresh.
    AllocationLost,
}

/// Why a call could not be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// Allocate was called twice.
    #[error("an allocation already exists or is being made")]
    AlreadyAllocated,
    /// The call needs an allocation.
    #[error("there is no allocation")]
    NoAllocation,
    /// A request with nothing in it.
    #[error("no peer was given")]
    NoPeer,
    /// All channel numbers are bound or cooling down (RFC 8656 §12).
    #[error("no channel number is free")]
    NoChannelNumber,
    /// A call of RFC 6062 on a UDP allocation, or the reverse.
    #[error("the allocation's transport does not carry this")]
    WrongTransport,
    /// The options contradict each other (RFC 8656 §7.1).
    #[error("options exclude each other: {0}")]
    Options(&'static str),
    /// The credential, software text or peer list does not fit a request.
    #[error("the request does not fit {0} bytes")]
    TooLarge(usize),
}

/// Why a payload was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// Data needs an allocation over UDP.
    #[error("there is no UDP allocation")]
    NoAllocation,
    /// The server would drop it (RFC 8656 §11.2): ask for a permission first.
    #[error("there is no permission for the peer")]
    NoPermission,
    /// The payload's length does not fit the 16-bit field.
    #[error("a payload of {0} bytes does not fit a TURN message")]
    TooLarge(usize),
    /// The caller's buffer is too small.
    #[error("the buffer is too small: {0} bytes are needed")]
    Buffer(usize),
}
