//! TLS and DTLS: whom to trust, and the handshake.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use openssl::error::ErrorStack;
use openssl::ssl::{ErrorCode, Ssl, SslConnector, SslStream, SslVerifyMode};
use openssl::x509::X509VerifyResult;

use super::connector::connector;
use super::{Io, Socket};
use crate::certificate::fault_of;
use crate::{CertificateFault, ClientError, Connect, ServerTransport};

/// How often an unfinished DTLS handshake looks whether a flight is to be repeated; OpenSSL knows when it is.
const FLIGHT_CHECK: Duration = Duration::from_millis(100);
/// Handshake messages are cut to fit any path (RFC 6347 §4.1.1.1).
const HANDSHAKE_MTU: u32 = 1200;

/// What all handshakes with one server share.
pub(crate) struct Security {
    connector: SslConnector,
    /// Sent as SNI and checked.
    name: String,
    datagrams: bool,
}

impl std::fmt::Debug for Security {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Security")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A finished handshake and all that is wrong with the server's certificates.
#[derive(Debug)]
pub(crate) struct Shaken {
    pub(crate) stream: SslStream<Io>,
    pub(crate) faults: Vec<CertificateFault>,
}

impl Security {
    pub(crate) fn new(connect: &Connect) -> Result<Self, ClientError> {
        Ok(Security {
            connector: connector(connect)?,
            name: expected_name(connect),
            datagrams: connect.transport == ServerTransport::Dtls,
        })
    }

    /// Goes on whatever is wrong with the certificates, so that all of it can be told. Nothing but the handshake is
    /// sent before the caller has looked.
    pub(super) async fn handshake(
        &self,
        connect: &Connect,
        socket: Socket,
    ) -> Result<Shaken, ClientError> {
        let failed = |error: ErrorStack| tls_error(connect, error.to_string());
        let found = Arc::new(Mutex::new(Vec::new()));
        let ssl = self.ssl(Arc::clone(&found)).map_err(failed)?;
        let mut stream = SslStream::new(ssl, Io::new(socket.clone())).map_err(failed)?;
        while let Err(error) = stream.connect() {
            if let Some(trouble) = stream.get_mut().take_trouble() {
                return Err(crate::error::unreachable(connect, trouble));
            }
            let waited = match error.code() {
                ErrorCode::WANT_READ if socket.is_stream() => socket.readable().await,
                ErrorCode::WANT_READ => tokio::time::timeout(FLIGHT_CHECK, socket.readable())
                    .await
                    .unwrap_or(Ok(())),
                ErrorCode::WANT_WRITE => socket.writable().await,
                _ => return Err(tls_error(connect, explain(&error))),
            };
            waited.map_err(|error| crate::error::unreachable(connect, error))?;
        }
        let mut faults = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        if faults.is_empty() {
            faults.extend(unreported(stream.ssl()));
        }
        Ok(Shaken { stream, faults })
    }

    fn ssl(&self, found: Arc<Mutex<Vec<CertificateFault>>>) -> Result<Ssl, ErrorStack> {
        let mut configuration = self.connector.configure()?;
        let expected = self.name.clone();
        configuration.set_verify_callback(SslVerifyMode::PEER, move |valid, context| {
            if !valid {
                let fault = fault_of(context, &expected);
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                if !found.contains(&fault) {
                    found.push(fault);
                }
            }
            true
        });
        let mut ssl = configuration.into_ssl(&self.name)?;
        if self.datagrams {
            ssl.set_mtu(HANDSHAKE_MTU)?;
        }
        Ok(ssl)
    }
}

/// The name of the server as it goes into SNI and stands in certificates: RFC 6066 §3 has no dot at its end.
fn expected_name(connect: &Connect) -> String {
    match &connect.tls.sni {
        Some(name) => name.strip_suffix('.').unwrap_or(name).to_owned(),
        None => connect.server.ip().to_string(),
    }
}

/// Nothing was reported, so nothing may be wrong; should it be, the connection is not to be trusted.
fn unreported(ssl: &openssl::ssl::SslRef) -> Option<CertificateFault> {
    if ssl.peer_certificate().is_none() {
        return Some(CertificateFault::Other("the server showed none".to_owned()));
    }
    let result = ssl.verify_result();
    (result != X509VerifyResult::OK)
        .then(|| CertificateFault::Other(result.error_string().to_owned()))
}

pub(super) fn tls_error(connect: &Connect, why: String) -> ClientError {
    ClientError::Tls {
        server: connect.server,
        transport: connect.transport,
        why,
    }
}

/// The reason alone: OpenSSL's own text also has file names and line numbers.
fn explain(error: &openssl::ssl::Error) -> String {
    if let Some(stack) = error.ssl_error()
        && let Some(reason) = stack.errors().iter().find_map(|error| error.reason())
    {
        return reason.to_owned();
    }
    match error.io_error() {
        Some(error) => error.to_string(),
        None => "the server closed the connection".to_owned(),
    }
}
