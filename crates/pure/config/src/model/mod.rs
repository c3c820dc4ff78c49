//! The validated configuration: every value parsed, defaulted and in its normal form.

mod admin;
mod auth;
mod cluster;
mod endpoint;
mod http;
mod listener;

pub use admin::{Admin, License, OffloadEngine};
pub use auth::{Auth, AuthMethod};
pub use cluster::{Cluster, ClusterKind, PeerTransport};
pub use endpoint::{DnsEndpoint, Endpoint, EndpointError, PortRange, PortRangeError};
pub use http::{HttpEndpoint, HttpEndpointError, HttpHost};
pub use listener::{Listener, Pem, Protocol, RelayAddresses, SecretPem};

/// Values that a configuration gets where its text says nothing.
pub mod defaults {
    pub const ADMIN_NAME: &str = "default-stunnerd";
    pub const LOGLEVEL: &str = "all:INFO";
    pub const REALM: &str = "stunner.l7mp.io";
    pub const LISTENER_ADDRESS: &str = "0.0.0.0";
    pub const TURN_PORT: u16 = 3478;
    /// Default port of `turns:` URIs and of the TLS and DTLS forms of `turn:` URIs.
    pub const TURNS_PORT: u16 = 443;
    pub const HEALTHCHECK_ENDPOINT: &str = "http://:8086";
    pub const HEALTHCHECK_PORT: u16 = 8086;
    pub const METRICS_PORT: u16 = 8080;
    /// Credentials of a configuration that stands for "there is none".
    pub const DUMMY_USERNAME: &str = "dummy-username";
    pub const DUMMY_PASSWORD: &str = "dummy-password";
    /// How secret values read in logs and status documents.
    pub const MASK: &str = "<SECRET>";
}

/// Schema versions that can be read. The model itself always speaks [`ApiVersion::V1`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApiVersion {
    V1,
    V1Alpha1,
}

impl ApiVersion {
    pub fn as_str(self) -> &'static str {
        match self {
            ApiVersion::V1 => "v1",
            ApiVersion::V1Alpha1 => "v1alpha1",
        }
    }
}

/// A complete dataplane configuration.
///
/// `Debug` and `Display` mask every secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub admin: Admin,
    pub auth: Auth,
    pub listeners: Vec<Listener>,
    pub clusters: Vec<Cluster>,
}

impl Config {
    pub fn listener(&self, name: &str) -> Option<&Listener> {
        self.listeners.iter().find(|listener| listener.name == name)
    }

    pub fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters.iter().find(|cluster| cluster.name == name)
    }
}
