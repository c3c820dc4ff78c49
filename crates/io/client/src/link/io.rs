//! The socket as OpenSSL sees it.

use std::io::{self, ErrorKind, Read, Write};

use super::Socket;

/// Reads and writes without waiting.
///
/// OpenSSL holds a DTLS connection for broken after any error of its socket, and wants a record that did not get out
/// written again before any other. Datagrams may get lost, so here they never fail: what a full socket does not take
/// waits in `stalled`, and errors are left in `trouble` for whoever looks.
#[derive(Debug)]
pub(crate) struct Io {
    pub(super) socket: Socket,
    stalled: Option<Vec<u8>>,
    trouble: Option<io::Error>,
}

impl Io {
    pub(super) fn new(socket: Socket) -> Self {
        Io {
            socket,
            stalled: None,
            trouble: None,
        }
    }

    /// The socket below.
    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The last error of a datagram socket.
    pub(super) fn take_trouble(&mut self) -> Option<io::Error> {
        self.trouble.take()
    }

    /// Whether the next datagram has a place; sends what waits.
    pub(super) fn has_room(&mut self) -> bool {
        let Some(datagram) = self.stalled.take() else {
            return true;
        };
        match self.socket.try_write(&datagram) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.stalled = Some(datagram);
                false
            }
            Err(error) => {
                self.trouble = Some(error);
                true
            }
            Ok(_) => true,
        }
    }
}

impl Read for Io {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.socket.try_read(buffer) {
            Err(error) if !self.socket.is_stream() && error.kind() != ErrorKind::WouldBlock => {
                self.trouble = Some(error);
                Err(ErrorKind::WouldBlock.into())
            }
            other => other,
        }
    }
}

impl Write for Io {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.socket.is_stream() {
            return self.socket.try_write(bytes);
        }
        if !self.has_room() {
            return Ok(bytes.len());
        }
        match self.socket.try_write(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.stalled = Some(bytes.to_vec())
            }
            // The error may be of an earlier packet, and this one was not sent.
            Err(error) => {
                self.trouble = Some(error);
                let _ = self.socket.try_write(bytes);
            }
            Ok(_) => {}
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
