//! Where a client's answers go.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::UdpSocket;

/// The client's side of a tunnel, for writing.
pub enum Outlet {
    /// A client of a socket that many share.
    Datagrams {
        socket: Arc<UdpSocket>,
        client: SocketAddr,
    },
    Stream(Box<dyn AsyncWrite + Send + Unpin>),
}

impl Outlet {
    /// Hands over what the peer sent; whether it arrived. An error is the end of the client.
    pub(super) async fn deliver(&mut self, payload: &[u8]) -> io::Result<bool> {
        match self {
            // A UDP client that is gone, or whose path does not take the size, ends nothing: it may come back.
            Outlet::Datagrams { socket, client } => {
                Ok(socket.send_to(payload, *client).await.is_ok())
            }
            Outlet::Stream(stream) => {
                stream.write_all(payload).await?;
                stream.flush().await?;
                Ok(true)
            }
        }
    }

    /// The peer has said everything.
    pub(super) async fn finish(&mut self) {
        if let Outlet::Stream(stream) = self {
            // The client may be gone already.
            let _ = stream.shutdown().await;
        }
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outlet::Datagrams { client, .. } => f.debug_tuple("Datagrams").field(client).finish(),
            Outlet::Stream(_) => f.write_str("Stream"),
        }
    }
}
