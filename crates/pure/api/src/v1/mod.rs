//! Our custom resources, `stunner.l7mp.io/v1`.
//!
//! The documentation comments of the specs are the descriptions that `kubectl explain` shows.

mod dataplane;
mod gateway_config;
mod static_service;
mod udp_route;

pub use dataplane::{Dataplane, DataplaneSpec};
pub use gateway_config::{GatewayConfig, GatewayConfigSpec};
pub use static_service::{StaticService, StaticServiceSpec};
pub use udp_route::{UdpRoute, UdpRouteRule, UdpRouteSpec};

pub use crate::gateway::{BackendRef, ParentRef, RouteParentStatus, RouteStatus, SecretRef};
