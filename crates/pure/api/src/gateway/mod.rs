//! The Gateway API as far as it is used: `gateway.networking.k8s.io`.
//!
//! GatewayClass and Gateway are read as `v1`. Official routes and ReferenceGrants come in several
//! versions with the same fields; which one a cluster serves is found at run time, so these types
//! know neither kind nor version by themselves.

mod class;
mod grant;
mod listener;
mod route;
mod spec;
mod status;

pub use class::{
    GatewayClass, GatewayClassSpec, GatewayClassStatus, ParametersRef, SupportedFeature,
};
pub use grant::{ReferenceGrant, ReferenceGrantFrom, ReferenceGrantSpec, ReferenceGrantTo};
pub use listener::{
    AllowedRoutes, Listener, ListenerTls, RouteGroupKind, RouteNamespaces, SecretRef,
};
pub use route::{
    BackendRef, L4Route, L4RouteRule, L4RouteSpec, ParentRef, RouteParentStatus, RouteStatus,
};
pub use spec::{Gateway, GatewayAddress, GatewaySpec, Infrastructure, LocalParametersRef};
pub use status::{GatewayStatus, GatewayStatusAddress, ListenerStatus};
