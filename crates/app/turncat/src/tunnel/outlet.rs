//! Where a client's answers go.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// How long a client may take to read the last of its answers.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// The client's side of a tunnel, for writing.
#[derive(Debug)]
pub enum Outlet {
    /// A client of a socket that many share.
    Datagrams {
        socket: Arc<UdpSocket>,
        client: SocketAddr,
    },
    Stream(StreamOutlet),
}

/// A connection, and what it has not yet taken of the last answer: whoever delivers may be called away in the middle,
/// and the next answer must not follow half of one.
pub struct StreamOutlet {
    stream: Box<dyn AsyncWrite + Send + Unpin>,
    answer: Vec<u8>,
    written: usize,
}

impl Outlet {
    pub fn stream(stream: Box<dyn AsyncWrite + Send + Unpin>) -> Outlet {
        Outlet::Stream(StreamOutlet {
            stream,
            answer: Vec::new(),
            written: 0,
        })
    }

    /// Hands over what the peer sent; whether it arrived. An error is the end of the client. Where this is cancelled
    /// once it waits, the answer goes out before the next one.
    pub(super) async fn deliver(&mut self, payload: &[u8]) -> io::Result<bool> {
        match self {
            // A UDP client that is gone, or whose path does not take the size, ends nothing: it may come back.
            Outlet::Datagrams { socket, client } => {
                Ok(socket.send_to(payload, *client).await.is_ok())
            }
            Outlet::Stream(outlet) => {
                outlet.write_rest().await?;
                outlet.answer.clear();
                outlet.answer.extend_from_slice(payload);
                outlet.written = 0;
                outlet.write_rest().await?;
                Ok(true)
            }
        }
    }

    /// Hands over the rest of an answer that was called off.
    pub(super) async fn resume(&mut self) -> io::Result<()> {
        match self {
            Outlet::Datagrams { .. } => Ok(()),
            Outlet::Stream(outlet) => outlet.write_rest().await,
        }
    }

    /// The peer has said everything.
    pub(super) async fn finish(&mut self) {
        if let Outlet::Stream(outlet) = self {
            // The client may be gone already, or never read again.
            let _ = timeout(LAST_WRITE, outlet.write_rest()).await;
            let _ = outlet.stream.shutdown().await;
        }
    }
}

impl StreamOutlet {
    async fn write_rest(&mut self) -> io::Result<()> {
        while self.written < self.answer.len() {
            // Unlike `write_all` it has written nothing if it is cancelled.
            match self.stream.write(&self.answer[self.written..]).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.written += count,
            }
        }
        self.stream.flush().await
    }
}

impl fmt::Debug for StreamOutlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamOutlet")
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    /// A client that reads slowly, and an answer that was called off when it was half written.
    async fn half_written(answer: &[u8]) -> (Outlet, tokio::io::DuplexStream) {
        let (near, client) = tokio::io::duplex(4);
        let mut outlet = Outlet::stream(Box::new(near));
        tokio::select! {
            biased;
            delivered = outlet.deliver(answer) => panic!("{delivered:?}"),
            () = std::future::ready(()) => {}
        }
        (outlet, client)
    }

    #[tokio::test]
    async fn an_answer_that_was_cut_short_goes_on_before_the_next() {
        let (mut outlet, mut client) = half_written(b"first answer, ").await;
        let delivering = tokio::spawn(async move {
            outlet.deliver(b"second").await.expect("a client");
            outlet.finish().await;
        });
        let mut read = String::new();
        client.read_to_string(&mut read).await.expect("text");
        assert_eq!(read, "first answer, second");
        delivering.await.expect("no panic");
    }

    #[tokio::test]
    async fn the_end_comes_after_the_whole_of_the_last_answer() {
        let (mut outlet, mut client) = half_written(b"the last answer").await;
        let finishing = tokio::spawn(async move { outlet.finish().await });
        let mut read = String::new();
        client.read_to_string(&mut read).await.expect("text");
        assert_eq!(read, "the last answer");
        finishing.await.expect("no panic");
    }
}
