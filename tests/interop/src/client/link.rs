//! The client's connection to the server: datagrams or a framed stream, plain or encrypted.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use stunner_stun::framing::next_frame;

use super::dtls::DtlsLink;
use super::tls::TlsLink;
use crate::config::Transport;

const CONNECT_PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub enum LinkError {
    /// The server closed the connection, or reset it.
    Closed,
    Io(io::Error),
    Handshake(String),
    /// What came cannot be framed.
    Framing(String),
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionReset
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionAborted => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

#[derive(Debug)]
enum Socket {
    Udp(UdpSocket),
    Tcp(TcpStream),
    Tls(Box<TlsLink>),
    Dtls(Box<DtlsLink>),
}

/// A non-blocking connection that takes and gives whole TURN frames.
#[derive(Debug)]
pub struct Link {
    socket: Socket,
    transport: Transport,
    local: SocketAddr,
    /// Bytes of a stream that are not yet a whole frame.
    unframed: Vec<u8>,
    /// Bytes that a full socket has not taken yet.
    unsent: Vec<u8>,
    scratch: Vec<u8>,
}

impl Link {
    /// Connects, with the TLS or DTLS handshake done and the certificate verified against `ca_pem`.
    pub fn connect(
        transport: Transport,
        server: SocketAddr,
        ca_pem: &str,
    ) -> Result<Self, LinkError> {
        let socket = match transport {
            Transport::Udp => Socket::Udp(connected_udp(server)?),
            Transport::Tcp => Socket::Tcp(connected_tcp(server)?),
            Transport::Tls => Socket::Tls(Box::new(TlsLink::connect(
                connected_tcp(server)?,
                ca_pem,
                CONNECT_PATIENCE,
            )?)),
            Transport::Dtls => Socket::Dtls(Box::new(DtlsLink::connect(
                connected_udp(server)?,
                ca_pem,
                CONNECT_PATIENCE,
            )?)),
        };
        let local = match &socket {
            Socket::Udp(socket) => socket.local_addr()?,
            Socket::Tcp(socket) => socket.local_addr()?,
            Socket::Tls(link) => link.socket().local_addr()?,
            Socket::Dtls(link) => link.socket().local_addr()?,
        };
        Ok(Self {
            socket,
            transport,
            local,
            unframed: Vec::new(),
            unsent: Vec::new(),
            scratch: vec![0; 70_000],
        })
    }

    pub fn transport(&self) -> Transport {
        self.transport
    }

    pub fn local(&self) -> SocketAddr {
        self.local
    }

    pub fn fd(&self) -> RawFd {
        match &self.socket {
            Socket::Udp(socket) => socket.as_raw_fd(),
            Socket::Tcp(socket) => socket.as_raw_fd(),
            Socket::Tls(link) => link.socket().as_raw_fd(),
            Socket::Dtls(link) => link.socket().as_raw_fd(),
        }
    }

    /// The certificate that the server showed, in DER.
    pub fn server_certificate(&self) -> Option<Vec<u8>> {
        match &self.socket {
            Socket::Udp(_) | Socket::Tcp(_) => None,
            Socket::Tls(link) => link.server_certificate(),
            Socket::Dtls(link) => link.server_certificate(),
        }
    }

    /// Sends one frame, padded to four bytes on streams. What a full socket does not take waits for the next call.
    pub fn send(&mut self, frame: &[u8]) -> Result<(), LinkError> {
        match &mut self.socket {
            Socket::Udp(socket) => ignore_refused(socket.send(frame)),
            Socket::Dtls(link) => link.send(frame),
            Socket::Tcp(_) | Socket::Tls(_) => {
                self.unsent.extend_from_slice(frame);
                self.unsent.resize(self.unsent.len().next_multiple_of(4), 0);
                self.flush()
            }
        }
    }

    /// Sends bytes as they are; for tests of broken frames.
    pub fn send_raw(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        if !self.transport.is_stream() {
            return self.send(bytes);
        }
        self.unsent.extend_from_slice(bytes);
        self.flush()
    }

    pub fn flush(&mut self) -> Result<(), LinkError> {
        while !self.unsent.is_empty() {
            let written = match &mut self.socket {
                Socket::Tcp(socket) => socket.write(&self.unsent),
                Socket::Tls(link) => link.write(&self.unsent),
                Socket::Udp(_) | Socket::Dtls(_) => return Ok(()),
            };
            match written {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        match &mut self.socket {
            Socket::Tls(link) => Ok(link.flush()?),
            _ => Ok(()),
        }
    }

    /// The next whole frame that has arrived, if any; never blocks.
    pub fn receive(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        self.flush()?;
        match &mut self.socket {
            Socket::Udp(socket) => match socket.recv(&mut self.scratch) {
                Ok(length) => Ok(Some(self.scratch[..length].to_vec())),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
                // An ICMP error of something sent earlier; the next call reads on.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(None),
                Err(error) => Err(error.into()),
            },
            Socket::Dtls(link) => link.receive(&mut self.scratch),
            Socket::Tcp(_) | Socket::Tls(_) => self.receive_framed(),
        }
    }

    fn receive_framed(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        loop {
            match next_frame(&self.unframed)
                .map_err(|error| LinkError::Framing(error.to_string()))?
            {
                Some(frame) => {
                    let bytes = self.unframed[..frame.len()].to_vec();
                    self.unframed.drain(..frame.consumed());
                    return Ok(Some(bytes));
                }
                None => match self.read_stream() {
                    Ok(0) => return Err(LinkError::Closed),
                    Ok(count) => self.unframed.extend_from_slice(&self.scratch[..count]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                    Err(error) => return Err(error.into()),
                },
            }
        }
    }

    /// Bytes of a stream as they come, without framing; for RFC 6062 data connections.
    pub fn receive_raw(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        if !self.unframed.is_empty() {
            return Ok(Some(std::mem::take(&mut self.unframed)));
        }
        match self.read_stream() {
            Ok(0) => Err(LinkError::Closed),
            Ok(count) => Ok(Some(self.scratch[..count].to_vec())),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn read_stream(&mut self) -> io::Result<usize> {
        match &mut self.socket {
            Socket::Tcp(socket) => socket.read(&mut self.scratch),
            Socket::Tls(link) => link.read(&mut self.scratch),
            Socket::Udp(_) | Socket::Dtls(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// Waits for a frame until `deadline`.
    pub fn receive_until(&mut self, deadline: Instant) -> Result<Option<Vec<u8>>, LinkError> {
        loop {
            if let Some(frame) = self.receive()? {
                return Ok(Some(frame));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            wait_readable(&[self.fd()], left.min(Duration::from_millis(200)));
        }
    }
}

/// A connected UDP socket reports ICMP errors of earlier packets when it sends; the packet was not sent then.
fn ignore_refused(sent: io::Result<usize>) -> Result<(), LinkError> {
    match sent {
        Ok(_) => Ok(()),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::ConnectionRefused | ErrorKind::WouldBlock
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn connected_udp(server: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(if server.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    })?;
    socket.connect(server)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn connected_tcp(server: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&server, CONNECT_PATIENCE)?;
    socket.set_nodelay(true)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Which of `fds` can be read, after at most `patience`.
#[expect(
    unsafe_code,
    reason = "poll(2) has no safe form in the standard library"
)]
pub fn wait_readable(fds: &[RawFd], patience: Duration) -> Vec<bool> {
    let mut polled: Vec<libc::pollfd> = fds
        .iter()
        .map(|&fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let millis = patience.as_millis().clamp(0, 60_000) as libc::c_int;
    // SAFETY: `polled` is a valid array of the given length for the whole call.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, millis) };
    polled.iter().map(|entry| entry.revents != 0).collect()
}
