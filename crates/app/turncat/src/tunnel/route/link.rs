//! The way to the peer, once it is open.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use stunner_client::{PeerStream, Relay, ServerUri};

use crate::server::Target;
use crate::tunnel::statistics::Counts;

/// An allocation that leads to the peer.
#[derive(Debug)]
pub struct Link {
    pub relay: Relay,
    /// The address of the peer that this link leads to.
    pub peer: SocketAddr,
    /// The connection to a TCP peer.
    pub stream: Option<PeerStream>,
    pub counts: Arc<Counts>,
}

impl Link {
    /// Ends the allocation, and counts what it lost.
    pub async fn close(self) {
        self.counts.dropped(self.relay.dropped());
        self.relay.close().await;
    }
}

/// The server of a relay as a URI; by its address where a server named another one.
pub(super) fn server_name(target: &Target, relay: &Relay) -> String {
    let server = relay.server();
    let itself = match target.uri.host.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, target.uri.port) == server,
        Err(_) => target.uri.port == server.port(),
    };
    match itself {
        true => target.uri.to_string(),
        false => ServerUri {
            host: server.ip().to_string(),
            port: server.port(),
            ..target.uri.clone()
        }
        .to_string(),
    }
}
