//! The connection to a server: frames in, frames out, over four transports.
//!
//! Reading and writing are apart, so that the task that reads never waits for those who send.

mod connector;
mod handshake;
mod io;
mod open;
mod reader;
mod roots;
mod socket;
mod writer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use openssl::ssl::SslStream;

pub(crate) use handshake::Security;
pub(crate) use io::Io;
pub(crate) use open::{Opened, OpenedStream, open_stream, shake};
pub(crate) use reader::{Reader, read_secure};
pub(crate) use socket::Socket;
pub(crate) use writer::{Room, Writer, write_secure};

/// The largest UDP payload over IPv4, and what a frame may have in all. IPv6 would carry a little more, which servers drop
/// without a word, so that a session does not depend on the family of its peer.
pub(crate) const MAX_UDP: usize = 65_507;
/// RFC 6347 §4.1: what one DTLS record carries.
pub(crate) const MAX_DTLS: usize = 16_384;
/// More than any frame has: a STUN message or ChannelData with the largest length field, and its header and padding.
const FRAME_BUFFER: usize = 65_536 + 64;

/// Why a connection is over.
#[derive(Debug)]
pub(crate) enum LinkFault {
    /// The server's host says that nothing listens there; for UDP, an ICMP message about an earlier packet.
    Refused,
    /// The server closed the connection, or reset it.
    Closed,
    /// Nothing comes from there, whatever we send.
    Silent,
    /// The bytes cannot be framed.
    NotTurn,
    /// Anything else.
    Io(std::io::Error),
}

impl From<std::io::Error> for LinkFault {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind::{
            BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof,
        };
        match error.kind() {
            ConnectionRefused => LinkFault::Refused,
            ConnectionReset | BrokenPipe | ConnectionAborted | UnexpectedEof => LinkFault::Closed,
            _ => LinkFault::Io(error),
        }
    }
}

/// What an error of a datagram socket says of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The system has learned how small packets must be, and cuts the next ones (RFC 1191).
    Nothing,
    /// An ICMP message about an earlier packet: the server may be gone. Or one host on the way had a bad moment, or a
    /// stranger made the message up.
    Doubt,
    End,
}

impl LinkFault {
    /// RFC 1122 §4.1.3.3: ICMP messages come up as errors of the socket. Those of OpenSSL have no number of the system.
    pub(crate) fn weight(&self) -> Weight {
        match self {
            LinkFault::Refused => Weight::Doubt,
            LinkFault::Io(error) => match error.raw_os_error() {
                Some(libc::EMSGSIZE) => Weight::Nothing,
                Some(_) => Weight::Doubt,
                None => Weight::End,
            },
            LinkFault::Closed | LinkFault::Silent | LinkFault::NotTurn => Weight::End,
        }
    }
}

/// Where bytes come from and go to.
#[derive(Clone, Debug)]
enum Wire {
    Plain,
    /// OpenSSL has one state for both directions.
    Secure(Arc<Mutex<SslStream<Io>>>),
}

fn lock(stream: &Mutex<SslStream<Io>>) -> MutexGuard<'_, SslStream<Io>> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    #[test]
    fn icmp_messages_raise_doubts_and_ends_are_ends() {
        let weight = |error: Error| LinkFault::from(error).weight();
        assert_eq!(
            weight(Error::from_raw_os_error(libc::EMSGSIZE)),
            Weight::Nothing
        );
        for icmp in [
            libc::ECONNREFUSED,
            libc::EHOSTUNREACH,
            libc::ENETUNREACH,
            libc::EACCES,
            libc::ENOPROTOOPT,
            libc::EPROTO,
        ] {
            assert_eq!(weight(Error::from_raw_os_error(icmp)), Weight::Doubt);
        }
        // The other side's farewell, and records that cannot be read.
        assert_eq!(weight(ErrorKind::UnexpectedEof.into()), Weight::End);
        assert_eq!(weight(Error::other("bad record")), Weight::End);
    }
}
