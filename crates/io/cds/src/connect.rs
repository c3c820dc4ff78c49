//! Opening a connection to a discovery service, in the clear or over TLS.

use std::io;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::error::LoadError;
use crate::options::Options;
use crate::origin::CdsServer;
use crate::trust::{Verifier, roots};

/// A connection to a discovery service, whatever carries it.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Connects within the deadline for connections.
pub async fn connect(server: &CdsServer, options: &Options) -> Result<Box<dyn Stream>, LoadError> {
    let deadline = options.timing.connect;
    tokio::time::timeout(deadline, open(server, options))
        .await
        .unwrap_or_else(|_| {
            Err(LoadError::Timeout {
                server: server.authority(),
                step: "accept a connection",
                after: deadline,
            })
        })
}

async fn open(server: &CdsServer, options: &Options) -> Result<Box<dyn Stream>, LoadError> {
    let failed = |source| LoadError::Connect {
        server: server.authority(),
        source,
    };
    let tcp = dial(server, options).await.map_err(failed)?;
    tcp.set_nodelay(true).map_err(failed)?;
    if !server.tls {
        return Ok(Box::new(tcp));
    }
    let config = client_config(server, options).await?;
    let failed = |source| LoadError::Tls {
        server: server.authority(),
        source,
    };
    let name = ServerName::try_from(server.host.clone())
        .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
    let tls = TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
        .map_err(failed)?;
    Ok(Box::new(tls))
}

/// Tries the addresses of the host in turn. Each gets its share of the time, so that a dead first one does not
/// keep the others from being tried.
async fn dial(server: &CdsServer, options: &Options) -> io::Result<TcpStream> {
    let addresses: Vec<_> = tokio::net::lookup_host((server.host.as_str(), server.port))
        .await?
        .collect();
    let share = options.timing.connect / u32::try_from(addresses.len()).unwrap_or(1).max(1);
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match tokio::time::timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

/// Roots are read for every connection: they rotate, and connections are rare.
async fn client_config(server: &CdsServer, options: &Options) -> Result<ClientConfig, LoadError> {
    let ca_file = options.ca_file.clone();
    let roots = tokio::task::spawn_blocking(move || roots(ca_file.as_deref()))
        .await
        .map_err(io::Error::other)
        .and_then(|roots| roots)
        .map_err(|source| LoadError::Roots { source })?;
    if roots.is_empty() {
        return Err(LoadError::NoRoots {
            server: server.authority(),
        });
    }
    // The provider is named: another crate in the build may bring a second one, and then there is no default.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(roots, Arc::clone(&provider))
        .map_err(|source| LoadError::Roots { source })?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| LoadError::Roots {
            source: io::Error::other(error),
        })?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// The `Authorization` header for this server, if there is to be one. A token goes over TLS only: in the clear,
/// everyone on the way could use it.
pub(crate) async fn authorization(
    server: &CdsServer,
    options: &Options,
) -> Result<Option<String>, LoadError> {
    let Some(path) = options.token_file.as_ref().filter(|_| server.tls) else {
        return Ok(None);
    };
    let token = tokio::fs::read_to_string(path)
        .await
        .and_then(|token| {
            let token = token.trim();
            match token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                true => Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it holds no token",
                )),
                false => Ok(format!("Bearer {token}")),
            }
        })
        .map_err(|source| LoadError::Token {
            path: path.clone(),
            source,
        })?;
    Ok(Some(token))
}
