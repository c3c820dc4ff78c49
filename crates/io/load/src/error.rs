//! Why sessions fail, and what can be done about it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use stunner_stun::Method;
use stunner_turn::client::ClientError;
use thiserror::Error;

/// EMFILE.
const TOO_MANY_FILES: i32 = 24;

/// Why a session could not be made, or did not last.
#[derive(Debug, Error)]
pub enum SessionError {
    /// A socket or epoll call failed.
    #[error("a socket failed: {0}")]
    Io(#[from] io::Error),
    /// The connection, or the handshake on it, failed.
    #[error("no connection to the server: {0}")]
    Connect(io::Error),
    /// The connection ended.
    #[error("the connection to the server ended: {0}")]
    Broken(io::Error),
    /// The client machine refused a call.
    #[error("a request cannot be made: {0}")]
    Request(#[from] ClientError),
    /// The server refused.
    #[error("the server refuses {method:?} with {code} {reason}")]
    Refused {
        /// Which request.
        method: Method,
        /// ERROR-CODE.
        code: u16,
        /// Reason phrase.
        reason: String,
    },
    /// No answer to a request.
    #[error("the server does not answer {0:?}")]
    Silent(Method),
    /// No traffic passes after this long.
    #[error("the server does not answer within {} s", .0.as_secs())]
    Late(Duration),
    /// The server has an address to try instead (300).
    #[error("the server sends clients to {0} instead")]
    Elsewhere(SocketAddr),
    /// Nobody answered at the end.
    #[error("the server has fallen silent")]
    Gone,
    /// The allocation is gone.
    #[error("the allocation was lost")]
    Lost,
    /// The path is there, yet nothing passes.
    #[error("no packet reaches the peer")]
    NothingPasses,
    /// The server did not answer in time.
    #[error("{0} sessions got no answer in time")]
    Timeout(usize),
}

/// Errors by what can be done about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Something on this machine, such as a limit.
    Local,
    /// The server cannot be connected to, or its certificate is not accepted.
    Connection,
    /// The server says no, with this code.
    Refused(u16),
    /// Nothing comes back.
    Silence,
    /// The path exists, but packets do not reach the peer.
    NothingPasses,
    /// It worked for a while.
    Lost,
}

impl SessionError {
    pub fn kind(&self) -> FailureKind {
        match self {
            SessionError::Io(_) | SessionError::Request(_) => FailureKind::Local,
            SessionError::Connect(error) if error.raw_os_error() == Some(TOO_MANY_FILES) => {
                FailureKind::Local
            }
            SessionError::Connect(_) => FailureKind::Connection,
            SessionError::Refused { code, .. } => FailureKind::Refused(*code),
            SessionError::Elsewhere(_) => FailureKind::Refused(300),
            SessionError::Silent(_) | SessionError::Late(_) | SessionError::Timeout(_) => {
                FailureKind::Silence
            }
            SessionError::NothingPasses => FailureKind::NothingPasses,
            SessionError::Gone | SessionError::Lost | SessionError::Broken(_) => FailureKind::Lost,
        }
    }
}
