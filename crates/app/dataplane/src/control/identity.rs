//! Certificates of TLS and DTLS listeners.

use std::sync::Arc;

use stunner_config::{Config, Listener, Problem, Protocol, Severity};
use stunner_net::dtls::DtlsContext;
use stunner_net::identity::{Identity, IdentityError};
use stunner_net::tls::TlsAcceptor;

use crate::clock::unix_seconds;
use crate::shard::Mode;

/// Certificates that expire sooner than this are warned about.
const EXPIRY_WARNING_SECONDS: i64 = 14 * 24 * 3600;

/// What new clients of a listener speak, with the keys that takes.
pub fn mode_of(listener: &Listener, cookie_key: [u8; 32]) -> Result<Mode, IdentityError> {
    Ok(match listener.protocol {
        Protocol::TurnUdp => Mode::Udp,
        Protocol::TurnTcp => Mode::Tcp,
        Protocol::TurnTls => Mode::Tls(Arc::new(TlsAcceptor::new(&identity_of(listener)?)?)),
        Protocol::TurnDtls => Mode::Dtls(Arc::new(DtlsContext::new(
            &identity_of(listener)?,
            cookie_key,
        )?)),
    })
}

fn identity_of(listener: &Listener) -> Result<Identity, IdentityError> {
    let certificate = listener.cert.as_ref().ok_or(IdentityError::NoCertificate)?;
    let key = listener.key.as_ref().ok_or(IdentityError::NoKey)?;
    Identity::from_pem(certificate.as_bytes(), key.as_bytes())
}

/// Everything that is wrong with the certificates of a config, for `stunnerd check` and the log.
pub fn judge(config: &Config) -> Vec<Problem> {
    config
        .listeners
        .iter()
        .enumerate()
        .filter(|(_, listener)| listener.protocol.is_secure())
        .filter_map(|(index, listener)| judge_listener(index, listener))
        .collect()
}

fn judge_listener(index: usize, listener: &Listener) -> Option<Problem> {
    let problem = |severity, message, hint: &str| Problem {
        severity,
        path: format!("listeners[{index}].cert"),
        line: None,
        column: None,
        message,
        hint: Some(hint.to_owned()),
    };
    let name = &listener.name;
    let identity = match identity_of(listener) {
        Ok(identity) => identity,
        Err(error) => {
            return Some(problem(
                Severity::Error,
                format!("listener `{name}`: {error}"),
                "give the base64 of a PEM certificate chain in `cert` and of its private key in `key`",
            ));
        }
    };
    let left = identity.not_after() - unix_seconds() as i64;
    if left <= 0 {
        Some(problem(
            Severity::Warning,
            format!("listener `{name}`: the certificate has expired"),
            "renew it: clients that check certificates refuse this one",
        ))
    } else if left < EXPIRY_WARNING_SECONDS {
        Some(problem(
            Severity::Warning,
            format!(
                "listener `{name}`: the certificate expires in {} days",
                left / 86_400
            ),
            "renew it; a new certificate takes effect without dropping sessions",
        ))
    } else {
        None
    }
}
