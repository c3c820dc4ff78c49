//! What all sessions of a listener share.

use std::fmt;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{Accepted, NoServerSessionStorage};
use rustls::sign::SingleCertAndKey;

use super::{ALPN_TURN, TlsSession};
use crate::identity::{Identity, IdentityError};

/// The TLS configuration of a listener. A new certificate means a new acceptor; sessions made by
/// the old one live on.
#[derive(Clone)]
pub struct TlsAcceptor {
    /// For clients that offer [`ALPN_TURN`].
    turn: Arc<ServerConfig>,
    /// For all others. With protocols configured, rustls refuses clients that offer only others;
    /// such clients are out there and RFC 7443 §3 gives no reason to turn them away.
    plain: Arc<ServerConfig>,
}

impl fmt::Debug for TlsAcceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsAcceptor").finish_non_exhaustive()
    }
}

impl TlsAcceptor {
    pub fn new(identity: &Identity) -> Result<Self, IdentityError> {
        let rejected = |error: rustls::Error| IdentityError::Rejected(error.to_string());
        // The provider is named, never the process default: that one depends on what else is
        // linked in.
        let mut plain = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(rejected)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(
                identity.certified().clone(),
            )));
        // Resumption is by tickets, which cost the server no memory.
        plain.session_storage = Arc::new(NoServerSessionStorage {});
        plain.ticketer = ring::Ticketer::new().map_err(rejected)?;
        plain.send_tls13_tickets = 1;
        let mut turn = plain.clone();
        turn.alpn_protocols = vec![ALPN_TURN.to_vec()];
        Ok(Self {
            turn: Arc::new(turn),
            plain: Arc::new(plain),
        })
    }

    /// A session for a connection that was just accepted.
    #[must_use]
    pub fn session(&self) -> TlsSession {
        TlsSession::new(self.clone())
    }

    /// The configuration that fits what the client offered.
    pub(super) fn config_for(&self, accepted: &Accepted) -> Arc<ServerConfig> {
        let offers_turn = accepted
            .client_hello()
            .alpn()
            .is_some_and(|mut offered| offered.any(|protocol| protocol == ALPN_TURN));
        if offers_turn { &self.turn } else { &self.plain }.clone()
    }
}
