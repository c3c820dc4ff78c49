//! Binding and running one HTTP server.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::response::Response;
use futures_util::StreamExt;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use stunner_config::{HttpEndpoint, HttpHost};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindAddress {
    /// Every local address of both families, where the host has both.
    Any {
        port: u16,
    },
    Socket(SocketAddr),
    /// The first address of a name that can be bound.
    Name {
        host: String,
        port: u16,
    },
}

impl From<SocketAddr> for BindAddress {
    fn from(address: SocketAddr) -> Self {
        BindAddress::Socket(address)
    }
}

impl From<&HttpEndpoint> for BindAddress {
    fn from(endpoint: &HttpEndpoint) -> Self {
        let port = endpoint.port;
        match &endpoint.host {
            HttpHost::Any => BindAddress::Any { port },
            HttpHost::Ip(ip) => BindAddress::Socket(SocketAddr::new(*ip, port)),
            HttpHost::Name(host) => BindAddress::Name {
                host: host.clone(),
                port,
            },
        }
    }
}

impl BindAddress {
    fn port(&self) -> u16 {
        match self {
            BindAddress::Any { port } | BindAddress::Name { port, .. } => *port,
            BindAddress::Socket(address) => address.port(),
        }
    }

    /// Whether a connection could be meant for both. Of a name anything is believed.
    pub fn overlaps(&self, other: &BindAddress) -> bool {
        let distinct = match (self, other) {
            (BindAddress::Socket(one), BindAddress::Socket(other)) => {
                one.ip() != other.ip() && !one.ip().is_unspecified() && !other.ip().is_unspecified()
            }
            _ => false,
        };
        self.port() == other.port() && !distinct
    }
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindAddress::Any { port } => write!(f, ":{port}"),
            BindAddress::Socket(address) => address.fmt(f),
            BindAddress::Name { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// Bounds on what clients can hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// For a request head to arrive, and for a connection to stay idle.
    pub(super) head_timeout: Duration,
    pub(super) connections: usize,
    /// For requests under way when the server is stopped.
    pub(super) grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            head_timeout: Duration::from_secs(20),
            connections: 1024,
            grace: Duration::from_secs(2),
        }
    }
}

/// The start of every HTTP server.
#[derive(Debug)]
pub struct HttpServer;

impl HttpServer {
    /// Opens the listening socket: all of a server's start that can fail.
    pub fn bind(address: &BindAddress) -> io::Result<Bound> {
        listen(address, false).map(|listener| Bound { listener })
    }

    /// Opens the listening socket of a server that will take the place of others, also where their addresses overlap
    /// (`:8086` and `127.0.0.1:8086`). They go on until they are stopped, so a reconcile may still turn back.
    pub fn bind_in_place_of(address: &BindAddress, leaving: &[&Running]) -> io::Result<Bound> {
        let taken = match listen(address, false) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => error,
            result => return result.map(|listener| Bound { listener }),
        };
        let here = |running: &&&Running| {
            let local = running.local_addr();
            local.is_ok_and(|local| local.port() == address.port())
        };
        let leaving: Vec<_> = leaving.iter().filter(here).collect();
        if leaving.is_empty() {
            return Err(taken);
        }
        // Sharing is allowed for the moment of binding only: another process must still find the port taken.
        let share = |allowed| {
            let mut sockets = leaving
                .iter()
                .map(|running| SockRef::from(&*running.listener));
            sockets.try_for_each(|socket| socket.set_reuse_port(allowed))
        };
        share(true)?;
        let result = listen(address, true);
        share(false)?;
        let listener = result?;
        SockRef::from(&listener).set_reuse_port(false)?;
        Ok(Bound { listener })
    }
}

fn listen(address: &BindAddress, share_port: bool) -> io::Result<std::net::TcpListener> {
    match address {
        BindAddress::Any { port } => {
            match listen_at((Ipv6Addr::UNSPECIFIED, *port).into(), share_port) {
                // A host without IPv6 has no such socket or no such address.
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    listen_at((Ipv4Addr::UNSPECIFIED, *port).into(), share_port).map_err(|_| error)
                }
                result => result,
            }
        }
        BindAddress::Socket(address) => listen_at(*address, share_port),
        BindAddress::Name { host, port } => {
            let mut last =
                io::Error::new(io::ErrorKind::NotFound, format!("`{host}` has no address"));
            for address in (host.as_str(), *port).to_socket_addrs()? {
                match listen_at(address, share_port) {
                    Ok(listener) => return Ok(listener),
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

fn listen_at(address: SocketAddr, share_port: bool) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() {
        // The wildcard serves both families; a given address serves its own.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(share_port)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(128)?;
    Ok(socket.into())
}

/// A listening socket that nobody accepts from yet.
#[derive(Debug)]
pub struct Bound {
    listener: std::net::TcpListener,
}

impl Bound {
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Starts to serve. Must be called within a tokio runtime.
    pub fn serve(self, router: Router) -> io::Result<Running> {
        self.serve_with(router, Limits::default())
    }

    pub(super) fn serve_with(self, router: Router, limits: Limits) -> io::Result<Running> {
        let listener = Arc::new(TcpListener::from_std(self.listener)?);
        let (stop, stopped) = watch::channel(());
        let ending = stopped.clone();
        let router = router.layer(axum::middleware::map_response(move |response: Response| {
            let ending = ending.clone();
            async move { end_stream_when(response, wait_for(ending)) }
        }));
        let task = tokio::spawn(accept(Arc::clone(&listener), router, limits, stopped));
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
    listener: Arc<TcpListener>,
    /// Closed, not written: the tasks watch for its end.
    stop: watch::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Closes the listening socket at once and waits, for a short time, for the requests under way.
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

async fn accept(
    listener: Arc<TcpListener>,
    router: Router,
    limits: Limits,
    stopped: watch::Receiver<()>,
) {
    let mut connections = JoinSet::new();
    let mut end = pin!(wait_for(stopped.clone()));
    loop {
        let accepted = tokio::select! {
            () = &mut end => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept(), if connections.len() < limits.connections => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(serve_connection(
                    stream,
                    router.clone(),
                    limits,
                    wait_for(stopped.clone()),
                ));
            }
            Err(error) => {
                // Most likely out of file descriptors; trying again at once would spin.
                tracing::warn!(
                    scope = "stunner",
                    "cannot accept an HTTP connection: {error}"
                );
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

async fn serve_connection(
    stream: TcpStream,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let (mut connection, mut stop) = (pin!(connection), pin!(stop));
    // What goes wrong on one connection is that client's matter.
    tokio::select! {
        _ = &mut connection => {}
        () = &mut stop => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
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
