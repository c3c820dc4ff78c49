//! One TCP or TLS connection of a client.

use std::io::{self, Read};
use std::net::TcpStream;

use stunner_net::tls::{TlsError, TlsSession};
use stunner_turn::ClientPath;
use stunner_turn::server::ConnectionId;

use super::outbox::Outbox;

/// Application data that finds this much waiting is dropped: the client reads too slowly.
const DATA_LIMIT: usize = 1 << 20;
/// A client that lets this much wait is not reading at all.
const HARD_LIMIT: usize = 2 << 20;

/// What the bytes of a stream are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// STUN messages and ChannelData.
    Control,
    /// Raw bytes for a peer connection (RFC 6062 §4.4).
    Data(ConnectionId),
}

/// Why a stream is to be closed.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the client does not read what it is sent")]
    NotReading,
}

/// A client connection with all its state, so that it can move to another shard whole.
#[derive(Debug)]
pub struct Stream {
    pub socket: TcpStream,
    tls: Option<Box<TlsSession>>,
    pub path: ClientPath,
    /// The listening port it was accepted on.
    pub port: u32,
    pub role: Role,
    /// A STUN message has come: before that, nothing else can be TURN.
    pub spoke_stun: bool,
    /// Plaintext of a frame that is not complete yet.
    pub inbox: Vec<u8>,
    /// Plaintext that is not encrypted yet (TLS) or not written yet (TCP).
    outbox: Outbox,
    ciphertext: Outbox,
    /// Whether this stream is in the shard's list of streams to flush.
    pub dirty: bool,
    /// Whether the socket may have bytes to read (edge-triggered: nobody repeats it).
    pub readable: bool,
    /// The client has closed its side.
    pub eof: bool,
    /// A handshake slot of the source is taken.
    pub handshake_counted: bool,
    /// Close as soon as everything is written.
    pub closing: bool,
    pub last_read_millis: u64,
    pub last_write_millis: u64,
    /// Since when `inbox` holds an unfinished frame.
    pub partial_since_millis: Option<u64>,
    pub opened_millis: u64,
}

impl Stream {
    pub fn new(
        socket: TcpStream,
        tls: Option<TlsSession>,
        path: ClientPath,
        port: u32,
        now_millis: u64,
    ) -> Self {
        Self {
            socket,
            handshake_counted: tls.is_some(),
            tls: tls.map(Box::new),
            path,
            port,
            role: Role::Control,
            spoke_stun: false,
            inbox: Vec::new(),
            outbox: Outbox::default(),
            ciphertext: Outbox::default(),
            dirty: false,
            readable: true,
            eof: false,
            closing: false,
            last_read_millis: now_millis,
            last_write_millis: now_millis,
            partial_since_millis: None,
            opened_millis: now_millis,
        }
    }

    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Bytes that the socket has not taken yet.
    pub fn backlog(&self) -> usize {
        self.outbox.len() + self.ciphertext.len()
    }

    /// Reads once, at most `scratch` bytes, and appends the plaintext. Clears `readable` when
    /// nothing more waits, sets `eof` when nothing more will come.
    pub fn read(
        &mut self,
        scratch: &mut [u8],
        plaintext: &mut Vec<u8>,
        now_millis: u64,
    ) -> Result<(), StreamError> {
        let count = match (&self.socket).read(scratch) {
            Ok(0) => {
                self.eof = true;
                self.readable = false;
                return Ok(());
            }
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        self.last_read_millis = now_millis;
        match &mut self.tls {
            None => plaintext.extend_from_slice(&scratch[..count]),
            Some(tls) => {
                let result = tls.read_ciphertext(&scratch[..count], &mut |bytes| {
                    plaintext.extend_from_slice(bytes)
                });
                tls.take_ciphertext(self.ciphertext.buffer());
                self.eof |= tls.peer_closed();
                result?;
            }
        }
        Ok(())
    }

    /// Queues one message. Droppable ones are refused when too much waits already.
    pub fn queue(&mut self, parts: &[&[u8]], droppable: bool) -> Result<bool, StreamError> {
        if droppable && self.backlog() > DATA_LIMIT {
            return Ok(false);
        }
        if self.backlog() > HARD_LIMIT {
            return Err(StreamError::NotReading);
        }
        for part in parts {
            self.outbox.push(part);
        }
        Ok(true)
    }

    /// Encrypts and writes what waits; how many bytes the socket took.
    pub fn flush(&mut self, now_millis: u64) -> Result<usize, StreamError> {
        let written = match &mut self.tls {
            None => self.outbox.flush(&self.socket)?,
            Some(tls) => {
                if !tls.is_handshaking() && !self.outbox.is_empty() {
                    let waiting = std::mem::take(&mut self.outbox);
                    tls.write_plaintext(waiting.as_slice())?;
                    tls.take_ciphertext(self.ciphertext.buffer());
                }
                self.ciphertext.flush(&self.socket)?
            }
        };
        if written > 0 || self.backlog() == 0 {
            self.last_write_millis = now_millis;
        }
        Ok(written)
    }

    /// Says goodbye as far as the socket takes it without waiting.
    pub fn shut(&mut self, now_millis: u64) {
        let _ = self.flush(now_millis);
        if let Some(tls) = &mut self.tls {
            tls.close();
            tls.take_ciphertext(self.ciphertext.buffer());
            let _ = self.ciphertext.flush(&self.socket);
        }
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}
