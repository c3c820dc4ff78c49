//! Whose certificate a discovery service may show.
//!
//! Chains are judged by webpki. It refuses one thing that other programs accept and that small installations do: a
//! self-signed certificate that is in the root file itself and that `openssl req -x509` marked as a CA.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// The system's roots (those of `SSL_CERT_FILE` and `SSL_CERT_DIR` where set), and those of `ca_file`.
pub(crate) fn roots(ca_file: Option<&Path>) -> io::Result<Vec<CertificateDer<'static>>> {
    let native = rustls_native_certs::load_native_certs();
    for error in native.errors {
        tracing::debug!(
            scope = crate::interpret::CDS_SCOPE,
            "root certificates: {error}"
        );
    }
    let mut roots = native.certs;
    if let Some(path) = ca_file {
        let explain = |error: &dyn std::fmt::Display| {
            io::Error::other(format!("`{}`: {error}", path.display()))
        };
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| explain(&error))? {
            roots.push(certificate.map_err(|error| explain(&error))?);
        }
    }
    Ok(roots)
}

/// Believes chains that end in a root, and the roots themselves.
#[derive(Debug)]
pub(crate) struct Verifier {
    chains: Arc<WebPkiServerVerifier>,
    roots: Vec<CertificateDer<'static>>,
}

impl Verifier {
    pub(crate) fn new(
        roots: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> io::Result<Verifier> {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(roots.iter().cloned());
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider)
            .build()
            .map_err(io::Error::other)?;
        Ok(Verifier { chains, roots })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict = self.chains.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verdict {
            // A CA in the place of a server. Its dates were looked at before, and have errors of their own.
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if self.roots.iter().any(|root| root == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}
