//! The server to go to when nothing is left of the one that was asked for.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

/// A server that another one names in its place.
#[derive(Debug, Clone)]
pub(super) struct Alternate {
    pub(super) server: SocketAddr,
    /// The name that its certificate is made out to, where it was told.
    pub(super) domain: Option<String>,
}

/// Where a server that drains sent us last.
#[derive(Debug, Default)]
pub(super) struct LastAlternate(Mutex<Option<Alternate>>);

impl LastAlternate {
    pub(super) fn recall(&self) -> Option<Alternate> {
        let alternate = self.0.lock();
        alternate.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn remember(&self, alternate: Option<Alternate>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = alternate;
    }
}
