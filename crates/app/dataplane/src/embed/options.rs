//! What an embedding program may say about a dataplane.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use stunner_config::PortRange;
use stunner_telemetry::logging::LogHandle;

use super::Host;

/// The settings of one dataplane, apart from its configuration.
#[derive(Debug, Clone)]
pub struct Options {
    /// Names the dataplane, `namespace/gateway`: in readiness messages and until a configuration is there.
    pub id: String,
    /// Shards, at most as many as CPUs are granted; 0 means one per CPU.
    pub threads: u32,
    /// What all dataplanes of the process share. Each must be given a clone of the same one.
    pub host: Host,
    /// The address of this host that listeners bind, or one of each family, of which one may be missing on this host;
    /// none means all of its addresses.
    pub listen_addresses: Vec<IpAddr>,
    /// Overrules the config's range.
    pub relay_port_range: Option<PortRange>,
    pub allow_loopback_peers: bool,
    pub credential_grace: Duration,
    pub max_ephemeral_lifetime: Option<Duration>,
    pub alternate_server: Option<SocketAddr>,
    /// For this and the following two, `None` means no limit.
    pub unauth_rate_limit: Option<u32>,
    pub max_connections_per_source: Option<u32>,
    pub max_handshakes: Option<u32>,
    /// An allocation without traffic for this long does not hold a drain.
    pub stale_allocation_timeout: Duration,
    pub ready_while_draining: bool,
    /// Says ready whatever the truth.
    pub force_ready: bool,
    /// Reads configurations but opens nothing.
    pub dry_run: bool,
    /// The logger whose level follows the configuration; without one, the level is left alone.
    pub log: Option<LogHandle>,
    /// Overrules the config's log level.
    pub log_spec: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            id: stunner_config::defaults::ADMIN_NAME.to_owned(),
            threads: 0,
            host: Host::default(),
            listen_addresses: Vec::new(),
            relay_port_range: None,
            allow_loopback_peers: false,
            credential_grace: Duration::ZERO,
            max_ephemeral_lifetime: None,
            alternate_server: None,
            unauth_rate_limit: Some(defaults::UNAUTH_RATE_LIMIT),
            max_connections_per_source: Some(defaults::MAX_CONNECTIONS_PER_SOURCE),
            max_handshakes: Some(defaults::MAX_HANDSHAKES),
            stale_allocation_timeout: defaults::STALE_ALLOCATION_TIMEOUT,
            ready_while_draining: false,
            force_ready: false,
            dry_run: false,
            log: None,
            log_spec: None,
        }
    }
}

/// The same for `stunnerd` and for embedded dataplanes.
pub mod defaults {
    use std::time::Duration;

    pub const UNAUTH_RATE_LIMIT: u32 = 1000;
    pub const MAX_CONNECTIONS_PER_SOURCE: u32 = 4096;
    pub const MAX_HANDSHAKES: u32 = 100;
    pub const STALE_ALLOCATION_TIMEOUT: Duration = Duration::from_secs(60);
}
