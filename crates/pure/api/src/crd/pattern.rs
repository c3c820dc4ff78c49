//! Patterns of names, as the definitions state them.

/// An API group; the core group is empty.
pub(crate) const GROUP: &str =
    r"^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// A kind, or another name in letters and digits.
pub(crate) const KIND: &str = r"^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$";
/// A DNS label, such as the name of a namespace.
pub(crate) const LABEL: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// A DNS subdomain.
pub(crate) const SUBDOMAIN: &str =
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// A user name or password in a manifest: the characters of an HTTP token (RFC 9110 §5.6.2).
pub(crate) const CREDENTIAL: &str = r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$";
