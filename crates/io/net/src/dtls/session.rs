//! One DTLS association, datagrams in and datagrams out.

use std::fmt;
use std::mem::MaybeUninit;
use std::time::Duration;

use openssl::ssl::{Error, ErrorCode, SslStream};

use super::context::first_reason;
use super::datagrams::Datagrams;
use super::ffi::{self, ssl_mut};
use super::transport::{Transport, lend};

/// The most plaintext one record carries (RFC 6347 §4.1), and so one message.
pub const MAX_RECORD: usize = 16_384;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DtlsError {
    /// Fatal: the session is over. An alert may be among the outgoing datagrams.
    #[error("DTLS failed: {0}")]
    Protocol(String),
    /// The flight was sent again too often without an answer; the session is over.
    #[error("the DTLS handshake timed out")]
    TimedOut,
    #[error("a message of `{0}` bytes is more than a DTLS record carries")]
    TooBig(usize),
    #[error("the DTLS handshake is not complete")]
    Handshaking,
    #[error("the DTLS session is over")]
    Closed,
}

impl DtlsError {
    /// Whether the session is good for nothing any more.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Self::TooBig(_) | Self::Handshaking)
    }
}

/// A server-side DTLS session. Every call appends the datagrams that are due to `out`, also when
/// it fails.
pub struct DtlsSession {
    stream: SslStream<Transport>,
    /// Why the session is over.
    ended: Option<DtlsError>,
    peer_closed: bool,
    /// The record buffers are freed.
    released: bool,
}

impl fmt::Debug for DtlsSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DtlsSession")
            .field("handshaking", &self.is_handshaking())
            .field("peer_closed", &self.peer_closed)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl DtlsSession {
    pub(super) fn new(stream: SslStream<Transport>) -> Self {
        Self {
            stream,
            ended: None,
            peer_closed: false,
            released: false,
        }
    }

    /// Answers the hello that the session was made from. A failure shows with the next call.
    pub(super) fn start(&mut self, out: &mut Datagrams) {
        let _ = self.pump(None, out, &mut |_| {});
    }

    /// Takes a datagram and gives the plaintext of each record in it to `plaintext`. Datagrams
    /// that are not part of the session are passed over, as RFC 6347 §4.1.2.7 wants.
    pub fn feed(
        &mut self,
        datagram: &[u8],
        out: &mut Datagrams,
        plaintext: &mut impl FnMut(&[u8]),
    ) -> Result<(), DtlsError> {
        self.pump(Some(datagram), out, plaintext)
    }

    fn pump(
        &mut self,
        datagram: Option<&[u8]>,
        out: &mut Datagrams,
        plaintext: &mut impl FnMut(&[u8]),
    ) -> Result<(), DtlsError> {
        self.check()?;
        ffi::forget_errors();
        let mut buffer = [MaybeUninit::<u8>::uninit(); MAX_RECORD];
        let error = lend(&mut self.stream, datagram, out, |stream| {
            loop {
                match stream.ssl_read_uninit(&mut buffer) {
                    Ok(0) => {}
                    Ok(len) => {
                        // SAFETY: `ssl_read_uninit` initialised that many bytes.
                        let record = unsafe {
                            std::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), len)
                        };
                        plaintext(record);
                    }
                    Err(error) => return error,
                }
            }
        });
        self.settle(&error)
    }

    /// Encrypts one message into one record and datagram.
    pub fn send(&mut self, plaintext: &[u8], out: &mut Datagrams) -> Result<(), DtlsError> {
        self.check()?;
        if plaintext.len() > MAX_RECORD {
            return Err(DtlsError::TooBig(plaintext.len()));
        }
        if self.is_handshaking() {
            return Err(DtlsError::Handshaking);
        }
        if plaintext.is_empty() {
            return Ok(());
        }
        ffi::forget_errors();
        match lend(&mut self.stream, None, out, |stream| {
            stream.ssl_write(plaintext)
        }) {
            Ok(_) => Ok(()),
            Err(error) => self.settle(&error),
        }
    }

    /// Time until [`on_timeout`](Self::on_timeout) is due; `None` when nothing waits for an answer.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        if self.ended.is_some() {
            return None;
        }
        ffi::time_left(self.stream.ssl())
    }

    /// Sends the last flight again if its time has come (RFC 6347 §4.2.4); early calls do nothing.
    pub fn on_timeout(&mut self, out: &mut Datagrams) -> Result<(), DtlsError> {
        self.check()?;
        let alive = lend(&mut self.stream, None, out, |stream| {
            ffi::handle_timeout(ssl_mut(stream))
        });
        if alive {
            return Ok(());
        }
        self.ended = Some(DtlsError::TimedOut);
        Err(DtlsError::TimedOut)
    }

    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        !self.stream.ssl().is_init_finished()
    }

    /// The client said goodbye (close_notify).
    #[must_use]
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// The protocol agreed on by ALPN.
    #[must_use]
    pub fn alpn(&self) -> Option<&[u8]> {
        self.stream.ssl().selected_alpn_protocol()
    }

    /// Says goodbye; nothing can be sent after it.
    pub fn close(&mut self, out: &mut Datagrams) {
        if self.check().is_ok() && !self.is_handshaking() {
            let _ = lend(&mut self.stream, None, out, SslStream::shutdown);
            ffi::forget_errors();
        }
        self.ended.get_or_insert(DtlsError::Closed);
    }

    /// Gives back the record buffers, which are most of a session's memory. Worth it for a session
    /// that has been idle for a while: the next use allocates them anew.
    pub fn release_buffers(&mut self) {
        self.released = self.ended.is_none() && ffi::free_buffers(ssl_mut(&mut self.stream));
    }

    /// Whether the session can be used, with its buffers in place.
    fn check(&mut self) -> Result<(), DtlsError> {
        if let Some(error) = &self.ended {
            return Err(error.clone());
        }
        if self.released {
            if !ffi::alloc_buffers(ssl_mut(&mut self.stream)) {
                ffi::forget_errors();
                let error = DtlsError::Protocol("out of memory".to_owned());
                self.ended = Some(error.clone());
                return Err(error);
            }
            self.released = false;
        }
        Ok(())
    }

    /// What an unsuccessful read or write means for the session.
    fn settle(&mut self, error: &Error) -> Result<(), DtlsError> {
        let code = error.code();
        if code == ErrorCode::WANT_READ || code == ErrorCode::WANT_WRITE {
            return Ok(());
        }
        if code == ErrorCode::ZERO_RETURN {
            self.peer_closed = true;
            return Ok(());
        }
        let reason = error
            .ssl_error()
            .map_or_else(|| "connection lost".to_owned(), first_reason);
        let error = DtlsError::Protocol(reason);
        self.ended = Some(error.clone());
        Err(error)
    }
}
