//! What all shards share: control-path resources that must be exact across shards.
//!
//! Nothing here is touched by a relayed packet. A shard takes these locks only when an allocation
//! begins or ends, or when a connection is accepted.

mod quota;
mod relay_ports;
mod sources;

pub use quota::UserQuota;
pub use relay_ports::RelayPortPool;
pub use sources::SourceTable;

use std::sync::{Arc, OnceLock};

use crate::journal::Journal;
use crate::shard::ShardHandle;

/// Everything that shards share.
#[derive(Debug)]
pub struct Shared {
    /// Nonce key and rate limits of the TURN servers.
    pub turn: Arc<stunner_turn::server::Shared>,
    pub quota: UserQuota,
    pub relay_ports: RelayPortPool,
    /// Connections per source.
    pub connections: SourceTable,
    /// Unfinished TLS and DTLS handshakes per source.
    pub handshakes: SourceTable,
    pub journal: Journal,
    /// An allocation without traffic for this long does not hold a drain.
    pub stale_after_millis: u64,
    /// Set once, after all shards have started.
    pub shards: OnceLock<Vec<ShardHandle>>,
}

impl Shared {
    pub fn shard(&self, index: u8) -> Option<&ShardHandle> {
        self.shards.get()?.get(usize::from(index))
    }
}
