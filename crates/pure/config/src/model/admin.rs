//! `admin`: the process as a whole.

use std::fmt;

use super::{HttpEndpoint, PortRange, defaults};

/// Settings of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    /// Identity of the gateway, `<namespace>/<name>` when an operator writes it.
    pub name: String,
    /// Log specification, `scope:LEVEL` items separated by commas.
    pub loglevel: String,
    /// Where metrics are served; `None` is off.
    pub metrics_endpoint: Option<HttpEndpoint>,
    /// Where health and status are served; `None` is off.
    pub healthcheck_endpoint: Option<HttpEndpoint>,
    /// Simultaneous allocations per user id; 0 is unlimited.
    pub user_quota: u32,
    pub offload_engine: OffloadEngine,
    /// Sorted; empty means all interfaces.
    pub offload_interfaces: Vec<String>,
    pub license: Option<License>,
    /// Ports that relay sockets take; `None` leaves the choice to the kernel.
    pub relay_port_range: Option<PortRange>,
}

impl Default for Admin {
    fn default() -> Self {
        Admin {
            name: defaults::ADMIN_NAME.to_owned(),
            loglevel: defaults::LOGLEVEL.to_owned(),
            metrics_endpoint: None,
            healthcheck_endpoint: Some(HttpEndpoint::default_health()),
            user_quota: 0,
            offload_engine: OffloadEngine::None,
            offload_interfaces: Vec::new(),
            license: None,
            relay_port_range: None,
        }
    }
}

/// Kernel offload that the configuration asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OffloadEngine {
    None,
    Xdp,
    Tc,
    Auto,
}

impl OffloadEngine {
    pub fn as_str(self) -> &'static str {
        match self {
            OffloadEngine::None => "None",
            OffloadEngine::Xdp => "XDP",
            OffloadEngine::Tc => "TC",
            OffloadEngine::Auto => "Auto",
        }
    }
}

/// Licence data of the Go system: carried, never judged.
#[derive(Clone, PartialEq, Eq)]
pub struct License {
    pub key: String,
    pub hmac: String,
}

impl fmt::Debug for License {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("License(<SECRET>)")
    }
}
