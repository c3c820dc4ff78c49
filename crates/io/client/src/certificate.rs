//! What a TLS or DTLS server shows, and what is wrong with it.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, SystemTime};

use openssl::asn1::{Asn1Time, Asn1TimeRef};
use openssl::x509::{X509NameRef, X509Ref, X509StoreContextRef};
use thiserror::Error;

use crate::link::{Security, shake};
use crate::{ClientError, Connect};

/// Why a chain is not to be trusted; the most telling first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum CertificateFault {
    /// A certificate's time is over.
    #[error("`{subject}` expired on {since}")]
    Expired {
        /// Whose certificate.
        subject: String,
        /// Its last moment.
        since: String,
    },
    /// A certificate's time has not come.
    #[error("`{subject}` is not valid before {from}")]
    NotYetValid {
        /// Whose certificate.
        subject: String,
        /// Its first moment.
        from: String,
    },
    /// It was made out to others.
    #[error("it is not made out to `{expected}` but to {}", listed(.names))]
    WrongName {
        /// The name or address that was asked for.
        expected: String,
        /// The names and addresses it has.
        names: Vec<String>,
    },
    /// The server signed its certificate itself.
    #[error("it is self-signed")]
    SelfSigned,
    /// The chain ends in an authority that is not trusted here, or lacks a link.
    #[error("its issuer `{issuer}` is not trusted")]
    UnknownIssuer {
        /// Who signed the last certificate of the chain.
        issuer: String,
    },
    /// Anything else, in OpenSSL's words.
    #[error("{0}")]
    Other(String),
}

impl CertificateFault {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            CertificateFault::Expired { .. } => "renew the certificate in the Secret that the listener names",
            CertificateFault::NotYetValid { .. } => "check the clocks of this host and of whoever issued the certificate",
            CertificateFault::SelfSigned | CertificateFault::UnknownIssuer { .. } => {
                "trust the issuer by naming its certificate in SSL_CERT_FILE, or take any certificate with --insecure"
            }
            CertificateFault::WrongName { .. } => {
                "connect by a name that the certificate has, or give that name with --sni"
            }
            CertificateFault::Other(_) => "check the certificate chain that the server shows",
        }
        .to_owned()
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "nobody".to_owned(),
        names => names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// What OpenSSL just found wrong.
pub(crate) fn fault_of(context: &X509StoreContextRef, expected: &str) -> CertificateFault {
    let error = context.error();
    let certificate = context.current_cert();
    let text_of = |of: fn(&X509Ref) -> String| certificate.map(of).unwrap_or_default();
    // The numbers are X509_V_ERR_* of <openssl/x509_vfy.h>.
    match error.as_raw() {
        9 => CertificateFault::NotYetValid {
            subject: text_of(subject),
            from: text_of(|certificate| certificate.not_before().to_string()),
        },
        10 => CertificateFault::Expired {
            subject: text_of(subject),
            since: text_of(|certificate| certificate.not_after().to_string()),
        },
        18 => CertificateFault::SelfSigned,
        2 | 19 | 20 | 21 | 27 => CertificateFault::UnknownIssuer {
            issuer: text_of(|certificate| name_text(certificate.issuer_name())),
        },
        62 | 64 => CertificateFault::WrongName {
            expected: expected.to_owned(),
            names: certificate.map(names).unwrap_or_default(),
        },
        _ => CertificateFault::Other(error.error_string().to_owned()),
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

impl PeerCertificate {
    fn read(certificate: &X509Ref) -> Self {
        PeerCertificate {
            subject: subject(certificate),
            issuer: name_text(certificate.issuer_name()),
            names: names(certificate),
            not_before: time(certificate.not_before()),
            not_after: time(certificate.not_after()),
        }
    }
}

/// What a server showed and what it is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerCertificates {
    /// The server's own certificate first.
    pub chain: Vec<PeerCertificate>,
    /// Whether a client that checks would go on, or the most telling of the faults.
    pub verdict: Result<(), CertificateFault>,
    /// Everything that is wrong.
    pub faults: Vec<CertificateFault>,
    /// The protocol version, such as `TLSv1.3`.
    pub protocol: String,
}

/// Makes a handshake only to see the certificates; takes any, and says what is wrong with them.
pub async fn inspect_certificate(connect: Connect) -> Result<ServerCertificates, ClientError> {
    let deadline = connect.deadline();
    let security = Security::new(&connect)?;
    let mut shaken = shake(&connect, &security, deadline).await?;
    let ssl = shaken.stream.ssl();
    let chain = ssl
        .peer_cert_chain()
        .map(|chain| chain.iter().map(PeerCertificate::read).collect());
    let protocol = ssl.version_str().to_owned();
    let _ = shaken.stream.shutdown();
    let mut faults = shaken.faults;
    faults.sort();
    Ok(ServerCertificates {
        chain: chain.unwrap_or_default(),
        verdict: faults.first().cloned().map_or(Ok(()), Err),
        faults,
        protocol,
    })
}

fn subject(certificate: &X509Ref) -> String {
    name_text(certificate.subject_name())
}

fn name_text(name: &X509NameRef) -> String {
    let parts = name.entries().map(|entry| {
        let key = entry.object().nid().short_name().unwrap_or("?");
        let value = String::from_utf8_lossy(entry.data().as_slice()).into_owned();
        format!("{key}={}", value.escape_debug())
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn names(certificate: &X509Ref) -> Vec<String> {
    let Some(names) = certificate.subject_alt_names() else {
        return Vec::new();
    };
    let text = names
        .iter()
        .filter_map(|name| match (name.dnsname(), name.ipaddress()) {
            (Some(name), _) => Some(name.escape_debug().to_string()),
            (None, Some(address)) => ip_text(address),
            (None, None) => None,
        });
    text.collect()
}

fn ip_text(bytes: &[u8]) -> Option<String> {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(bytes).to_string());
    }
    <[u8; 16]>::try_from(bytes)
        .ok()
        .map(|bytes| Ipv6Addr::from(bytes).to_string())
}

fn time(of: &Asn1TimeRef) -> SystemTime {
    let difference = Asn1Time::from_unix(0).and_then(|epoch| epoch.diff(of));
    let Ok(difference) = difference else {
        return SystemTime::UNIX_EPOCH;
    };
    let seconds = i64::from(difference.days) * 86_400 + i64::from(difference.secs);
    let span = Duration::from_secs(seconds.unsigned_abs());
    match seconds < 0 {
        true => SystemTime::UNIX_EPOCH.checked_sub(span),
        false => SystemTime::UNIX_EPOCH.checked_add(span),
    }
    .unwrap_or(SystemTime::UNIX_EPOCH)
}
