//! Reasons of conditions; the Gateway API's own wherever it has one.

pub const ACCEPTED: &str = "Accepted";
pub const PENDING: &str = "Pending";
pub const INVALID: &str = "Invalid";

// GatewayClass and Gateway.
pub const INVALID_PARAMETERS: &str = "InvalidParameters";
pub const SUPPORTED_VERSION: &str = "SupportedVersion";
pub const UNSUPPORTED_VERSION: &str = "UnsupportedVersion";
pub const PROGRAMMED: &str = "Programmed";
pub const ADDRESS_NOT_ASSIGNED: &str = "AddressNotAssigned";
pub const ADDRESS_NOT_USABLE: &str = "AddressNotUsable";
pub const UNSUPPORTED_ADDRESS: &str = "UnsupportedAddress";
pub const LISTENERS_NOT_VALID: &str = "ListenersNotValid";
pub const NO_RESOURCES: &str = "NoResources";

// Listeners.
pub const NO_CONFLICTS: &str = "NoConflicts";
pub const PROTOCOL_CONFLICT: &str = "ProtocolConflict";
pub const HOSTNAME_CONFLICT: &str = "HostnameConflict";
pub const PORT_UNAVAILABLE: &str = "PortUnavailable";
pub const UNSUPPORTED_PROTOCOL: &str = "UnsupportedProtocol";
pub const UNSUPPORTED_VALUE: &str = "UnsupportedValue";
pub const INVALID_CERTIFICATE_REF: &str = "InvalidCertificateRef";
pub const INVALID_ROUTE_KINDS: &str = "InvalidRouteKinds";
pub const RESOLVED_REFS: &str = "ResolvedRefs";
pub const REF_NOT_PERMITTED: &str = "RefNotPermitted";

// Routes.
pub const NO_MATCHING_PARENT: &str = "NoMatchingParent";
pub const NOT_ALLOWED_BY_LISTENERS: &str = "NotAllowedByListeners";
pub const INVALID_KIND: &str = "InvalidKind";
pub const BACKEND_NOT_FOUND: &str = "BackendNotFound";
