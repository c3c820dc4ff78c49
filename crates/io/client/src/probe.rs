//! A STUN Binding request: is a server there, how far away, and who are we to it.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;

use crate::session::{Answer, Asked, Session};
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

/// Asks a server for our address. Needs no credentials.
pub async fn binding(connect: Connect) -> Result<Bound, ClientError> {
    let deadline = connect.deadline();
    let session = Session::open(connect, deadline).await?;
    let asked_at = Instant::now();
    let asking = session.ask(Asked::Binding, deadline, |machine, now| {
        machine.binding(now)
    });
    let (server, transport) = (session.connect.server, session.connect.transport);
    match asking.await? {
        Answer::Mapped(mapped) => Ok(Bound {
            mapped,
            rtt: asked_at.elapsed(),
            software: session.core().software.clone(),
        }),
        Answer::Elsewhere {
            server: alternate, ..
        } => Err(ClientError::Refused {
            server,
            request: "Binding",
            code: 300,
            reason: format!("Try Alternate, {alternate}"),
        }),
        _ => Err(ClientError::NotTurn { server, transport }),
    }
}
