//! A connected socket, whichever kind.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::Interest;
use tokio::net::{TcpStream, UdpSocket};

/// Shared by those who wait for it and those who use it.
#[derive(Clone, Debug)]
pub(crate) enum Socket {
    Udp(Arc<UdpSocket>),
    Tcp(Arc<TcpStream>),
}

impl Socket {
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self, Socket::Tcp(_))
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Socket::Udp(socket) => socket.local_addr(),
            Socket::Tcp(socket) => socket.local_addr(),
        }
    }

    /// Until there is something to read, be it an error.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self {
            // An ICMP error alone does not make a datagram socket readable.
            Socket::Udp(socket) => socket
                .ready(Interest::READABLE | Interest::ERROR)
                .await
                .map(drop),
            Socket::Tcp(socket) => socket.readable().await,
        }
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            Socket::Udp(socket) => socket.writable().await,
            Socket::Tcp(socket) => socket.writable().await,
        }
    }

    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Udp(socket) => match socket.try_recv(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    pending_error(socket)?;
                    Err(error)
                }
                other => other,
            },
            Socket::Tcp(socket) => socket.try_read(buffer),
        }
    }

    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Udp(socket) => socket.try_send(bytes),
            Socket::Tcp(socket) => socket.try_write(bytes),
        }
    }
}

/// The error that an ICMP message left behind, and no more readiness for it.
fn pending_error(socket: &UdpSocket) -> io::Result<()> {
    let blocked = || Err::<(), _>(io::Error::from(io::ErrorKind::WouldBlock));
    let mut found = None;
    // The closure runs only when the socket was reported to have an error.
    let _ = socket.try_io(Interest::ERROR, || {
        found = socket.take_error()?;
        blocked()
    });
    found.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// A socket whose packets go to a port where nothing listens.
    async fn refused() -> Socket {
        let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = closed.local_addr().unwrap();
        drop(closed);
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.connect(address).await.unwrap();
        socket.writable().await.unwrap();
        Socket::Udp(Arc::new(socket))
    }

    #[tokio::test]
    async fn a_closed_udp_port_shows_as_an_error_when_reading_and_only_once() {
        let socket = refused().await;
        socket.try_write(b"x").unwrap();
        let error = loop {
            timeout(Duration::from_secs(5), socket.readable())
                .await
                .unwrap()
                .unwrap();
            match socket.try_read(&mut [0; 16]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => break other.unwrap_err(),
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        // What was told must not keep the socket readable: the task would spin.
        let mut wakes = 0;
        let spinning = async {
            loop {
                socket.readable().await.unwrap();
                let _ = socket.try_read(&mut [0; 16]);
                wakes += 1;
                tokio::task::yield_now().await;
            }
        };
        let _: Result<std::convert::Infallible, _> =
            timeout(Duration::from_millis(100), spinning).await;
        assert!(wakes < 5, "{wakes} wakes without a reason");
    }
}
