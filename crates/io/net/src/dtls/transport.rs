//! What OpenSSL reads from and writes to: one datagram in, any number out.

use std::io::{self, Read, Write};
use std::mem;
use std::ptr::NonNull;

use openssl::ssl::SslStream;

use super::datagrams::Datagrams;

/// Between calls it holds nothing: the caller lends a datagram and a list for the time of one
/// call, so that an idle session keeps no buffers and no bytes are copied twice.
#[derive(Debug, Default)]
pub(super) struct Transport {
    incoming: Option<NonNull<[u8]>>,
    outgoing: Datagrams,
}

// SAFETY: `incoming` is set only inside `lend`, which takes `&mut self` and does not return
// before it is unset; between calls there is no pointer to carry along.
unsafe impl Send for Transport {}

/// Gives `incoming` and `outgoing` to the transport of `stream` while `call` runs.
pub(super) fn lend<R>(
    stream: &mut SslStream<Transport>,
    incoming: Option<&[u8]>,
    outgoing: &mut Datagrams,
    call: impl FnOnce(&mut SslStream<Transport>) -> R,
) -> R {
    let transport = stream.get_mut();
    transport.incoming = incoming.map(NonNull::from);
    mem::swap(&mut transport.outgoing, outgoing);
    // Should `call` panic, the pointer stays behind but is never followed: reads happen only in
    // calls made through here, which set it anew.
    let result = call(stream);
    let transport = stream.get_mut();
    transport.incoming = None;
    mem::swap(&mut transport.outgoing, outgoing);
    result
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(datagram) = self.incoming.take() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        // SAFETY: `lend` set the pointer from a slice that outlives the call we are in.
        let datagram = unsafe { datagram.as_ref() };
        // An empty read would mean the end of the stream, which datagrams do not have.
        if datagram.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // Like a socket: what does not fit is lost. No record is larger than OpenSSL's buffer.
        let len = datagram.len().min(buffer.len());
        buffer[..len].copy_from_slice(&datagram[..len]);
        Ok(len)
    }
}

impl Write for Transport {
    fn write(&mut self, datagram: &[u8]) -> io::Result<usize> {
        self.outgoing.push(datagram);
        Ok(datagram.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
