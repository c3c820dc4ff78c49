//! Why there is no way to the peer, and what that means for the next attempt.

use std::io;
use std::time::Duration;

use stunner_client::ClientError;
use thiserror::Error;

/// Why no allocation could be made.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("no answer from {server} within {} s", .waited.as_secs_f32())]
    Slow { server: String, waited: Duration },
    #[error("cannot resolve the peer `{peer}`")]
    PeerName { peer: String, source: io::Error },
}

impl OpenError {
    pub fn hint(&self) -> String {
        match self {
            OpenError::Client(ClientError::Unauthorized { username: None, .. }) => {
                "write user and password into the server's URI, `turn://USER:PASSWORD@HOST:PORT`, or give `--secret`"
                    .to_owned()
            }
            OpenError::Client(error) => error.hint(),
            OpenError::Slow { .. } => {
                "check the address, port and transport, and that firewalls on the way let it pass".to_owned()
            }
            OpenError::PeerName { .. } => {
                "names of peers are resolved on this host, not by the server: use the peer's IP address".to_owned()
            }
        }
    }

    /// Whether the same attempt would fail again however often it is made.
    pub(super) fn is_final(&self) -> bool {
        match self {
            OpenError::Client(error) => match error {
                ClientError::Certificate { .. }
                | ClientError::Unauthorized { .. }
                | ClientError::Misuse(_) => true,
                // What is full or starting may change; what is forbidden or unknown does not. A peer that refuses a
                // connection (447) is for the client to try again.
                ClientError::Refused { code, .. } => {
                    *code < 500 && !matches!(code, 437 | 438 | 446 | 486)
                }
                _ => false,
            },
            OpenError::Slow { .. } | OpenError::PeerName { .. } => false,
        }
    }

    /// Whether no server said anything.
    pub(super) fn is_silence(&self) -> bool {
        match self {
            OpenError::Client(error) => matches!(
                error,
                ClientError::Timeout { .. }
                    | ClientError::NothingListens { .. }
                    | ClientError::Unreachable { .. }
                    | ClientError::Closed { .. }
                    | ClientError::Resolve { .. }
            ),
            OpenError::Slow { .. } => true,
            OpenError::PeerName { .. } => false,
        }
    }
}
