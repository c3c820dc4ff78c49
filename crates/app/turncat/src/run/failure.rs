//! Why the program ends with a problem.

use std::io;

use stunner_client::ServerTransport;
use stunner_flags::report;
use thiserror::Error;

use crate::local::BindError;
use crate::server::DiscoveryError;
use crate::tunnel::{OpenError, SessionError};

#[derive(Debug, Error)]
pub enum Failure {
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    #[error(
        "a `tcp://` peer cannot be reached over {0}: the server relays streams only to clients that come by TCP or TLS"
    )]
    TcpPeer(ServerTransport),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("cannot start")]
    Start(#[source] io::Error),
}

impl Failure {
    /// The lines for the terminal.
    pub fn report(&self) -> String {
        let hint = match self {
            Failure::Discovery(error) => error.hint(),
            Failure::TcpPeer(_) => Some(
                "use `transport=tcp` or `transport=tls`, or a listener with such a protocol (RFC 6062)".to_owned(),
            ),
            Failure::Bind(error) => Some(error.hint().to_owned()),
            Failure::Open(error) => Some(error.hint()),
            Failure::Session(error) => Some(error.hint()),
            Failure::Start(_) => None,
        };
        report(self, hint.as_deref())
    }
}
