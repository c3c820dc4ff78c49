//! The certificate a server shows, which can be exchanged while it runs.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Why a certificate cannot be shown. Says nothing of the key's content.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("the certificate chain is no PEM text with certificates")]
    Chain,
    #[error("the private key is no PEM text with a key")]
    Key,
    #[error("the certificate and its key cannot be used together")]
    Pair(#[source] rustls::Error),
}

/// The certificate of one or several servers. New handshakes see the newest one; connections that are open go on.
#[derive(Clone)]
pub struct LiveCertificate {
    current: Arc<Slot>,
}

struct Slot(ArcSwap<CertifiedKey>);

impl LiveCertificate {
    /// Reads a chain, the server's certificate first, and its key.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<LiveCertificate, CertificateError> {
        let slot = Slot(ArcSwap::from_pointee(read(chain, key)?));
        Ok(LiveCertificate {
            current: Arc::new(slot),
        })
    }

    /// Shows another certificate from now on; if it is not usable, the old one stays.
    pub fn replace(&self, chain: &[u8], key: &[u8]) -> Result<(), CertificateError> {
        self.current.0.store(Arc::new(read(chain, key)?));
        Ok(())
    }

    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, rustls::Error> {
        // The provider is named: another crate in the build may bring a second one, and then there is no default.
        let provider = Arc::new(ring::default_provider());
        let resolver: Arc<dyn ResolvesServerCert> = self.current.clone();
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

impl fmt::Debug for LiveCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveCertificate").finish_non_exhaustive()
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

impl ResolvesServerCert for Slot {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

fn read(chain: &[u8], key: &[u8]) -> Result<CertifiedKey, CertificateError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<_, _>>()
        .map_err(|_| CertificateError::Chain)?;
    if chain.is_empty() {
        return Err(CertificateError::Chain);
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| CertificateError::Key)?;
    CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(CertificateError::Pair)
}
