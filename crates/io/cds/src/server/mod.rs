//! The discovery service itself: it hands configurations to dataplanes, to the auth service and to people.
//!
//! A [`ConfigStore`] holds what there is to know and who wants to hear of it; servers are windows on it, so a plain
//! one and one over TLS may share a store. The protocol is that of the Go system, recorded byte for byte: REST for a
//! single look, and a WebSocket that carries one configuration per text frame for those who stay.
//!
//! **No client can hold up another or the store.** A subscriber owns a list of the ids that changed since it was last
//! written to, nothing more; what it is sent is looked up at that moment. So changes that come faster than a client
//! reads melt into the newest one, and a client that reads nothing at all costs a few ids until it is cut off.
//!
//! Who may read what is the business of an [`Authorizer`]. It is asked once per request, that is once for the life of
//! a watch: a token that expires later ends no watch, and dataplanes come back with a fresh one whenever they
//! reconnect.

mod access;
mod answer;
mod client;
mod handshake;
mod license;
mod query;
mod routes;
mod store;
mod subscription;
mod text;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stunner_http::{BindAddress, Bound, HttpServer, Limits, LiveCertificate, Running, Serving};
use tokio::sync::{Semaphore, mpsc, watch};

pub use access::{Access, Authorizer, BearerToken, Scope, Verdict};
pub use store::{Census, Change, ConfigStore};
pub use text::{ConfigText, NODE_ADDRESS_PLACEHOLDER, UNKNOWN_NODE_ADDRESS};

use client::Phase;
use routes::Context;

const SCOPE: &str = "cds-server";

/// How long clients have to take their close frame when the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// Bounds on what clients can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// Watches at the same time; one more is answered 503.
    pub subscribers: usize,
    /// For the authorizer to decide.
    pub authorization: Duration,
    pub http: Limits,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            subscribers: 10_000,
            authorization: Duration::from_secs(5),
            http: Limits::default(),
        }
    }
}

/// How to serve a store.
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    pub access: Access,
    /// What the licence document lists: names of features that work.
    pub features: Vec<String>,
    /// Serve over TLS, showing this certificate.
    pub certificate: Option<LiveCertificate>,
    pub limits: ServerLimits,
}

/// The start of every discovery service.
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Opens the listening socket: all of the start that can fail.
    pub fn bind(address: &BindAddress) -> io::Result<BoundServer> {
        HttpServer::bind(address).map(|bound| BoundServer { bound })
    }
}

/// A discovery service that does not answer yet; its clients wait.
#[derive(Debug)]
pub struct BoundServer {
    bound: Bound,
}

impl BoundServer {
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.bound.local_addr()
    }

    /// Starts to serve. Must be called within a tokio runtime.
    pub fn serve(self, store: ConfigStore, options: ServerOptions) -> io::Result<RunningServer> {
        let (phase, phases) = watch::channel(Phase::Open);
        let (alive, all_gone) = mpsc::channel(1);
        let context = Context {
            store,
            access: options.access,
            license: license::document(&options.features),
            authorization_timeout: options.limits.authorization,
            places: Arc::new(Semaphore::new(options.limits.subscribers)),
            phases,
            alive,
        };
        let serving = Serving {
            limits: options.limits.http,
            // As Go's server writes them.
            title_case_headers: true,
            certificate: options.certificate,
        };
        let http = self.bound.serve_with(routes::router(context), serving)?;
        Ok(RunningServer {
            http,
            phase,
            all_gone,
        })
    }
}

/// A discovery service at work. Dropping it stops it, without waiting.
#[derive(Debug)]
pub struct RunningServer {
    http: Running,
    phase: watch::Sender<Phase>,
    /// Ends when the last client is gone; nothing is ever sent.
    all_gone: mpsc::Receiver<()>,
}

impl RunningServer {
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.http.local_addr()
    }

    /// Closes the listening socket, sends every subscriber a close frame and waits, for a short time, until it is
    /// taken.
    pub async fn stop(self) {
        let RunningServer {
            http,
            phase,
            mut all_gone,
        } = self;
        phase.send_replace(Phase::Closing);
        let clients = tokio::time::timeout(GRACE, all_gone.recv());
        let ((), _) = tokio::join!(http.stop(), clients);
        phase.send_replace(Phase::Gone);
    }
}
