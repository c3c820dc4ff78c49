//! A STUN Binding request: is a server there, how far away, and who are we to it.

use std::net::SocketAddr;
use std::time::Duration;

use crate::{ClientError, Connect};

/// The answer to a Binding request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Our address as the server sees it.
    pub mapped: SocketAddr,
    /// From the request to its answer, without connecting and handshake.
    pub rtt: Duration,
    /// SOFTWARE, where the server tells it.
    pub software: Option<String>,
}

/// Asks once.
pub async fn binding(connect: Connect) -> Result<Bound, ClientError> {
    Err(unfinished(&connect))
}

pub(crate) fn unfinished(connect: &Connect) -> ClientError {
    ClientError::NotTurn {
        server: connect.server,
        transport: connect.transport,
    }
}
