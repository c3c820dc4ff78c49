//! A TCP connection to a peer through the relay (RFC 6062).

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use openssl::ssl::SslStream;
use socket2::SockRef;
use stunner_stun::Method;
use stunner_stun::framing::{Frame, MAX_FRAME_LEN, next_frame};
use stunner_turn::client::{Client, Event};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use crate::ClientError;
use crate::link::{Io, OpenedStream, Socket, read_secure, write_secure};
use crate::session::{Failed, Shared};

/// The bytes of one peer, over a connection of their own to the server. Closing it closes the peer's connection.
#[derive(Debug)]
pub struct PeerStream {
    stream: OpenedStream,
    /// What the peer sent right behind the server's answer.
    early: Vec<u8>,
}

impl PeerStream {
    /// Binds a fresh connection to the server to `connection`.
    pub(crate) async fn bind(
        stream: OpenedStream,
        session: &Shared,
        mut machine: Client,
        connection: u32,
    ) -> Result<PeerStream, ClientError> {
        let failed = |error| crate::error::unreachable(&session.connect, error);
        let (server, transport) = (session.connect.server, session.connect.transport);
        let mut stream = PeerStream {
            stream,
            early: Vec::new(),
        };
        machine.connection_bind(session.now(), connection)?;
        let mut bytes = Vec::new();
        loop {
            while let Some(request) = machine.poll_transmit() {
                stream.write_all(&request).await.map_err(failed)?;
            }
            stream.flush().await.map_err(failed)?;
            let frame = loop {
                match next_frame(&bytes) {
                    Ok(Some(frame)) => break frame,
                    Ok(None) if bytes.len() <= MAX_FRAME_LEN => {}
                    _ => return Err(ClientError::NotTurn { server, transport }),
                }
                if stream.read_buf(&mut bytes).await.map_err(failed)? == 0 {
                    return Err(ClientError::Closed { server, transport });
                }
            };
            let event = machine.handle(session.now(), &bytes[..Frame::len(frame)]);
            bytes.drain(..frame.consumed());
            match event {
                Event::ConnectionBound { .. } => {
                    stream.early = bytes;
                    return Ok(stream);
                }
                Event::Error { code, reason, .. } => {
                    return Err(
                        session.failure(Method::CONNECTION_BIND, Failed::Refused { code, reason })
                    );
                }
                _ => {}
            }
        }
    }

    /// Our end of the connection to the server.
    pub fn local(&self) -> io::Result<SocketAddr> {
        match &self.stream {
            OpenedStream::Plain(stream) => stream.local_addr(),
            OpenedStream::Secure(stream) => stream.get_ref().socket().local_addr(),
        }
    }
}

impl AsyncRead for PeerStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.early.is_empty() {
            let count = this.early.len().min(buffer.remaining());
            buffer.put_slice(&this.early[..count]);
            this.early.drain(..count);
            return Poll::Ready(Ok(()));
        }
        match &mut this.stream {
            OpenedStream::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            OpenedStream::Secure(stream) => loop {
                match read_secure(stream, buffer.initialize_unfilled()) {
                    Ok(count) => {
                        buffer.advance(count);
                        return Poll::Ready(Ok(()));
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        ready!(tcp(stream)?.poll_read_ready(cx))?;
                    }
                    Err(error) => return Poll::Ready(Err(error)),
                }
            },
        }
    }
}

impl AsyncWrite for PeerStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().stream {
            OpenedStream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            OpenedStream::Secure(_) if bytes.is_empty() => Poll::Ready(Ok(0)),
            OpenedStream::Secure(stream) => loop {
                match write_secure(stream, bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        ready!(tcp(stream)?.poll_write_ready(cx))?;
                    }
                    other => return Poll::Ready(other),
                }
            },
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Neither the socket nor OpenSSL keeps anything back.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            OpenedStream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            OpenedStream::Secure(stream) => {
                let _ = stream.shutdown();
                Poll::Ready(SockRef::from(tcp(stream)?).shutdown(Shutdown::Write))
            }
        }
    }
}

fn tcp(stream: &SslStream<Io>) -> io::Result<&TcpStream> {
    match stream.get_ref().socket() {
        Socket::Tcp(stream) => Ok(stream),
        Socket::Udp(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}
