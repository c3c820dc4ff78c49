//! Frames to the server.

use std::io::{self, ErrorKind};

use openssl::ssl::{ErrorCode, SslStream};

use super::reader::broken;
use super::{FRAME_BUFFER, Io, Socket, Wire, lock};

/// How much of a stream may wait for the socket before senders must wait too.
const UNSENT_LIMIT: usize = 256 * 1024;

/// Whether a frame was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Taken,
    /// Try again when the socket is writable.
    Full,
}

/// Takes whole frames; what a stream does not take at once waits here.
#[derive(Debug)]
pub(crate) struct Writer {
    socket: Socket,
    wire: Wire,
    /// One datagram, or the bytes of a stream that wait.
    buffer: Vec<u8>,
    /// How many of them are sent.
    sent: usize,
}

impl Writer {
    pub(super) fn new(socket: Socket, wire: Wire) -> Self {
        let buffer = if socket.is_stream() {
            Vec::new()
        } else {
            vec![0; FRAME_BUFFER]
        };
        Writer {
            socket,
            wire,
            buffer,
            sent: 0,
        }
    }

    /// Whether a part of the stream waits for the socket.
    pub(crate) fn has_unsent(&self) -> bool {
        self.socket.is_stream() && self.sent < self.buffer.len()
    }

    /// Lets `write` make a frame of at most `size` bytes, if there is room for it, and sends it.
    pub(crate) fn frame<E: From<io::Error>>(
        &mut self,
        size: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Room, E> {
        if !self.socket.is_stream() {
            if !self.datagram_room() {
                return Ok(Room::Full);
            }
            let length = write(&mut self.buffer)?;
            return Ok(self.send_datagram(length)?);
        }
        if self.buffer.len() - self.sent > UNSENT_LIMIT {
            self.flush()?;
            if self.buffer.len() - self.sent > UNSENT_LIMIT {
                return Ok(Room::Full);
            }
        }
        let start = self.buffer.len();
        self.buffer.resize(start + size, 0);
        match write(&mut self.buffer[start..]) {
            Ok(length) => self.buffer.truncate(start + length),
            Err(error) => {
                self.buffer.truncate(start);
                return Err(error);
            }
        }
        self.flush()?;
        Ok(Room::Taken)
    }

    /// Sends a packet of the machine. Datagrams that find no room are lost: the machine repeats its requests.
    pub(crate) fn packet(&mut self, packet: &[u8]) -> io::Result<()> {
        if self.socket.is_stream() {
            self.buffer.extend_from_slice(packet);
            return self.flush();
        }
        self.buffer[..packet.len()].copy_from_slice(packet);
        self.send_datagram(packet.len()).map(drop)
    }

    /// Sends what waits, as far as the socket takes it.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if !self.socket.is_stream() {
            return Ok(());
        }
        while self.sent < self.buffer.len() {
            let unsent = &self.buffer[self.sent..];
            let written = match &self.wire {
                Wire::Plain => self.socket.try_write(unsent),
                Wire::Secure(stream) => write_secure(&mut lock(stream), unsent),
            };
            match written {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.reclaim();
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.buffer.clear();
        self.sent = 0;
        Ok(())
    }

    /// A stream that is never quite empty must not grow for ever.
    fn reclaim(&mut self) {
        if self.sent > UNSENT_LIMIT {
            self.buffer.drain(..self.sent);
            self.sent = 0;
        }
    }

    fn datagram_room(&self) -> bool {
        match &self.wire {
            Wire::Plain => true,
            Wire::Secure(stream) => lock(stream).get_mut().has_room(),
        }
    }

    fn send_datagram(&mut self, length: usize) -> io::Result<Room> {
        let datagram = &self.buffer[..length];
        if let Wire::Secure(stream) = &self.wire {
            write_secure(&mut lock(stream), datagram)?;
            return Ok(Room::Taken);
        }
        let mut sent = self.socket.try_write(datagram);
        // The error may be of an earlier packet, and this one was not sent. The reader sees the next such error.
        if matches!(&sent, Err(error) if error.kind() != ErrorKind::WouldBlock) {
            sent = self.socket.try_write(datagram);
        }
        match sent {
            Ok(_) => Ok(Room::Taken),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Room::Full),
            Err(error) => Err(error),
        }
    }

    /// Says goodbye, where the protocol has a word for it.
    pub(crate) fn close(&mut self) {
        let _ = self.flush();
        if let Wire::Secure(stream) = &self.wire {
            let _ = lock(stream).shutdown();
        }
    }
}

pub(crate) fn write_secure(stream: &mut SslStream<Io>, bytes: &[u8]) -> io::Result<usize> {
    match stream.ssl_write(bytes) {
        Ok(count) => Ok(count),
        Err(error) => match error.code() {
            ErrorCode::WANT_READ | ErrorCode::WANT_WRITE => Err(ErrorKind::WouldBlock.into()),
            ErrorCode::ZERO_RETURN => Err(ErrorKind::BrokenPipe.into()),
            _ => Err(broken(error)),
        },
    }
}
