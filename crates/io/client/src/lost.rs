//! Why an allocation is over.

use std::net::SocketAddr;

use thiserror::Error;

/// What ended an allocation, or is about to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Lost {
    /// 437: the server no longer knows the allocation; it was ended there, or the server restarted.
    #[error("the server no longer knows the allocation (437)")]
    AllocationMismatch,
    /// 300 for a Refresh: the server wants its clients elsewhere. Packets still pass until the allocation's lifetime
    /// ends, so that a new allocation can be made first.
    #[error("the server is draining{}", elsewhere(.alternate))]
    Draining {
        /// ALTERNATE-SERVER, where one was named.
        alternate: Option<SocketAddr>,
        /// ALTERNATE-DOMAIN: the name to check the other server's certificate against.
        domain: Option<String>,
    },
    /// A Refresh was refused for good, as after a change of credentials. Packets pass until the lifetime ends.
    #[error("the server refused to extend the allocation: {code} {reason}")]
    RefreshRefused {
        /// ERROR-CODE.
        code: u16,
        /// The server's reason phrase.
        reason: String,
    },
    /// No Refresh was answered within the lifetime.
    #[error("the allocation expired: the server answered no refresh")]
    Expired,
    /// The host of the server says that nothing listens there any more.
    #[error("the server is gone: its host refuses packets")]
    ServerGone,
    /// The server answers nothing any more, not even requests, though we send.
    #[error("the server no longer answers")]
    Silent,
    /// The server closed the connection, or it broke.
    #[error("the connection to the server was closed")]
    Closed,
    /// We ended it.
    #[error("the allocation was released")]
    Released,
}

impl Lost {
    /// Whether packets still pass for a while.
    pub fn still_relays(&self) -> bool {
        matches!(self, Lost::Draining { .. } | Lost::RefreshRefused { .. })
    }
}

fn elsewhere(alternate: &Option<SocketAddr>) -> String {
    alternate.map_or_else(String::new, |server| format!(" and names {server}"))
}
