//! One client's connection to the server.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};

use openssl::ssl::{ErrorCode, Ssl, SslStream};
use socket2::{Domain, Socket, Type};
use stunner_net::stream;
use stunner_net::udp::{UdpOptions, UdpSocket};
use stunner_stun::framing::{Frame, next_frame};

use crate::target::Transport;

/// Encrypted or plain bytes that a slow server leaves with us; more are not taken.
const BACKLOG: usize = 64 << 10;
const CHUNK: usize = 64 << 10;
/// Room for IPv4 and UDP headers on the usual path.
const DTLS_MTU: u32 = 1472;

/// UDP goes in batches; everything else frame by frame.
#[derive(Debug)]
pub(crate) enum Link {
    Udp(UdpSocket),
    Framed(Box<Framed>),
}

impl Link {
    /// Opens a socket at `local`; what is connected is connected by [`Framed::progress`].
    pub(crate) fn open(
        transport: &Transport,
        local: SocketAddr,
        server: SocketAddr,
        options: &UdpOptions,
    ) -> io::Result<Link> {
        let wire = match transport {
            Transport::Udp => return Ok(Link::Udp(UdpSocket::bind(local, options)?)),
            Transport::Tcp => Wire::Tcp(stream::connect_from(local, server)?),
            Transport::Tls(handshake) => {
                let socket = stream::connect_from(local, server)?;
                Wire::Tls(SslStream::new(handshake.session()?, socket)?)
            }
            Transport::Dtls(handshake) => {
                let mut ssl: Ssl = handshake.session()?;
                ssl.set_mtu(DTLS_MTU)?;
                Wire::Dtls(SslStream::new(ssl, Datagrams::connect(local, server)?)?)
            }
        };
        Ok(Link::Framed(Box::new(Framed {
            wire,
            is_open: false,
            incoming: Vec::new(),
            outgoing: Vec::new(),
        })))
    }

    /// Sends a control packet, which a full socket may lose: requests are repeated, or time out.
    pub(crate) fn send(&mut self, server: SocketAddr, packet: &[u8]) -> io::Result<()> {
        match self {
            Link::Udp(socket) => {
                let _ = socket.send_to(server, packet);
                Ok(())
            }
            Link::Framed(framed) => framed.send(packet).map(drop),
        }
    }
}

impl AsRawFd for Link {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Link::Udp(socket) => socket.as_raw_fd(),
            Link::Framed(framed) => match &framed.wire {
                Wire::Tcp(socket) => socket.as_raw_fd(),
                Wire::Tls(session) => session.get_ref().as_raw_fd(),
                Wire::Dtls(session) => session.get_ref().0.as_raw_fd(),
            },
        }
    }
}

/// One datagram per read and per write, as OpenSSL's DTLS wants it.
#[derive(Debug)]
struct Datagrams(Socket);

impl Datagrams {
    fn connect(local: SocketAddr, server: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(server), Type::DGRAM.nonblocking(), None)?;
        socket.bind(&local.into())?;
        socket.connect(&server.into())?;
        Ok(Datagrams(socket))
    }
}

impl Read for Datagrams {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Datagrams {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
enum Wire {
    Tcp(TcpStream),
    Tls(SslStream<TcpStream>),
    Dtls(SslStream<Datagrams>),
}

/// A connection that carries frames one by one.
#[derive(Debug)]
pub(crate) struct Framed {
    wire: Wire,
    is_open: bool,
    /// The beginning of a frame whose end has not come.
    incoming: Vec<u8>,
    /// What the socket had no room for.
    outgoing: Vec<u8>,
}

impl Framed {
    /// Goes on with the connection and the handshake; whether both are done. Call it on every event, and now and then:
    /// DTLS repeats what got lost.
    pub(crate) fn progress(&mut self) -> io::Result<bool> {
        if self.is_open {
            return Ok(true);
        }
        self.is_open = match &mut self.wire {
            Wire::Tcp(socket) => stream::connect_result(socket)?,
            Wire::Tls(session) => {
                stream::connect_result(session.get_ref())? && shake_hands(session)?
            }
            Wire::Dtls(session) => shake_hands(session)?,
        };
        Ok(self.is_open)
    }

    /// Takes a frame, or says `false` when too much waits already. A datagram that does not go out is lost.
    pub(crate) fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        if let Wire::Dtls(session) = &mut self.wire {
            return match session.ssl_write(frame) {
                Ok(_) => Ok(true),
                Err(error) => wait_or_fail(error).map(|()| false),
            };
        }
        if self.outgoing.len() + frame.len() > BACKLOG {
            self.flush()?;
            if self.outgoing.len() + frame.len() > BACKLOG {
                return Ok(false);
            }
        }
        self.outgoing.extend_from_slice(frame);
        self.flush()?;
        Ok(true)
    }

    /// Gives the socket what waits for it.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let mut written = 0;
        while written < self.outgoing.len() {
            let rest = &self.outgoing[written..];
            let count = match &mut self.wire {
                Wire::Tcp(socket) => match socket.write(rest) {
                    Ok(count) => count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                },
                Wire::Tls(session) => match session.ssl_write(rest) {
                    Ok(count) => count,
                    Err(error) => {
                        wait_or_fail(error)?;
                        break;
                    }
                },
                Wire::Dtls(_) => break,
            };
            written += count;
        }
        self.outgoing.drain(..written);
        Ok(())
    }

    /// Reads all there is and hands over the frames.
    pub(crate) fn receive(&mut self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut chunk = [0; CHUNK];
        loop {
            let read = match &mut self.wire {
                Wire::Tcp(socket) => match socket.read(&mut chunk) {
                    Ok(count) => Some(count),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => None,
                    Err(error) => return Err(error),
                },
                Wire::Tls(session) => read_or_wait(session, &mut chunk)?,
                Wire::Dtls(session) => match read_or_wait(session, &mut chunk)? {
                    Some(count) if count > 0 => {
                        each(&chunk[..count]);
                        continue;
                    }
                    read => read,
                },
            };
            match read {
                None => return Ok(()),
                Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Some(count) => {
                    self.incoming.extend_from_slice(&chunk[..count]);
                    self.cut(each)?;
                }
            }
        }
    }

    fn cut(&mut self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut at = 0;
        while let Some(frame) = next_frame(&self.incoming[at..]).map_err(io::Error::other)? {
            if at + Frame::consumed(frame) > self.incoming.len() {
                break;
            }
            each(&self.incoming[at..at + frame.len()]);
            at += frame.consumed();
        }
        self.incoming.drain(..at);
        Ok(())
    }
}

fn shake_hands<S: Read + Write>(session: &mut SslStream<S>) -> io::Result<bool> {
    match session.connect() {
        Ok(()) => Ok(true),
        Err(error) => wait_or_fail(error).map(|()| false),
    }
}

fn read_or_wait<S: Read + Write>(
    session: &mut SslStream<S>,
    chunk: &mut [u8],
) -> io::Result<Option<usize>> {
    match session.ssl_read(chunk) {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.code() == ErrorCode::ZERO_RETURN => Ok(Some(0)),
        Err(error) => wait_or_fail(error).map(|()| None),
    }
}

fn wait_or_fail(error: openssl::ssl::Error) -> io::Result<()> {
    match error.code() {
        ErrorCode::WANT_READ | ErrorCode::WANT_WRITE => Ok(()),
        _ => Err(error.into_io_error().unwrap_or_else(io::Error::other)),
    }
}
