//! Bytes that wait for a stream socket to take them.

use std::io::{self, Write};
use std::net::TcpStream;

/// A queue of bytes that keeps no memory while it is empty.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    /// How much of `bytes` has been written.
    head: usize,
}

impl Outbox {
    pub fn len(&self) -> usize {
        self.bytes.len() - self.head
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.head..]
    }

    /// Where ciphertext is appended.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Writes what the socket takes; the result says how much that was.
    pub fn flush(&mut self, mut socket: &TcpStream) -> io::Result<usize> {
        let mut written = 0;
        while !self.is_empty() {
            match socket.write(self.as_slice()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.head += count;
                    written += count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.is_empty() {
            *self = Self::default();
        } else if self.head > self.bytes.len() / 2 {
            self.bytes.drain(..self.head);
            self.head = 0;
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn writes_everything_in_order_through_a_full_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        writer.set_nonblocking(true).unwrap();
        let (mut reader, _) = listener.accept().unwrap();
        let mut outbox = Outbox::default();
        let mut sent = Vec::new();
        // How much the kernel buffers is its own affair; more than that is wanted.
        while outbox.is_empty() {
            let more: Vec<u8> = (0..1_000_000).map(|i: u32| (i % 251) as u8).collect();
            outbox.push(&more);
            outbox.flush(&writer).unwrap();
            sent.extend(more);
        }
        let mut got = vec![0; sent.len()];
        let mut read = 0;
        while read < got.len() {
            read += reader.read(&mut got[read..]).unwrap();
            outbox.flush(&writer).unwrap();
        }
        assert!(got == sent);
        assert_eq!(outbox.bytes.capacity(), 0);
    }
}
