//! The guest of a test, on the way to the policy.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::oneshot;

/// A user for a minute who reaches one peer. `Debug` masks the password.
#[derive(Clone)]
pub struct Visitor {
    pub username: Arc<str>,
    pub password: Arc<str>,
    /// The last second, in UNIX time, in which an allocation may be made.
    pub expires: u64,
    pub peer: SocketAddr,
}

/// All visitors there are from now on, and whom to tell when the policy knows.
#[derive(Debug)]
pub struct Visitors {
    pub all: Vec<Visitor>,
    pub done: oneshot::Sender<()>,
}

impl fmt::Debug for Visitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visitor")
            .field("username", &self.username)
            .field("expires", &self.expires)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}
