//! A stream into a pod.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use kube::api::Portforwarder;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::time::Sleep;

/// For the reason why a stream ended to arrive: it is told on a channel of its own.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A stream into a pod, by the API server's port-forward, which ends when this is dropped.
///
/// That it could be opened means only that there is such a pod. Where nothing listens on the port, the first read
/// fails with what the node says about it.
pub struct Forward {
    stream: DuplexStream,
    forwarder: Portforwarder,
    end: End,
}

enum End {
    Open(BoxFuture<'static, Option<String>>),
    /// Nothing more comes; there may be a reason for it.
    Ended(BoxFuture<'static, Option<String>>, Pin<Box<Sleep>>),
    Over,
}

impl Forward {
    pub(crate) fn new(
        forwarder: Portforwarder,
        stream: DuplexStream,
        failed: BoxFuture<'static, Option<String>>,
    ) -> Forward {
        Forward {
            stream,
            forwarder,
            end: End::Open(failed),
        }
    }

    /// The end of the stream: nothing more to read, or why.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let End::Open(_) = self.end
            && let End::Open(failed) = std::mem::replace(&mut self.end, End::Over)
        {
            self.end = End::Ended(failed, Box::pin(tokio::time::sleep(LAST_WORDS)));
        }
        let End::Ended(failed, patience) = &mut self.end else {
            return Poll::Ready(Ok(()));
        };
        let said = match failed.as_mut().poll(cx) {
            Poll::Ready(said) => said,
            Poll::Pending => {
                ready!(patience.as_mut().poll(cx));
                None
            }
        };
        self.end = End::Over;
        Poll::Ready(match said {
            Some(said) => Err(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                said.trim().to_owned(),
            )),
            None => Ok(()),
        })
    }
}

impl fmt::Debug for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forward").finish_non_exhaustive()
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.forwarder.abort();
    }
}

impl AsyncRead for Forward {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        match buffer.filled().len() > before || buffer.remaining() == 0 {
            true => Poll::Ready(Ok(())),
            false => self.poll_end(cx),
        }
    }
}

impl AsyncWrite for Forward {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
