//! One connection, from its acceptance to its end.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::hurry::Hurried;
use crate::patience::Patient;
use crate::serve::Limits;

/// What every connection of a server is served with.
pub(crate) struct Handler {
    pub(crate) router: Router,
    pub(crate) acceptor: Option<TlsAcceptor>,
    pub(crate) limits: Limits,
    pub(crate) title_case_headers: bool,
}

impl Handler {
    /// Serves until the client is done, or until `stop` and the end of the request under way. What goes wrong on one
    /// connection is that client's matter.
    pub(crate) async fn serve(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        stop: impl Future<Output = ()>,
    ) {
        watch_over(&stream);
        let stream = Patient::new(stream, self.limits.write_timeout);
        let Some(acceptor) = &self.acceptor else {
            return self.exchange(stream, peer, stop).await;
        };
        let mut stop = pin!(stop);
        let handshake = tokio::time::timeout(self.limits.head_timeout, acceptor.accept(stream));
        let shaken = tokio::select! {
            () = &mut stop => return,
            shaken = handshake => shaken,
        };
        if let Ok(Ok(stream)) = shaken {
            self.exchange(stream, peer, stop).await;
        }
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
        stop: impl Future<Output = ()>,
    ) {
        let router = TowerToHyperService::new(self.router.clone());
        let patience = self.limits.head_timeout;
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            router.call(request.map(|body| Hurried::new(body, patience)))
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_timeout)
            .title_case_headers(self.title_case_headers)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let (mut connection, mut stop) = (pin!(connection), pin!(stop));
        tokio::select! {
            _ = &mut connection => {}
            () = &mut stop => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
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
