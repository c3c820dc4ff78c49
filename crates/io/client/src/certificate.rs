//! What a TLS or DTLS server shows, and what is wrong with it.

use std::time::SystemTime;

use thiserror::Error;

use crate::{ClientError, Connect};

/// Why a chain is not to be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CertificateFault {
    /// A certificate's time is over.
    #[error("it expired")]
    Expired,
    /// A certificate's time has not come.
    #[error("it is not valid yet")]
    NotYetValid,
    /// The server signed its certificate itself.
    #[error("it is self-signed")]
    SelfSigned,
    /// The chain ends in an authority that is not trusted here, or lacks a link.
    #[error("its issuer is not trusted")]
    UnknownIssuer,
    /// It was made out to others.
    #[error("it is not made out to `{expected}`")]
    WrongName {
        /// The name or address that was asked for.
        expected: String,
    },
    /// Anything else, in OpenSSL's words.
    #[error("{0}")]
    Other(String),
}

impl CertificateFault {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            CertificateFault::Expired => "renew the certificate in the Secret of the listener",
            CertificateFault::NotYetValid => "check the clocks of this host and of the issuer",
            CertificateFault::SelfSigned | CertificateFault::UnknownIssuer => {
                "trust the issuer through SSL_CERT_FILE, or take any certificate with --insecure"
            }
            CertificateFault::WrongName { .. } => {
                "connect by a name that the certificate has, or give that name with --sni"
            }
            CertificateFault::Other(_) => "check the certificate chain that the server shows",
        }
        .to_owned()
    }
}

/// One certificate of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificate {
    /// The subject, as `CN=example.org, O=Example`.
    pub subject: String,
    /// The issuer, in the same form.
    pub issuer: String,
    /// DNS names and IP addresses it is made out to.
    pub names: Vec<String>,
    /// When it begins to be valid.
    pub not_before: SystemTime,
    /// When it expires.
    pub not_after: SystemTime,
}

/// What a server showed and what it is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerCertificates {
    /// The server's own certificate first.
    pub chain: Vec<PeerCertificate>,
    /// Whether a client that checks would go on.
    pub verdict: Result<(), CertificateFault>,
    /// The protocol version, such as `TLSv1.3`.
    pub protocol: String,
}

/// Makes a handshake only to see the certificates; takes any, and says what is wrong with them.
pub async fn inspect_certificate(connect: Connect) -> Result<ServerCertificates, ClientError> {
    Err(crate::probe::unfinished(&connect))
}
