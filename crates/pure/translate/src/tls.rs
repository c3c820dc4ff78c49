//! Certificates of TLS and DTLS listeners.
//!
//! A listener takes the first Secret of `certificateRefs` that can be used, which means what the dataplane means by it:
//! PEM that parses and a key that belongs to the certificate. A config with a bad pair would be refused as a whole.

use k8s_openapi::api::core::v1::Secret;
use rustls::SignatureAlgorithm;
use rustls::crypto::ring;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use stunner_api::NamespacedName;
use stunner_api::gateway::{ListenerTls, SecretRef};
use stunner_api::names;
use stunner_config::Protocol;
use x509_parser::x509::X509Version;

use crate::grants::{Permission, Referent, Referrer, permitted};
use crate::last_good::Certificate;
use crate::secret;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

/// Keys of a Secret that may hold the certificate and the private key, best first.
const CERTIFICATE_KEYS: &[&str] = &["tls.crt", "crt", "cert"];
const PRIVATE_KEY_KEYS: &[&str] = &["tls.key", "key"];

/// Why a Secret gives no certificate. The texts name no byte of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    #[error(
        "the reference must be to a Secret of the core API group; leave out `group` and `kind`"
    )]
    NotASecret,
    #[error("no ReferenceGrant in that namespace permits it; add one")]
    NotPermitted,
    #[error("it does not exist; create it")]
    Missing,
    #[error("it has no key `tls.crt`; add it")]
    NoCertificate,
    #[error("it has no key `tls.key`; add it")]
    NoKey,
    #[error("its certificate is not a chain of X.509 certificates in PEM; replace it")]
    BadCertificate,
    #[error(
        "its certificate is of X.509 version 1, which TLS libraries refuse; issue it as version 3"
    )]
    Version1,
    #[error(
        "its private key cannot be read; use an unencrypted PEM key (RSA from 2048 bits, P-256, P-384 or Ed25519)"
    )]
    BadKey,
    #[error(
        "its private key does not belong to its first certificate; put the server's own certificate first, or replace the key"
    )]
    Mismatch,
    #[error("an Ed25519 key cannot serve DTLS; use RSA, P-256 or P-384")]
    NotForDtls,
}

/// A certificate for a listener, and sentences about it.
#[derive(Debug)]
pub(crate) struct Usable {
    pub(crate) certificate: Certificate,
    /// References before it that cannot be used, and a reference that no ReferenceGrant covers.
    pub(crate) notices: Vec<String>,
}

/// Why no reference of a listener gives a certificate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unusable {
    /// A sentence for each reference.
    pub(crate) why: String,
    /// The first thing to do is a ReferenceGrant.
    pub(crate) not_permitted: bool,
}

/// The certificate of a listener of a Gateway in `namespace`.
pub(crate) fn certificate(
    snapshot: &Snapshot,
    settings: &Settings,
    namespace: &str,
    protocol: Protocol,
    tls: Option<&ListenerTls>,
) -> Result<Usable, Unusable> {
    let references = tls.map_or(&[] as &[_], |tls| &tls.certificate_refs);
    if references.is_empty() {
        return Err(Unusable {
            why: format!(
                "A listener with protocol {protocol} needs a certificate; name a Secret in `tls.certificateRefs`."
            ),
            not_permitted: false,
        });
    }
    let mut refused = Vec::new();
    let mut not_permitted = false;
    for reference in references {
        let name = secret::name(reference, namespace);
        match one(snapshot, settings, namespace, protocol, reference, &name) {
            Ok((certificate, notice)) => {
                refused.extend(notice);
                return Ok(Usable {
                    certificate,
                    notices: refused,
                });
            }
            Err(error) => {
                not_permitted |= refused.is_empty() && error == CertificateError::NotPermitted;
                refused.push(format!("The Secret {name} cannot be used: {error}."));
            }
        }
    }
    Err(Unusable {
        why: refused.join(" "),
        not_permitted,
    })
}

fn one(
    snapshot: &Snapshot,
    settings: &Settings,
    namespace: &str,
    protocol: Protocol,
    reference: &SecretRef,
    name: &NamespacedName,
) -> Result<(Certificate, Option<String>), CertificateError> {
    if !secret::is_secret(reference) {
        return Err(CertificateError::NotASecret);
    }
    let from = Referrer {
        group: names::GATEWAY_GROUP,
        kind: names::GATEWAY_KIND,
        namespace,
    };
    let notice = match permitted(snapshot, settings, from, Referent::secret(name)) {
        Permission::Yes => None,
        Permission::OnlyBecauseAllowed => Some(format!(
            "The Secret {name} is used without a ReferenceGrant, which `--reference-grants=enforce` would refuse."
        )),
        Permission::No => return Err(CertificateError::NotPermitted),
    };
    let secret = snapshot
        .secrets
        .get(name)
        .ok_or(CertificateError::Missing)?;
    Ok((read(secret, protocol)?, notice))
}

/// What keeps a Secret from giving a listener of that protocol a certificate.
pub fn certificate_problem(secret: &Secret, protocol: Protocol) -> Option<CertificateError> {
    read(secret, protocol).err()
}

fn read(secret: &Secret, protocol: Protocol) -> Result<Certificate, CertificateError> {
    let cert = first(secret, CERTIFICATE_KEYS).ok_or(CertificateError::NoCertificate)?;
    let key = first(secret, PRIVATE_KEY_KEYS).ok_or(CertificateError::NoKey)?;
    check(&cert, &key, protocol)?;
    Ok(Certificate {
        cert: pem_text(cert, CertificateError::BadCertificate)?,
        key: pem_text(key, CertificateError::BadKey)?,
    })
}

fn pem_text(bytes: Vec<u8>, error: CertificateError) -> Result<String, CertificateError> {
    String::from_utf8(bytes).map_err(|_| error)
}

fn first(secret: &Secret, keys: &[&str]) -> Option<Vec<u8>> {
    keys.iter()
        .filter_map(|key| secret::value(secret, key))
        .find(|value| !value.is_empty())
}

/// Whether a certificate that served before serves a listener as it is now.
pub(crate) fn serves(certificate: &Certificate, protocol: Protocol) -> bool {
    let (cert, key) = (certificate.cert.as_bytes(), certificate.key.as_bytes());
    check(cert, key, protocol).is_ok()
}

fn check(cert: &[u8], key: &[u8], protocol: Protocol) -> Result<(), CertificateError> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(cert)
        .collect::<Result<_, _>>()
        .map_err(|_| CertificateError::BadCertificate)?;
    let mut versions = Vec::new();
    for certificate in &chain {
        match x509_parser::parse_x509_certificate(certificate) {
            Ok(([], parsed)) => versions.push(parsed.version()),
            _ => return Err(CertificateError::BadCertificate),
        }
    }
    match versions.first() {
        None => return Err(CertificateError::BadCertificate),
        Some(&X509Version::V1) => return Err(CertificateError::Version1),
        Some(_) => {}
    }
    // The dataplane does not look for another key behind one that it has no password for.
    if String::from_utf8_lossy(key).contains("ENCRYPTED") {
        return Err(CertificateError::BadKey);
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| CertificateError::BadKey)?;
    let signer = ring::sign::any_supported_type(&key).map_err(|_| CertificateError::BadKey)?;
    if protocol == Protocol::TurnDtls && signer.algorithm() == SignatureAlgorithm::ED25519 {
        return Err(CertificateError::NotForDtls);
    }
    match CertifiedKey::new(chain, signer).keys_match() {
        Ok(()) => Ok(()),
        Err(rustls::Error::InconsistentKeys(_)) => Err(CertificateError::Mismatch),
        Err(_) => Err(CertificateError::BadCertificate),
    }
}

#[cfg(test)]
pub(crate) mod tests;
