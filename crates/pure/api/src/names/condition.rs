//! Condition types of the Gateway API.

pub const ACCEPTED: &str = "Accepted";
pub const PROGRAMMED: &str = "Programmed";
pub const CONFLICTED: &str = "Conflicted";
pub const RESOLVED_REFS: &str = "ResolvedRefs";
pub const SUPPORTED_VERSION: &str = "SupportedVersion";

/// `status` of a condition.
pub const TRUE: &str = "True";
pub const FALSE: &str = "False";
pub const UNKNOWN: &str = "Unknown";
