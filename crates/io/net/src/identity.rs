//! What a TLS or DTLS listener proves itself with: a certificate chain and its private key.

use std::fmt;
use std::sync::Arc;

use rustls::InconsistentKeys;
use rustls::crypto::ring;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Why a certificate and key cannot be used. The texts name no byte of either.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    #[error("the certificate holds no PEM block `CERTIFICATE`")]
    NoCertificate,
    #[error("the certificate is not valid PEM: {0}")]
    CertificatePem(&'static str),
    #[error("certificate {number} of the chain is not a valid X.509 certificate")]
    Certificate { number: usize },
    #[error("the key holds no PEM block `PRIVATE KEY`, `RSA PRIVATE KEY` or `EC PRIVATE KEY`")]
    NoKey,
    #[error("the private key is encrypted, which is not supported: store it without a passphrase")]
    EncryptedKey,
    #[error("the private key is not valid PEM: {0}")]
    KeyPem(&'static str),
    #[error(
        "the private key is damaged or of an unsupported kind (RSA from 2048 bits, P-256, P-384 and Ed25519 work)"
    )]
    Key,
    #[error("the private key does not belong to the certificate")]
    Mismatch,
    #[error("the private key belongs to certificate {number} of the chain: put that one first")]
    ChainOrder { number: usize },
    #[error("an Ed25519 key cannot serve DTLS: use an RSA, P-256 or P-384 certificate")]
    NotForDtls,
    #[error("the TLS library rejects the certificate: {0}")]
    Rejected(String),
}

/// A checked certificate chain (leaf first) with the key of its leaf.
#[derive(Clone)]
pub struct Identity {
    certified: Arc<CertifiedKey>,
    key: Arc<PrivateKeyDer<'static>>,
    not_before: i64,
    not_after: i64,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("certificates", &self.certified.cert.len())
            .field("key", &"<secret>")
            .field("not_after", &self.not_after)
            .finish()
    }
}

impl Identity {
    /// Reads a chain and a key (PKCS#8, PKCS#1 or SEC1) and checks that they fit each other.
    /// Dates are not checked: see [`not_after`](Self::not_after).
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, IdentityError> {
        let chain = read_chain(chain)?;
        let key = read_key(key)?;
        let mut validity = None;
        for (index, certificate) in chain.iter().enumerate() {
            let bad = IdentityError::Certificate { number: index + 1 };
            let (rest, parsed) =
                x509_parser::parse_x509_certificate(certificate).map_err(|_| bad.clone())?;
            if !rest.is_empty() {
                return Err(bad);
            }
            let dates = parsed.validity();
            validity.get_or_insert((dates.not_before.timestamp(), dates.not_after.timestamp()));
        }
        let (not_before, not_after) = validity.ok_or(IdentityError::NoCertificate)?;
        let certified = certify(chain, &key)?;
        Ok(Self {
            certified: Arc::new(certified),
            key: Arc::new(key),
            not_before,
            not_after,
        })
    }

    /// When the leaf certificate becomes valid, in seconds since 1970.
    #[must_use]
    pub fn not_before(&self) -> i64 {
        self.not_before
    }

    /// When the leaf certificate expires, in seconds since 1970.
    #[must_use]
    pub fn not_after(&self) -> i64 {
        self.not_after
    }

    pub(crate) fn certified(&self) -> &Arc<CertifiedKey> {
        &self.certified
    }

    pub(crate) fn chain(&self) -> &[CertificateDer<'static>] {
        &self.certified.cert
    }

    pub(crate) fn key(&self) -> &PrivateKeyDer<'static> {
        &self.key
    }
}

fn read_chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let chain = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| IdentityError::CertificatePem(describe(&error)))?;
    if chain.is_empty() {
        return Err(IdentityError::NoCertificate);
    }
    Ok(chain)
}

fn read_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, IdentityError> {
    const ENCRYPTED: [&[u8]; 2] = [b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED"];
    let encrypted = ENCRYPTED
        .iter()
        .any(|mark| pem.windows(mark.len()).any(|window| window == *mark));
    match PrivateKeyDer::from_pem_slice(pem) {
        Ok(key) if !encrypted => Ok(key),
        _ if encrypted => Err(IdentityError::EncryptedKey),
        Err(pem::Error::NoItemsFound) => Err(IdentityError::NoKey),
        Err(error) => Err(IdentityError::KeyPem(describe(&error))),
        Ok(_) => Err(IdentityError::Key),
    }
}

fn certify(
    chain: Vec<CertificateDer<'static>>,
    key: &PrivateKeyDer<'static>,
) -> Result<CertifiedKey, IdentityError> {
    let signer = ring::sign::any_supported_type(key).map_err(|_| IdentityError::Key)?;
    let certified = CertifiedKey::new(chain, signer);
    match certified.keys_match() {
        Ok(()) => Ok(certified),
        Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            // A chain in the wrong order is the usual cause; say so when it is.
            let owner = (1..certified.cert.len()).find(|index| {
                let one = vec![certified.cert[*index].clone()];
                CertifiedKey::new(one, certified.key.clone())
                    .keys_match()
                    .is_ok()
            });
            Err(
                owner.map_or(IdentityError::Mismatch, |index| IdentityError::ChainOrder {
                    number: index + 1,
                }),
            )
        }
        Err(error) => Err(IdentityError::Rejected(error.to_string())),
    }
}

fn describe(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a block has no `END` line",
        pem::Error::IllegalSectionStart { .. } => "a `BEGIN` line is malformed",
        pem::Error::Base64Decode(_) => "a block is not valid base64",
        pem::Error::SectionTooLarge => "a block is too large",
        _ => "it cannot be read",
    }
}
