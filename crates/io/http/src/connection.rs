//! One connection, from its acceptance to its end.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::ConnectInfo;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::hurry::Hurried;
use crate::patience::Patient;
use crate::room::{Place, Working};
use crate::serve::Limits;

/// What every connection of a server is served with.
pub(crate) struct Handler {
    pub(crate) router: Router,
    pub(crate) acceptor: Option<TlsAcceptor>,
    pub(crate) limits: Limits,
    pub(crate) title_case_headers: bool,
}

impl Handler {
    /// Serves until the client is done, until its place is needed, or until `stop` and the end of the request under way.
    /// What goes wrong on one connection is that client's matter.
    pub(crate) async fn serve(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        place: Arc<Place>,
        stop: impl Future<Output = ()>,
    ) {
        watch_over(&stream);
        let stream = Patient::new(stream, self.limits.write_timeout, place.is_writing());
        let Some(acceptor) = &self.acceptor else {
            return self.exchange(stream, peer, place, stop).await;
        };
        let mut stop = pin!(stop);
        let handshake = tokio::time::timeout(self.limits.head_timeout, acceptor.accept(stream));
        let shaken = tokio::select! {
            () = &mut stop => return,
            () = place.sent_away() => return,
            shaken = handshake => shaken,
        };
        if let Ok(Ok(stream)) = shaken {
            self.exchange(stream, peer, place, stop).await;
        }
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
        place: Arc<Place>,
        stop: impl Future<Output = ()>,
    ) {
        let router = TowerToHyperService::new(self.router.clone());
        let patience = self.limits.head_timeout;
        let at_work = Arc::clone(&place);
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            let working = at_work.work();
            let is_proper = names_one_host(&request);
            request.extensions_mut().insert(ConnectInfo(peer));
            let answer = router.call(request.map(|body| Hurried::new(body, patience)));
            async move {
                let answer = match is_proper {
                    true => answer.await?,
                    false => improper(),
                };
                Ok::<_, Infallible>(answer.map(|body| Answer {
                    body,
                    _working: working,
                }))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_timeout)
            .title_case_headers(self.title_case_headers)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let (mut connection, mut stop) = (pin!(connection), pin!(stop));
        tokio::select! {
            // First what the client has to say: it may have just asked for something.
            biased;
            _ = &mut connection => {}
            () = place.sent_away() => {}
            () = &mut stop => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}

/// RFC 9112 §3.2: a request of HTTP/1.1 has one Host header, and what has not is a bad request.
fn names_one_host<B>(request: &hyper::Request<B>) -> bool {
    request.version() != Version::HTTP_11 || request.headers().get_all(HOST).iter().count() == 1
}

fn improper() -> Response {
    const WHY: &str =
        r#"{"error":"the request has no Host header, or several","hint":"send one Host header"}"#;
    let json = [(CONTENT_TYPE, "application/json")];
    (StatusCode::BAD_REQUEST, json, WHY).into_response()
}

/// The body of an answer; the request is over when it is dropped.
struct Answer {
    body: Body,
    _working: Working,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A peer whose machine vanished says nothing any more: the kernel asks after it, and ends the connection when there
/// is no answer. Without these options the connection still works, so failures to set them are no matter.
fn watch_over(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(30))
        .with_interval(Duration::from_secs(10))
        .with_retries(3);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}
