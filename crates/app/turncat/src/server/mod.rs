//! The TURN server in the middle: how it is written on the command line ([`ServerEnd`]), where it is and how to log in
//! there ([`Target`]), and how a Gateway's configuration, found by [`Discovery`], leads to both ([`gateway`]).

mod discovery;
mod end;
pub mod gateway;
mod login;

use stunner_client::ServerUri;
use stunner_credentials::Secret;

pub use discovery::{Discovery, DiscoveryError};
pub use end::{GatewayListener, ServerEnd, ServerEndError};
pub use login::Login;

/// A server to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Where it is; credentials that were written in it are in `login`.
    pub uri: ServerUri,
    pub login: Login,
}

impl Target {
    /// The server of a URI. `secret` mints credentials for the URI's user, unless the URI has a password.
    pub fn of_uri(uri: &ServerUri, secret: Option<&Secret>) -> Target {
        let (user, password) = uri.credentials.clone().unwrap_or_default();
        let login = match secret {
            Some(secret) if password.is_empty() => Login::Ephemeral {
                secret: secret.clone(),
                user: (!user.is_empty()).then_some(user),
            },
            _ if uri.credentials.is_some() => Login::Password {
                username: user,
                password: password.into(),
            },
            _ => Login::Anonymous,
        };
        Target {
            uri: ServerUri {
                credentials: None,
                ..uri.clone()
            },
            login,
        }
    }
}
