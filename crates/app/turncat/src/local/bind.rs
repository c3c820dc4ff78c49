//! Binding at a name or an address.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use thiserror::Error;

use crate::ends::HostPort;

/// Why a near end cannot be opened.
#[derive(Debug, Error)]
pub enum BindError {
    #[error("cannot resolve `{host}`")]
    Name { host: String, source: io::Error },
    #[error("cannot listen at `{end}`")]
    Listen { end: String, source: io::Error },
    #[error("cannot listen at `{end}`: there is a file that is no socket")]
    NoSocket { end: String },
}

impl BindError {
    pub fn hint(&self) -> &'static str {
        let source = match self {
            BindError::Name { .. } => {
                return "the client end is an address of this host, such as `127.0.0.1` or `localhost`";
            }
            BindError::NoSocket { .. } => {
                return "choose another path, or remove the file if nobody needs it";
            }
            BindError::Listen { end, source }
                if end.starts_with("unix:") && source.kind() == io::ErrorKind::AddrInUse =>
            {
                return "another process has it: choose another path";
            }
            BindError::Listen { source, .. } => source,
        };
        match source.kind() {
            io::ErrorKind::AddrInUse => {
                "another process has it: choose another port; port 0 takes any free port"
            }
            io::ErrorKind::AddrNotAvailable => {
                "the client end is an address of this host, such as `127.0.0.1` or `localhost`"
            }
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need privileges, and sockets in the file system a folder that you may write to"
            }
            _ => "check the client end; `turncat --help` lists the forms",
        }
    }
}

/// Binds the first address of `place` that can be bound; without a host, every address of this host.
pub(super) async fn bind<T, F>(
    end: impl Fn() -> String,
    place: &HostPort,
    bind: impl Fn(SocketAddr) -> F,
) -> Result<T, BindError>
where
    F: Future<Output = io::Result<T>>,
{
    let addresses = match place.host.is_empty() {
        // Takes IPv4 too, where the host has IPv6 at all.
        true => vec![
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, place.port)),
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, place.port)),
        ],
        false => place.resolve().await.map_err(|source| BindError::Name {
            host: place.host.clone(),
            source,
        })?,
    };
    let mut failure = None;
    for address in addresses {
        match bind(address).await {
            Ok(bound) => return Ok(bound),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Err(BindError::Listen {
        end: end(),
        source: failure.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()),
    })
}
