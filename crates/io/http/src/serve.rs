//! Running a bound server, and stopping it.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::response::Response;
use futures_util::StreamExt;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::certificate::LiveCertificate;
use crate::connection::Handler;
use crate::listen::Bound;
use crate::room::Room;

/// Between two warnings that all places are taken.
const SAY_FULL_EVERY: Duration = Duration::from_secs(60);
/// How long one that is sent away has to leave before another is asked.
const LEAVE_WITHIN: Duration = Duration::from_millis(10);

/// Bounds on what clients can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For a TLS handshake, the head of a request or its body to arrive, and for a connection to stay idle.
    pub head_timeout: Duration,
    /// For a client to take some of what is sent to it. It holds for upgraded connections too.
    pub write_timeout: Duration,
    /// Open HTTP connections. For a further one that is closed which has waited longest for a request; while there are
    /// requests under way on all, it waits. A connection that was upgraded no longer counts.
    pub connections: usize,
    /// For requests under way when the server is stopped.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            head_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(30),
            connections: 1024,
            grace: Duration::from_secs(2),
        }
    }
}

/// How to serve.
#[derive(Clone, Debug, Default)]
pub struct Serving {
    pub limits: Limits,
    /// `Content-Type` instead of `content-type`, for those who compare more closely than HTTP does.
    pub title_case_headers: bool,
    /// Serve over TLS, showing this certificate.
    pub certificate: Option<LiveCertificate>,
}

impl Bound {
    /// Starts to serve in the clear. Must be called within a tokio runtime.
    pub fn serve(self, router: Router) -> io::Result<Running> {
        self.serve_with(router, Serving::default())
    }

    /// Starts to serve. Must be called within a tokio runtime. Handlers find the client's address in
    /// [`ConnectInfo<SocketAddr>`](axum::extract::ConnectInfo).
    pub fn serve_with(self, router: Router, serving: Serving) -> io::Result<Running> {
        let acceptor = serving
            .certificate
            .as_ref()
            .map(LiveCertificate::acceptor)
            .transpose()
            .map_err(io::Error::other)?;
        let listener = Arc::new(TcpListener::from_std(self.listener)?);
        let (stop, stopped) = watch::channel(());
        let ending = stopped.clone();
        let router = router.layer(axum::middleware::map_response(move |response: Response| {
            let ending = ending.clone();
            async move { end_stream_when(response, wait_for(ending)) }
        }));
        let handler = Handler {
            router,
            acceptor,
            limits: serving.limits,
            title_case_headers: serving.title_case_headers,
        };
        let task = tokio::spawn(accept(Arc::clone(&listener), handler, stopped));
        Ok(Running {
            listener,
            stop,
            task,
        })
    }
}

/// A server at work. Dropping it stops it, without waiting.
#[derive(Debug)]
pub struct Running {
    pub(crate) listener: Arc<TcpListener>,
    /// Closed, not written: the tasks watch for its end.
    stop: watch::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Closes the listening socket at once and waits, for a short time, for the requests under way. Upgraded
    /// connections are those of whoever took them over.
    pub async fn stop(self) {
        let Running {
            listener,
            stop,
            task,
        } = self;
        drop((listener, stop));
        let _ = task.await;
    }
}

async fn accept(listener: Arc<TcpListener>, handler: Handler, stopped: watch::Receiver<()>) {
    let limits = handler.limits;
    let handler = Arc::new(handler);
    let mut connections = JoinSet::new();
    let mut end = pin!(wait_for(stopped.clone()));
    let room = Arc::new(Room::default());
    let mut told_full: Option<Instant> = None;
    loop {
        let accepted = tokio::select! {
            () = &mut end => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                if connections.len() >= limits.connections {
                    if told_full.is_none_or(|told| told.elapsed() >= SAY_FULL_EVERY) {
                        tracing::warn!(
                            scope = "http",
                            "{} HTTP connections are open, for new ones those are closed that ask for nothing",
                            limits.connections
                        );
                        told_full = Some(Instant::now());
                    }
                    tokio::select! {
                        () = &mut end => break,
                        () = make_room(&mut connections, limits.connections, &room) => {}
                    }
                }
                let handler = Arc::clone(&handler);
                let place = room.enter();
                let stop = wait_for(stopped.clone());
                connections.spawn(async move { handler.serve(stream, peer, place, stop).await });
            }
            Err(error) => {
                // Most likely out of file descriptors; trying again at once would spin.
                tracing::warn!(scope = "http", "cannot accept an HTTP connection: {error}");
                room.send_one_away();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(limits.grace, async {
        while connections.join_next().await.is_some() {}
    })
    .await;
    connections.abort_all();
}

/// Returns once there are less than `limit` connections.
async fn make_room(connections: &mut JoinSet<()>, limit: usize, room: &Room) {
    while connections.len() >= limit {
        tokio::select! {
            Some(_) = connections.join_next() => continue,
            () = room.somebody_can_leave() => room.send_one_away(),
        }
        let _ = tokio::time::timeout(LEAVE_WITHIN, connections.join_next()).await;
    }
}

async fn wait_for(mut stopped: watch::Receiver<()>) {
    while stopped.changed().await.is_ok() {}
}

/// Ends a body of unknown length, such as an event stream, when the server stops; others are sent whole.
fn end_stream_when(
    response: Response,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(stop))))
}
