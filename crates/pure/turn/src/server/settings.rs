//! Fixed limits and lifetimes of a server.

/// Shortest and default allocation lifetime in seconds (RFC 8656 §3.2).
pub const DEFAULT_LIFETIME: u32 = 600;
/// Longest allocation lifetime in seconds that a client gets (RFC 8656 §7.2 recommends one hour).
pub const MAX_LIFETIME: u32 = 3600;
/// How long a permission lasts (RFC 8656 §9), in milliseconds.
pub const PERMISSION_LIFETIME_MS: u64 = 300_000;
/// How long a channel binding lasts (RFC 8656 §12), in milliseconds.
pub const CHANNEL_LIFETIME_MS: u64 = 600_000;
/// How long a peer connection may take to be made, and then to be bound (RFC 6062 §5.2), in milliseconds.
pub const CONNECTION_TIMEOUT_MS: u64 = 30_000;
/// How long a nonce is good for, in seconds.
pub const NONCE_LIFETIME: u64 = 3600;
/// How long a guest's allocation may outlive the guest, in seconds: what was begun in the last second may be finished.
pub const GUEST_GRACE: u64 = 60;
/// The longest datagram that can leave for a peer.
pub const MAX_PEER_DATAGRAM: usize = 65_507;

/// Limits of one server. They bound the memory that an authenticated client can take.
#[derive(Debug, Clone)]
pub struct Settings {
    /// SOFTWARE attribute of authenticated answers; empty leaves it out.
    pub software: String,
    /// Permissions of one allocation; more get 508.
    pub max_permissions: usize,
    /// Channels of one allocation; more get 508.
    pub max_channels: usize,
    /// Peer connections of one TCP allocation (RFC 6062), in all states; more get 508.
    pub max_connections: usize,
    /// Number of servers that share the listeners. A ConnectionBind for a connection of another one is forwarded.
    pub shards: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            software: String::new(),
            max_permissions: 1024,
            max_channels: 1024,
            max_connections: 256,
            shards: 1,
        }
    }
}
