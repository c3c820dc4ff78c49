//! What handshakes need from OpenSSL. Reading the system's certificates takes tens of milliseconds of processor time: many
//! connections that are made at once share them.

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use openssl::error::ErrorStack;
use openssl::ssl::{SslConnector, SslMethod, SslOptions};
use openssl::x509::X509;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::X509VerifyFlags;

use super::handshake::tls_error;
use super::roots;
use crate::{ClientError, Connect, Roots, ServerTransport};

/// Certificates that somebody adds to the system count soon after.
const SHARED_FOR: Duration = Duration::from_secs(5);

/// Made last with the system's certificates, for TLS and for DTLS.
static SHARED: [Mutex<Option<Shared>>; 2] = [Mutex::new(None), Mutex::new(None)];

struct Shared {
    connector: SslConnector,
    made: Instant,
    /// Which certificates the environment named.
    named: [Option<OsString>; 2],
}

/// A connector for this server's transport and roots.
pub(super) fn connector(connect: &Connect) -> Result<SslConnector, ClientError> {
    if matches!(connect.tls.roots, Roots::Pem(_)) {
        return build(connect);
    }
    let datagrams = connect.transport == ServerTransport::Dtls;
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(std::env::var_os);
    let mut shared = SHARED[usize::from(datagrams)]
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = &*shared
        && known.named == named
        && known.made.elapsed() < SHARED_FOR
    {
        return Ok(known.connector.clone());
    }
    let connector = build(connect)?;
    *shared = Some(Shared {
        connector: connector.clone(),
        made: Instant::now(),
        named,
    });
    Ok(connector)
}

fn build(connect: &Connect) -> Result<SslConnector, ClientError> {
    let failed = |error: ErrorStack| tls_error(connect, error.to_string());
    let method = match connect.transport {
        ServerTransport::Dtls => SslMethod::dtls(),
        _ => SslMethod::tls(),
    };
    // The builder loads the system's roots, or those that SSL_CERT_FILE and SSL_CERT_DIR name.
    let mut builder = SslConnector::builder(method).map_err(failed)?;
    builder.set_options(SslOptions::NO_QUERY_MTU | SslOptions::IGNORE_UNEXPECTED_EOF);
    match &connect.tls.roots {
        Roots::System => roots::trust_system(&mut builder)?,
        Roots::Pem(pem) => {
            let mut store = X509StoreBuilder::new().map_err(failed)?;
            for root in X509::stack_from_pem(pem.as_bytes()).map_err(failed)? {
                store.add_cert(root).map_err(failed)?;
            }
            builder.set_cert_store(store.build());
        }
    }
    // A trusted certificate is trusted even if it is not self-signed itself.
    builder
        .verify_param_mut()
        .set_flags(X509VerifyFlags::PARTIAL_CHAIN)
        .map_err(failed)?;
    Ok(builder.build())
}
