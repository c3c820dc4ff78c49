//! `auth`: who may allocate.

use std::fmt;

use super::defaults::MASK;

/// How clients authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auth {
    pub realm: String,
    pub method: AuthMethod,
    /// Default lifetime in seconds of credentials that an auth service hands out. The dataplane does not use it.
    pub lifetime: Option<u64>,
}

/// The credential mechanism with its secrets. `Debug` masks them.
#[derive(Clone, PartialEq, Eq)]
pub enum AuthMethod {
    /// One user name and password for everybody.
    Static { username: String, password: String },
    /// Time-limited user names, passwords derived from a shared secret.
    Ephemeral { secret: String },
    /// No TURN at all: STUN Binding only.
    None,
}

impl AuthMethod {
    /// The `auth.type` spelling of schema `v1`.
    pub fn as_str(&self) -> &'static str {
        match self {
            AuthMethod::Static { .. } => "static",
            AuthMethod::Ephemeral { .. } => "ephemeral",
            AuthMethod::None => "none",
        }
    }
}

impl fmt::Debug for AuthMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuthMethod::Static { .. } => f
                .debug_struct("Static")
                .field("username", &MASK)
                .field("password", &MASK)
                .finish(),
            AuthMethod::Ephemeral { .. } => {
                f.debug_struct("Ephemeral").field("secret", &MASK).finish()
            }
            AuthMethod::None => f.write_str("None"),
        }
    }
}
