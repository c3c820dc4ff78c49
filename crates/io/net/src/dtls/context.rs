//! What all DTLS sessions of a listener share.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use openssl::error::ErrorStack;
use openssl::ex_data::Index;
use openssl::pkey::PKey;
use openssl::ssl::{
    AlpnError, Ssl, SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions,
    SslSessionCacheMode, SslVersion,
};
use openssl::x509::X509;
use rustls::SignatureAlgorithm;

use super::cookie::{COOKIE_LEN, CookieKeys};
use crate::identity::{Identity, IdentityError};
use crate::tls::ALPN_TURN;

/// Forward secret suites only; AEAD first, CBC for old clients.
const CIPHERS: &str = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL:!eNULL";

/// Certificate, key and cookie keys of a DTLS listener; may be shared by the listeners of all
/// shards. A new certificate means a new context; sessions of the old one live on.
#[derive(Clone)]
pub struct DtlsContext {
    context: SslContext,
    cookies: Arc<CookieKeys>,
}

impl fmt::Debug for DtlsContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DtlsContext")
            .field("cookies", &self.cookies)
            .finish_non_exhaustive()
    }
}

impl DtlsContext {
    /// `cookie_key` should be random and the same for all contexts of a port, so that a handshake
    /// begun before a change of certificate can end after it.
    pub fn new(identity: &Identity, cookie_key: [u8; 32]) -> Result<Self, IdentityError> {
        // OpenSSL signs with EdDSA in TLS but not in DTLS; every handshake would fail.
        if identity.certified().key.algorithm() == SignatureAlgorithm::ED25519 {
            return Err(IdentityError::NotForDtls);
        }
        let cookies = Arc::new(CookieKeys::new(cookie_key));
        let context = build(identity, &cookies)
            .map_err(|error| IdentityError::Rejected(first_reason(&error)))?;
        Ok(Self { context, cookies })
    }

    /// Takes a new key for cookies; those made with the last one still pass.
    pub fn rotate_cookie_key(&self, key: [u8; 32]) {
        self.cookies.rotate(key);
    }

    pub(super) fn ssl_context(&self) -> &SslContext {
        &self.context
    }
}

/// Where an `Ssl` notes the address of the client whose hello it looks at.
pub(super) fn client_index() -> Result<Index<Ssl, SocketAddr>, ErrorStack> {
    static INDEX: OnceLock<Index<Ssl, SocketAddr>> = OnceLock::new();
    if let Some(index) = INDEX.get() {
        return Ok(*index);
    }
    let index = Ssl::new_ex_index()?;
    Ok(*INDEX.get_or_init(|| index))
}

fn build(identity: &Identity, cookies: &Arc<CookieKeys>) -> Result<SslContext, ErrorStack> {
    let mut builder = SslContextBuilder::new(SslMethod::dtls())?;
    builder.set_min_proto_version(Some(SslVersion::DTLS1_2))?;
    builder.set_cipher_list(CIPHERS)?;
    builder.set_options(
        SslOptions::NO_QUERY_MTU
            | SslOptions::COOKIE_EXCHANGE
            | SslOptions::NO_RENEGOTIATION
            | SslOptions::CIPHER_SERVER_PREFERENCE,
    );
    builder.set_mode(SslMode::RELEASE_BUFFERS);
    // Resumption is by tickets, which cost the server no memory.
    builder.set_session_cache_mode(SslSessionCacheMode::OFF);
    let chain = identity
        .chain()
        .iter()
        .map(|certificate| X509::from_der(certificate))
        .collect::<Result<Vec<_>, _>>()?;
    for (index, certificate) in chain.into_iter().enumerate() {
        if index == 0 {
            builder.set_certificate(&certificate)?;
        } else {
            builder.add_extra_chain_cert(certificate)?;
        }
    }
    let key = PKey::private_key_from_der(identity.key().secret_der())?;
    builder.set_private_key(&key)?;
    builder.check_private_key()?;
    // RFC 7443: taken when offered; a client that offers only others is served without.
    builder.set_alpn_select_callback(|_, offered| {
        let found = protocols(offered).any(|protocol| protocol == ALPN_TURN);
        if found {
            Ok(ALPN_TURN)
        } else {
            Err(AlpnError::NOACK)
        }
    });
    let index = client_index()?;
    let keys = cookies.clone();
    builder.set_cookie_generate_cb(move |ssl, room| {
        let client = ssl.ex_data(index).copied();
        let Some(cookie) = client.and_then(|client| keys.cookie(client)) else {
            return Err(ErrorStack::get());
        };
        room[..COOKIE_LEN].copy_from_slice(&cookie);
        Ok(COOKIE_LEN)
    });
    let keys = cookies.clone();
    builder.set_cookie_verify_cb(move |ssl, cookie| {
        ssl.ex_data(index)
            .is_some_and(|client| keys.verify(*client, cookie))
    });
    Ok(builder.build())
}

/// The entries of an ALPN list: each a length byte and as many bytes.
fn protocols(mut list: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (len, rest) = list.split_first()?;
        let (protocol, rest) = rest.split_at_checked(usize::from(*len))?;
        list = rest;
        Some(protocol)
    })
}

pub(super) fn first_reason(error: &ErrorStack) -> String {
    error
        .errors()
        .first()
        .and_then(|error| error.reason())
        .unwrap_or("unknown reason")
        .to_owned()
}
