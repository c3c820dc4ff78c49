//! The stateless half of the handshake.

use std::fmt;
use std::net::SocketAddr;

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslStream};

use super::HANDSHAKE_MTU;
use super::context::{DtlsContext, client_index};
use super::datagrams::Datagrams;
use super::ffi::{self, AddrRoom, ssl_mut};
use super::session::DtlsSession;
use super::transport::{Transport, lend};

/// What a datagram from an unknown client was.
#[derive(Debug)]
pub enum Listen {
    /// A ClientHello without a valid cookie. The HelloVerifyRequest for it is among the replies.
    Reply,
    /// A ClientHello with a valid cookie: the client is where it says it is. The replies hold our
    /// first flight, if the hello was acceptable and whole.
    Accepted(Box<DtlsSession>),
    /// Not a ClientHello, or a broken one.
    Ignored,
}

/// Answers datagrams of clients that have no session. One per shard; keeps nothing per client.
pub struct DtlsListener {
    context: DtlsContext,
    /// Looks at hellos until one is good, then becomes that client's session.
    waiting: SslStream<Transport>,
    room: AddrRoom,
}

impl fmt::Debug for DtlsListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DtlsListener")
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

impl DtlsListener {
    /// Fails only when memory is short.
    pub fn new(context: &DtlsContext) -> std::io::Result<Self> {
        Ok(Self {
            waiting: new_stream(context)?,
            context: context.clone(),
            room: AddrRoom::new()?,
        })
    }

    /// Looks at a datagram from `client`, of whom no session is known. Appends to `replies`.
    pub fn listen(
        &mut self,
        client: SocketAddr,
        datagram: &[u8],
        replies: &mut Datagrams,
    ) -> Listen {
        if !is_client_hello(datagram) {
            return Listen::Ignored;
        }
        let before = replies.len();
        if !self.note(client) {
            return Listen::Ignored;
        }
        let Self { waiting, room, .. } = self;
        let accepted = lend(waiting, Some(datagram), replies, |stream| {
            ffi::listen(ssl_mut(stream), room)
        });
        if !accepted {
            return if replies.len() > before {
                Listen::Reply
            } else {
                Listen::Ignored
            };
        }
        let Ok(next) = new_stream(&self.context) else {
            // Out of memory: the hello is forgotten, the client will send it again.
            ffi::forget_errors();
            return Listen::Ignored;
        };
        let stream = std::mem::replace(&mut self.waiting, next);
        let mut session = Box::new(DtlsSession::new(stream));
        session.start(replies);
        Listen::Accepted(session)
    }

    fn note(&mut self, client: SocketAddr) -> bool {
        let Ok(index) = client_index() else {
            return false;
        };
        let ssl = ssl_mut(&mut self.waiting);
        match ssl.ex_data_mut(index) {
            Some(noted) => *noted = client,
            None => ssl.set_ex_data(index, client),
        }
        true
    }
}

/// Whether a datagram begins with an unencrypted ClientHello of any DTLS version (RFC 6347 §4.1,
/// §4.2.2). From a client with a complete session it means that the client has lost its state and
/// may begin anew through the [`DtlsListener`] (§4.2.8).
#[must_use]
pub fn is_client_hello(datagram: &[u8]) -> bool {
    const RECORD_HEADER: usize = 13;
    const HANDSHAKE: u8 = 22;
    const CLIENT_HELLO: u8 = 1;
    matches!(datagram, [HANDSHAKE, 0xfe, _, 0, 0, ..])
        && datagram.get(RECORD_HEADER) == Some(&CLIENT_HELLO)
}

fn new_stream(context: &DtlsContext) -> Result<SslStream<Transport>, ErrorStack> {
    let mut ssl = Ssl::new(context.ssl_context())?;
    ssl.set_mtu(HANDSHAKE_MTU)?;
    ssl.set_accept_state();
    SslStream::new(ssl, Transport::default())
}
