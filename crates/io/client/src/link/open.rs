//! Opening connections.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use openssl::ssl::SslStream;
use socket2::{Domain, Protocol, SockRef, Socket as RawSocket, Type};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};
use tokio::time::{Instant, timeout_at};

use super::handshake::Shaken;
use super::{Io, Reader, Security, Socket, Wire, Writer};
use crate::error::{Step, unreachable};
use crate::{ClientError, Connect, ServerTransport};

/// Room for bursts while the reading task is busy; the system may grant less.
const RECEIVE_BUFFER: usize = 4 << 20;

/// A connection that is ready for requests.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) socket: Socket,
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
}

/// A connection of its own for the bytes of one peer.
#[derive(Debug)]
pub(crate) enum OpenedStream {
    Plain(TcpStream),
    Secure(SslStream<Io>),
}

impl Opened {
    /// Connects, with the handshake done and the certificate judged.
    pub(crate) async fn open(
        connect: &Connect,
        security: Option<&Security>,
        deadline: Instant,
    ) -> Result<Self, ClientError> {
        let socket = match connect.transport.is_stream() {
            false => Socket::Udp(Arc::new(udp(connect).await?)),
            true => Socket::Tcp(Arc::new(tcp(connect, deadline).await?)),
        };
        let wire = match security {
            None => Wire::Plain,
            Some(security) => {
                let stream = trusted(connect, security, socket.clone(), deadline).await?;
                Wire::Secure(Arc::new(Mutex::new(stream)))
            }
        };
        Ok(Opened {
            reader: Reader::new(socket.clone(), wire.clone()),
            writer: Writer::new(socket.clone(), wire),
            socket,
        })
    }
}

/// A second connection to the same server, over TCP or TLS.
pub(crate) async fn open_stream(
    connect: &Connect,
    security: Option<&Security>,
    deadline: Instant,
) -> Result<OpenedStream, ClientError> {
    let stream = tcp(connect, deadline).await?;
    match security {
        None => Ok(OpenedStream::Plain(stream)),
        Some(security) => {
            let socket = Socket::Tcp(Arc::new(stream));
            Ok(OpenedStream::Secure(
                trusted(connect, security, socket, deadline).await?,
            ))
        }
    }
}

/// A handshake whatever the certificates are worth.
pub(crate) async fn shake(
    connect: &Connect,
    security: &Security,
    deadline: Instant,
) -> Result<Shaken, ClientError> {
    let socket = match connect.transport.is_stream() {
        false => Socket::Udp(Arc::new(udp(connect).await?)),
        true => Socket::Tcp(Arc::new(tcp(connect, deadline).await?)),
    };
    handshake(connect, security, socket, deadline).await
}

async fn handshake(
    connect: &Connect,
    security: &Security,
    socket: Socket,
    deadline: Instant,
) -> Result<Shaken, ClientError> {
    let shaking = timeout_at(deadline, security.handshake(connect, socket));
    shaking
        .await
        .unwrap_or_else(|_| Err(connect.timed_out(Step::Handshake)))
}

async fn trusted(
    connect: &Connect,
    security: &Security,
    socket: Socket,
    deadline: Instant,
) -> Result<SslStream<Io>, ClientError> {
    let shaken = handshake(connect, security, socket, deadline).await?;
    match shaken.faults.is_empty() || connect.tls.insecure {
        true => Ok(shaken.stream),
        false => Err(ClientError::certificate(connect.server, shaken.faults)),
    }
}

fn local(connect: &Connect) -> SocketAddr {
    let any = match connect.server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(connect.bind.unwrap_or(any), 0)
}

async fn udp(connect: &Connect) -> Result<UdpSocket, ClientError> {
    let socket = RawSocket::new(
        Domain::for_address(connect.server),
        Type::DGRAM,
        Some(Protocol::UDP),
    );
    let socket = socket.map_err(ClientError::Socket)?;
    let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
    socket.set_nonblocking(true).map_err(ClientError::Socket)?;
    socket
        .bind(&local(connect).into())
        .map_err(ClientError::Socket)?;
    let socket = UdpSocket::from_std(socket.into()).map_err(ClientError::Socket)?;
    let connected = socket.connect(connect.server).await;
    connected.map_err(|error| unreachable(connect, error))?;
    // The runtime takes a new socket for full until it has looked, and the first request would have to be repeated.
    socket.writable().await.map_err(ClientError::Socket)?;
    Ok(socket)
}

async fn tcp(connect: &Connect, deadline: Instant) -> Result<TcpStream, ClientError> {
    let socket = match connect.server {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let socket = socket.map_err(ClientError::Socket)?;
    if connect.bind.is_some() {
        socket.bind(local(connect)).map_err(ClientError::Socket)?;
    }
    let connected = timeout_at(deadline, socket.connect(connect.server)).await;
    let connected = connected.map_err(|_| connect.timed_out(Step::Connecting))?;
    let stream = connected.map_err(|error| unreachable(connect, error))?;
    stream.set_nodelay(true).map_err(ClientError::Socket)?;
    // A server that vanished without a word shows within minutes, not hours.
    let _ = SockRef::from(&stream).set_keepalive(true);
    Ok(stream)
}

impl Connect {
    /// What OpenSSL needs, where it is needed.
    pub(crate) fn security(&self) -> Result<Option<Arc<Security>>, ClientError> {
        match self.transport {
            ServerTransport::Udp | ServerTransport::Tcp => Ok(None),
            ServerTransport::Tls | ServerTransport::Dtls => {
                Ok(Some(Arc::new(Security::new(self)?)))
            }
        }
    }

    pub(crate) fn timed_out(&self, step: Step) -> ClientError {
        ClientError::Timeout {
            server: self.server,
            transport: self.transport,
            step,
            waited: self.timeout,
        }
    }
}
