//! Ports.

/// Config discovery in plain HTTP.
pub const CDS: u16 = 13478;
/// Config discovery over TLS.
pub const CDS_TLS: u16 = 13479;
/// `/healthz` and `/readyz` of the operator.
pub const OPERATOR_HEALTH: u16 = 8081;
/// Prometheus, of the operator and of dataplanes.
pub const METRICS: u16 = 8080;
/// `/live`, `/ready` and `/status` of dataplanes.
pub const HEALTH: u16 = 8086;
/// The authentication service.
pub const AUTH: u16 = 8088;
/// The admin API of dataplanes, on loopback.
pub const ADMIN: u16 = 8087;
/// The web console.
pub const CONSOLE: u16 = 8090;
