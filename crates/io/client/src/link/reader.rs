//! Frames from the server.

use std::io::{self, ErrorKind};

use openssl::ssl::{ErrorCode, SslStream};
use stunner_stun::framing::next_frame;

use super::{FRAME_BUFFER, Io, LinkFault, Socket, Wire, lock};

/// Gives whole frames, out of one buffer for all.
#[derive(Debug)]
pub(crate) struct Reader {
    socket: Socket,
    wire: Wire,
    buffer: Box<[u8]>,
    /// Bytes of a stream that are not yet given out.
    start: usize,
    end: usize,
}

impl Reader {
    pub(super) fn new(socket: Socket, wire: Wire) -> Self {
        // A stream's buffer has a whole frame and what comes with it.
        let size = if socket.is_stream() {
            2 * FRAME_BUFFER
        } else {
            FRAME_BUFFER
        };
        Reader {
            socket,
            wire,
            buffer: vec![0; size].into(),
            start: 0,
            end: 0,
        }
    }

    /// Until there may be something.
    pub(crate) async fn readable(&self) -> Result<(), LinkFault> {
        Ok(self.socket.readable().await?)
    }

    /// The next frame that is here.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, LinkFault> {
        if !self.socket.is_stream() {
            return match read(&self.socket, &self.wire, &mut self.buffer) {
                Ok(length) => Ok(Some(&self.buffer[..length])),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
                Err(error) => Err(error.into()),
            };
        }
        loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(frame) = next_frame(unread).map_err(|_| LinkFault::NotTurn)? {
                let from = self.start;
                self.start += frame.consumed();
                return Ok(Some(&self.buffer[from..from + frame.len()]));
            }
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            match read(&self.socket, &self.wire, &mut self.buffer[self.end..]) {
                Ok(0) => return Err(LinkFault::Closed),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn read(socket: &Socket, wire: &Wire, buffer: &mut [u8]) -> io::Result<usize> {
    match wire {
        Wire::Plain => socket.try_read(buffer),
        Wire::Secure(stream) => {
            let stream = &mut *lock(stream);
            match read_secure(stream, buffer) {
                Ok(0) if !socket.is_stream() => Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    match stream.get_mut().take_trouble() {
                        Some(trouble) => Err(trouble),
                        None => Err(error),
                    }
                }
                other => other,
            }
        }
    }
}

/// Zero at the end of the session.
pub(crate) fn read_secure(stream: &mut SslStream<Io>, buffer: &mut [u8]) -> io::Result<usize> {
    match stream.ssl_read(buffer) {
        Ok(count) => Ok(count),
        Err(error) => match error.code() {
            ErrorCode::WANT_READ | ErrorCode::WANT_WRITE => Err(ErrorKind::WouldBlock.into()),
            ErrorCode::ZERO_RETURN => Ok(0),
            _ => Err(broken(error)),
        },
    }
}

/// An error of OpenSSL as one of the socket; without a cause it is an end that nobody announced.
pub(super) fn broken(error: openssl::ssl::Error) -> io::Error {
    match error.into_io_error() {
        Ok(error) => error,
        Err(error) if error.code() == ErrorCode::SYSCALL => ErrorKind::UnexpectedEof.into(),
        Err(error) => io::Error::other(error),
    }
}
