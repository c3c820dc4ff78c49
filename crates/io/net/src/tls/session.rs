//! One TLS connection, bytes in and bytes out.

use std::fmt;
use std::io::{BufRead, Write};

use rustls::ServerConnection;
use rustls::server::Acceptor;

use super::TlsAcceptor;

/// Why a session is over. What to tell the client (an alert) is waiting in
/// [`TlsSession::take_ciphertext`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TlsError {
    /// The client's bytes are not TLS, or not acceptable.
    #[error("TLS failed: {0}")]
    Protocol(rustls::Error),
    #[error("the TLS session is over")]
    Closed,
}

impl TlsError {
    fn protocol(error: rustls::Error) -> Self {
        Self::Protocol(error)
    }
}

enum State {
    /// Waiting for the whole ClientHello, which decides the configuration.
    Hello {
        acceptor: Box<Acceptor>,
        settings: TlsAcceptor,
    },
    Open(Box<ServerConnection>),
    Failed,
}

/// A server-side TLS session. After each call, [`take_ciphertext`](Self::take_ciphertext) may have
/// bytes for the socket; taken at once, the session itself buffers at most one record each way.
pub struct TlsSession {
    state: State,
    /// An alert from before there was a connection to queue it in.
    alert: Vec<u8>,
    peer_closed: bool,
    closing: bool,
}

impl fmt::Debug for TlsSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Hello { .. } => "hello",
            State::Open(_) => "open",
            State::Failed => "failed",
        };
        f.debug_struct("TlsSession")
            .field("state", &state)
            .field("peer_closed", &self.peer_closed)
            .finish_non_exhaustive()
    }
}

impl TlsSession {
    pub(super) fn new(settings: TlsAcceptor) -> Self {
        Self {
            state: State::Hello {
                acceptor: Box::default(),
                settings,
            },
            alert: Vec::new(),
            peer_closed: false,
            closing: false,
        }
    }

    /// Takes bytes from the socket and gives their plaintext to `plaintext`, piece by piece in
    /// order. After an error the session is over; send what is pending and close.
    pub fn read_ciphertext(
        &mut self,
        mut bytes: &[u8],
        plaintext: &mut impl FnMut(&[u8]),
    ) -> Result<(), TlsError> {
        while !bytes.is_empty() && !self.peer_closed {
            match &mut self.state {
                State::Failed => return Err(TlsError::Closed),
                State::Hello { acceptor, settings } => {
                    if acceptor.read_tls(&mut bytes).is_err() {
                        // Reading from memory fails only when the hello outgrows its limit.
                        self.state = State::Failed;
                        let error = rustls::Error::General("client hello too large".into());
                        return Err(TlsError::protocol(error));
                    }
                    match acceptor.accept() {
                        Ok(None) => {}
                        Ok(Some(accepted)) => {
                            let config = settings.config_for(&accepted);
                            match accepted.into_connection(config) {
                                Ok(mut connection) => {
                                    connection.set_buffer_limit(None);
                                    self.state = State::Open(Box::new(connection));
                                    self.process(plaintext)?;
                                }
                                Err((error, alert)) => return Err(self.fail(error, alert)),
                            }
                        }
                        Err((error, alert)) => return Err(self.fail(error, alert)),
                    }
                }
                State::Open(connection) => {
                    if connection.read_tls(&mut bytes).is_err() {
                        let error = rustls::Error::General("record too large".into());
                        return Err(TlsError::protocol(error));
                    }
                    self.process(plaintext)?;
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: rustls::Error, mut alert: rustls::server::AcceptedAlert) -> TlsError {
        // Writing to memory cannot fail.
        let _ = alert.write_all(&mut self.alert);
        self.state = State::Failed;
        TlsError::protocol(error)
    }

    /// Decrypts what has been read.
    fn process(&mut self, plaintext: &mut impl FnMut(&[u8])) -> Result<(), TlsError> {
        let State::Open(connection) = &mut self.state else {
            return Ok(());
        };
        let result = connection.process_new_packets();
        let mut reader = connection.reader();
        // An error means "nothing now" or "closed"; the state below says which.
        while let Ok(piece) = reader.fill_buf() {
            let len = piece.len();
            if len == 0 {
                break;
            }
            plaintext(piece);
            reader.consume(len);
        }
        match result {
            Ok(state) => {
                self.peer_closed |= state.peer_has_closed();
                Ok(())
            }
            Err(error) => Err(TlsError::protocol(error)),
        }
    }

    /// Encrypts `bytes`. During the handshake they wait for its end.
    pub fn write_plaintext(&mut self, bytes: &[u8]) -> Result<(), TlsError> {
        match &mut self.state {
            State::Open(connection) if !self.closing => connection
                .writer()
                .write_all(bytes)
                .map_err(|_| TlsError::Closed),
            _ => Err(TlsError::Closed),
        }
    }

    /// Whether [`take_ciphertext`](Self::take_ciphertext) has something to give.
    #[must_use]
    pub fn has_ciphertext(&self) -> bool {
        match &self.state {
            State::Open(connection) => connection.wants_write(),
            _ => !self.alert.is_empty(),
        }
    }

    /// Appends all bytes that are due to the socket.
    pub fn take_ciphertext(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.alert);
        if let State::Open(connection) = &mut self.state {
            // Writing to memory cannot fail; zero would mean that nothing is left.
            while connection.wants_write() && connection.write_tls(out).is_ok_and(|count| count > 0)
            {
            }
        }
    }

    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        match &self.state {
            State::Hello { .. } => true,
            State::Open(connection) => connection.is_handshaking(),
            State::Failed => false,
        }
    }

    /// The client said that it will send no more (close_notify).
    #[must_use]
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// The protocol agreed on by ALPN.
    #[must_use]
    pub fn alpn(&self) -> Option<&[u8]> {
        match &self.state {
            State::Open(connection) => connection.alpn_protocol(),
            _ => None,
        }
    }

    /// Queues close_notify; nothing can be written after it.
    pub fn close(&mut self) {
        if let State::Open(connection) = &mut self.state
            && !self.closing
        {
            connection.send_close_notify();
        }
        self.closing = true;
    }
}
