//! A request body that has to arrive in time.
//!
//! The head of a request has its time limit in hyper, the body has none: a client that promises one and sends nothing
//! would hold its connection, and the handler that waits for it, for ever.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use axum::body::HttpBody;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// Fails once the rest of the body has been waited for, from the first wait on, for `patience`.
#[derive(Debug)]
pub(crate) struct Hurried<B> {
    body: B,
    patience: Duration,
    /// Runs from the first wait on.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<B> Hurried<B> {
    pub(crate) fn new(body: B, patience: Duration) -> Self {
        Hurried {
            body,
            patience,
            waiting: None,
        }
    }
}

impl<B: HttpBody<Error: Into<BoxError>> + Unpin> HttpBody for Hurried<B> {
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let patience = self.patience;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waiting.as_mut().poll(context));
        let late = io::Error::from(io::ErrorKind::TimedOut);
        Poll::Ready(Some(Err(late.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
